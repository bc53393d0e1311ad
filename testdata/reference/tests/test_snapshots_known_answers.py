"""The known answers of snapshots, which another program made from the same text."""

import base64
import json
from pathlib import Path

import pytest

from idk_reference import armor, envelope, keys, reader
from idk_reference.store import MemoryStore
from idk_reference.errors import IdkError
from idk_reference.snapshots import (
    cbor_t, content, counting, cutting, ed25519, entries, names, packs, records, writer_keys,
)
from idk_reference.snapshots.location import Location
from idk_reference.snapshots.repository import open_repository
from idk_reference.snapshots.tree import Tree

KNOWN = json.loads((Path(__file__).parents[2] / "snapshots/known-answers.json").read_text())
IDENTITY = bytes.fromhex(KNOWN["identity"]["secretKey"])
OWNER_SEED = bytes.fromhex(KNOWN["owner"]["seed"])
UUID = bytes.fromhex(KNOWN["chains"]["r"])


def unhex(text: str) -> bytes:
    return bytes.fromhex(text)


# --- Section 3 -------------------------------------------------------------------

def test_the_owner_is_derived_from_the_identity():
    owner = KNOWN["owner"]
    assert writer_keys.owner_seed(IDENTITY) == OWNER_SEED
    assert ed25519.public_key(OWNER_SEED).hex() == owner["publicKey"]
    assert writer_keys.writer_text(unhex(owner["publicKey"])) == owner["writer"]
    assert writer_keys.seed_text(OWNER_SEED) == owner["writerSecret"]
    assert writer_keys.parse_writer(owner["writer"]).hex() == owner["publicKey"]
    assert writer_keys.parse_seed(owner["writerSecret"]) == OWNER_SEED


def test_the_writer_file():
    known = KNOWN["writerFile"]
    seed, data = unhex(known["seed"]), unhex(known["hex"])
    made = writer_keys.make_writer_file(
        seed, known["passphrase"], unhex(known["salt"]), known["logN"]
    )
    assert made == data
    assert writer_keys.open_writer_file(data, known["passphrase"]) == seed
    armored = armor.armor("IDK PROTECTED WRITER KEY", data)
    assert writer_keys.open_writer_file(armored, known["passphrase"]) == seed
    with pytest.raises(IdkError):
        writer_keys.open_writer_file(armor.armor("IDK PROTECTED IDENTITY", data), known["passphrase"])
    with pytest.raises(IdkError, match="^passphrase"):
        writer_keys.open_writer_file(data, "wrong")
    text = f"# a host\n\n{KNOWN['owner']['writerSecret']}\n"
    assert writer_keys.open_writer_file(text.encode()) == seed
    with pytest.raises(IdkError, match="^key"):
        writer_keys.open_writer_file((text * 2).encode())


@pytest.mark.parametrize("case", KNOWN["signatures"], ids=lambda case: case["why"])
def test_signature(case):
    key, message, signature = (unhex(case[name]) for name in ("publicKey", "message", "signature"))
    assert ed25519.verify(key, message, signature) is case["valid"]


def test_signing_is_deterministic():
    for head in KNOWN["head"]:
        assert ed25519.sign(OWNER_SEED, unhex(head["signed"])).hex() == head["signature"]


# --- Sections 4 and 5 --------------------------------------------------------------

@pytest.mark.parametrize("case", KNOWN["chains"]["of"], ids=lambda case: repr(case["name"]))
def test_chain(case):
    assert names.chain_of(UUID, case["name"]).hex() == case["chain"]


@pytest.mark.parametrize("case", KNOWN["cborT"]["valid"])
def test_valid_cbor(case):
    assert cbor_t.encode(cbor_t.decode(unhex(case))) == unhex(case)


@pytest.mark.parametrize("case", KNOWN["cborT"]["invalid"], ids=lambda case: case["why"])
def test_invalid_cbor(case):
    with pytest.raises(cbor_t.CborError):
        cbor_t.decode(unhex(case["hex"]))


# --- Section 6 -------------------------------------------------------------------

@pytest.mark.parametrize("known", [KNOWN["dataPack"], KNOWN["metadataPack"]], ids=["data", "meta"])
def test_pack(known):
    secret, random, plaintext = (unhex(known[name]) for name in ("S", "random", "plaintext"))
    plaintext = plaintext.ljust(known["plaintextLength"], b"\0")
    assert packs.fill_up(known["sort"], plaintext.rstrip(b"\0"), is_last=True) == plaintext
    row, blob = packs.seal_pack(unhex(known["sid"]), secret, known["sort"], plaintext, random)
    assert row.salt.hex() == known["salt"]
    assert packs.pack_key(secret, known["sort"], row.salt).hex() == known["contentKey"]
    assert row.address.hex() == known["address"]
    assert bytes(row).hex() == known["row"]
    store = MemoryStore({known["address"]: blob})
    assert packs.open_pack(store, packs.parse_row(unhex(known["row"])), secret, known["sort"]) == (
        plaintext
    )


def metadata_pack() -> packs.MetadataPack:
    known = KNOWN["metadataPack"]
    plaintext = unhex(known["plaintext"]).ljust(known["plaintextLength"], b"\0")
    return packs.parse_metadata(plaintext, packs.parse_row(unhex(known["row"])))


def test_what_a_metadata_pack_holds():
    pack = metadata_pack()
    for known in KNOWN["metadataPack"]["frameHolds"]:
        part = pack.frame[known["offset"] : known["offset"] + known["length"]]
        assert part.hex() == known["hex"]
        if known["what"].startswith("node"):
            parsed = entries.parse_node(part, content.Where(pack.rows, known["offset"]))
            assert entries.encode_node(parsed, pack.rows.index) == part


# --- Section 7 -------------------------------------------------------------------

def test_tree_ids():
    pack, ids = metadata_pack(), KNOWN["treeIds"]
    for known in KNOWN["metadataPack"]["frameHolds"]:
        path = {"node of /sub": "/sub", "node of the root": "/"}.get(known["what"])
        if path:
            where = content.Where(pack.rows, known["offset"])
            parsed = entries.parse_node(unhex(known["hex"]), where)
            assert entries.tree_id(parsed).hex() == ids[path]
            if path == "/sub":
                assert entries.encode_node(parsed, None).hex() == ids["arrayHashedForSub"]
    assert entries.tree_id([]).hex() == ids["/empty"]


def test_names_to_cut_after():
    all_names = [f"file-{i:05d}" for i in range(4000)]
    cut = [name for name in all_names if cutting.is_cut_after(name.encode())]
    assert cut == KNOWN["cutAfter"]["names"]


# --- Section 8 -------------------------------------------------------------------

def store() -> MemoryStore:
    blobs = KNOWN["repository"]["blobs"]
    return MemoryStore({address: base64.b64decode(blob) for address, blob in blobs.items()})


@pytest.mark.parametrize("kind", ["snapshot", "reach", "head"])
def test_records_open_and_encode_again(kind):
    for known in KNOWN[kind]:
        address = unhex(known["address"])
        found = records.read_record(store(), kind, address, [IDENTITY])
        assert found.hex() == known["content"]
        assert encoded(kind, found) == found
        with pytest.raises(IdkError):
            records.read_record(store(), "keys", address, [IDENTITY])


def encoded(kind: str, content_: bytes) -> bytes:
    match kind:
        case "snapshot":
            return records.encode_snapshot(records.parse_snapshot(content_))
        case "reach":
            return records.encode_reach(records.parse_reach(content_))
    return records.encode_head(records.parse_head(content_)[0], OWNER_SEED)


def test_records_are_sealed_as_told():
    for known in [*KNOWN["snapshot"], *KNOWN["reach"], *KNOWN["head"]]:
        plaintext = reader.open_root(store(), known["address"], [IDENTITY]).root.encode(padded=True)
        key, ephemeral = unhex(known["K"]), unhex(known["esk"])
        recipient = keys.public_key(IDENTITY)
        header = {"e": keys.public_key(ephemeral), "w": keys.wrap(key, recipient, ephemeral)}
        blob = envelope.seal_blob("root", key, header, plaintext)
        assert envelope.address_of(blob) == known["address"]


def test_the_packs_of_a_reach():
    first, second = (records.parse_reach(unhex(known["content"])) for known in KNOWN["reach"])
    packs_now = sorted(pack.hex() for pack in records.packs_of(second, [first]))
    assert packs_now == sorted(KNOWN["reach"][1]["packs"])


def test_the_lists_of_a_chain_that_shrinks():
    every = [bytes([i]) * 32 for i in range(200)]
    chain: list[tuple[bytes, records.Reach]] = []
    before: set[bytes] = set()
    for index, count in enumerate([*range(10, 200, 10), *range(200, -1, -7), 0, 50]):
        now = set(every[:count])
        *earlier, base = chain or [None]
        reach = records.next_reach(base, earlier, before, now)
        kept = [one for one in chain if one[0] in reach.earlier]
        chain = [*kept, (index.to_bytes(32, "big"), reach)]
        assert records.packs_of(reach, [one for _, one in kept]) == now
        assert sum(one.length for _, one in chain) <= 2 * 32 * len(now)
        before = now


def test_markers():
    for known in KNOWN["head"]:
        marker = names.parse_marker(known["marker"])
        assert marker is not None and marker.address == known["address"]
        assert str(marker) == known["marker"]
        assert bytes(marker).hex() == known["inO"]
        assert names.marker_of_bytes(bytes(marker)) == marker


# --- Sections 9 and 11 -------------------------------------------------------------

@pytest.mark.parametrize("case", KNOWN["patterns"], ids=lambda case: case["pattern"])
def test_pattern(case):
    assert counting.matches(case["pattern"], case["name"]) is case["matches"]


def known_repository(folder: Path) -> Location:
    location = Location(folder)
    for address, blob in store().blobs.items():
        location.put(address, blob)
    for name in KNOWN["repository"]["markers"]:
        marker = names.parse_marker(name)
        assert marker is not None
        location.put_marker(marker)
    return location


def test_the_known_repository(tmp_path):
    repository = open_repository(known_repository(tmp_path), [IDENTITY])
    assert repository.uuid == UUID
    assert repository.settings().grace == 604_800
    (found,) = repository.snapshots()
    assert found.head.name == KNOWN["repository"]["snapshotOf"]
    assert repository.refused == []
    snapshot = repository.open(found)
    tree = Tree(repository.location, snapshot, lambda sid: repository.secret_of(sid, snapshot))
    shown, path = [], []
    for step in tree.walk():
        if step.entry is None:
            path.pop()
            continue
        entry = step.entry
        own = b"".join(b"/" + name for name in [*path, entry.name])
        is_file = entry.type == entries.FILE
        if is_file:
            list(tree.content(entry))
        shown.append({
            "path": own.hex(), "type": entry.type, "mode": entry.mode, "size": entry.size,
            "mtime": [entry.seconds, entry.nanoseconds],
            "sha256": entry.hash.hex() if is_file and entry.hash else None,
        })
        if entry.type == entries.DIRECTORY:
            path.append(entry.name)
    assert shown == KNOWN["repository"]["tree"]
