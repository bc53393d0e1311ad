"""Records, section 8: snapshot, reach, keys and head."""

import io
import re
from dataclasses import dataclass, field
from typing import Any

from .. import reader
from ..errors import IdkError
from ..store import Store
from ..writer import Writer
from . import cbor_t, ed25519
from .checks import ADDRESS_LENGTH, array, ascending, fields, octets, require, text, uint
from .content import NodeReference, encode_reference
from .names import marker_of_bytes
from .packs import MAX_FRAME, ROW_LENGTH, parse_row

TYPES = {kind: f"application/vnd.idk.{kind}" for kind in ("snapshot", "reach", "keys", "head")}
ONE_BLOB = 2**20  # snapshots, keys and heads
MAX_SESSIONS = 512
MAX_REACH = 2**30
MAX_EARLIER = 32
MAX_PREVIOUS = 64
MAX_MARKERS = 8192
MIN_GRACE = 3600
MARKER_BYTES = 56
UUID, CHAIN, SECRET = 16, 16, 32
SESSION = re.compile(r"[0-9a-f]{32}\Z")

TOTALS = ("files", "dirs", "bytes", "new", "stored", "errors")


# --- Records as contents of the blob format -------------------------------------

def read_record(store: Store, kind: str, address: bytes, identities: list[bytes]) -> bytes:
    """The content of a record. A blob of another type is not one."""
    code = "head" if kind == "head" else "tree"
    opened = reader.open_root(store, address.hex(), identities)
    metadata = opened.root.metadata
    is_record = metadata.get("type") == TYPES[kind] and "enc" not in metadata
    require(is_record, f"the blob {address.hex()} is not a {kind}", code)
    most = MAX_REACH + 2**12 if kind == "reach" else ONE_BLOB
    require(opened.size <= most, f"the {kind} {address.hex()} is too long", code)
    return b"".join(opened.content())


def write_record(store: Store, kind: str, content: bytes, recipients: list[bytes]) -> bytes:
    require(kind == "reach" or len(content) <= ONE_BLOB, f"the {kind} is too long", "usage")
    writer = Writer(store, recipients, {"type": TYPES[kind]})
    return bytes.fromhex(writer.write(io.BytesIO(content), len(content)).address)


def _decode(content: bytes, what: str, code: str = "tree"):
    try:
        return cbor_t.decode(content)
    except cbor_t.CborError as fault:
        raise IdkError(code, f"{what}: {fault}") from None


def _version(value, what: str, code: str = "tree") -> None:
    require(value == 1 and isinstance(value, int), f"{what} has another version than 1", code)


# --- Snapshot --------------------------------------------------------------------

@dataclass(frozen=True)
class Snapshot:
    repository: bytes
    chain: bytes
    root: list[NodeReference]  # places are rows
    tree_id: bytes
    session_keys: dict[bytes, bytes]  # uuid of the session -> session key blob
    host: str
    user: str
    paths: list[bytes]
    excludes: list[str]
    start: int
    end: int
    totals: dict[str, int]


def parse_snapshot(content: bytes) -> Snapshot:
    value = fields(_decode(content, "a snapshot"), "a snapshot", set("vrcthknupxabs"))
    _version(value["v"], "a snapshot")
    sessions = value["k"]
    require(isinstance(sessions, dict), "a snapshot's sessions are not a map")
    require(len(sessions) <= MAX_SESSIONS, f"a snapshot has more than {MAX_SESSIONS} sessions")
    for session, blob in sessions.items():
        require(bool(SESSION.match(session)), "a session is not 32 hexadecimal digits")
        octets(blob, "a session key blob")
    session_keys = {bytes.fromhex(session): blob for session, blob in sessions.items()}
    root = [_root_reference(item, session_keys) for item in array(value["t"], "a snapshot's tree")]
    ascending([one.name for one in root], "the names of the root's nodes do not ascend")
    totals = fields(value["s"], "a snapshot's totals", set(TOTALS))
    for name in TOTALS:
        uint(totals[name], f"a snapshot's {name}")
    return Snapshot(
        repository=octets(value["r"], "a snapshot's repository", UUID),
        chain=octets(value["c"], "a snapshot's chain", CHAIN),
        root=root,
        tree_id=octets(value["h"], "a snapshot's tree id", 32),
        session_keys=session_keys,
        host=text(value["n"], "a snapshot's host"),
        user=text(value["u"], "a snapshot's user"),
        paths=[octets(path, "a path") for path in array(value["p"], "a snapshot's paths")],
        excludes=[text(one, "an exclude") for one in array(value["x"], "a snapshot's excludes")],
        start=uint(value["a"], "a snapshot's start"),
        end=uint(value["b"], "a snapshot's end"),
        totals=totals,
    )


def _root_reference(item, session_keys: dict[bytes, bytes]) -> NodeReference:
    require(isinstance(item, list) and len(item) == 4, "a reference to a node is not four items")
    row = parse_row(octets(item[0], "a row", ROW_LENGTH))
    offset, length = (uint(number, "a number in a reference") for number in item[1:3])
    require(offset + length <= MAX_FRAME, "a reference runs past the end of every frame")
    require(row.session in session_keys, "the tree has a row of a session without a key")
    return NodeReference(row, offset, length, octets(item[3], "the name in a reference"))


def encode_snapshot(snapshot: Snapshot) -> bytes:
    return cbor_t.encode({
        "v": 1, "r": snapshot.repository, "c": snapshot.chain,
        "t": [encode_reference(one, bytes) for one in snapshot.root], "h": snapshot.tree_id,
        "k": {session.hex(): blob for session, blob in snapshot.session_keys.items()},
        "n": snapshot.host, "u": snapshot.user, "p": snapshot.paths, "x": snapshot.excludes,
        "a": snapshot.start, "b": snapshot.end, "s": snapshot.totals,
    })


# --- Reach -----------------------------------------------------------------------

@dataclass(frozen=True)
class Reach:
    earlier: list[bytes]
    added: set[bytes]
    dropped: set[bytes]

    @property
    def length(self) -> int:
        return ADDRESS_LENGTH * (len(self.added) + len(self.dropped))


def parse_reach(content: bytes) -> Reach:
    value = fields(_decode(content, "a reach"), "a reach", set("vfad"))
    _version(value["v"], "a reach")
    earlier = array(value["f"], "the reaches before a reach", MAX_EARLIER)
    for address in earlier:
        octets(address, "the address of a reach", ADDRESS_LENGTH)
    require(len(set(earlier)) == len(earlier), "a reach names one before it twice")
    lists = [octets(value[key], "the packs of a reach") for key in "ad"]
    require(sum(map(len, lists)) <= MAX_REACH, "a reach is too long")
    added, dropped = (_parse_addresses(addresses) for addresses in lists)
    return Reach(earlier, set(added), set(dropped))


def _parse_addresses(data: bytes) -> list[bytes]:
    require(len(data) % ADDRESS_LENGTH == 0, "the packs of a reach are not whole addresses")
    addresses = [data[i : i + ADDRESS_LENGTH] for i in range(0, len(data), ADDRESS_LENGTH)]
    ascending(addresses, "the packs of a reach do not ascend")
    return addresses


def encode_reach(reach: Reach) -> bytes:
    added, dropped = (b"".join(sorted(packs)) for packs in (reach.added, reach.dropped))
    return cbor_t.encode({"v": 1, "f": reach.earlier, "a": added, "d": dropped})


def packs_of(reach: Reach, earlier: list[Reach]) -> set[bytes]:
    """All packs of a snapshot; `earlier` are the reaches that it names, in their order."""
    packs: set[bytes] = set()
    for one in [*earlier, reach]:
        packs = packs - one.dropped | one.added
    return packs


def next_reach(
    base: tuple[bytes, Reach] | None, earlier: list[tuple[bytes, Reach]],
    packs_before: set[bytes], packs_now: set[bytes],
) -> Reach:
    """Section 8, "Reach": merges, from the end, what is less than twice as long, and while
    all lists together have over two addresses for each pack.

    `base` is the base's own reach with its address, `earlier` those that it names.
    """
    chain = [*earlier, base] if base else []
    added, dropped = packs_now - packs_before, packs_before - packs_now
    while chain:
        last = chain[-1][1]
        mine = ADDRESS_LENGTH * (len(added) + len(dropped))
        listed = mine + sum(reach.length for _, reach in chain)
        few = listed <= 2 * ADDRESS_LENGTH * len(packs_now)
        if last.length and last.length >= 2 * mine and few and len(chain) <= MAX_EARLIER:
            break
        chain.pop()
        added, dropped = (last.added - dropped) | added, last.dropped | dropped
        dropped -= added
    if not chain:
        dropped = set()
    return Reach([address for address, _ in chain], added, dropped)


# --- Keys ------------------------------------------------------------------------

def parse_keys(content: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """The repository's uuid, and secrets by session."""
    value = fields(_decode(content, "a keys record"), "a keys record", set("vrk"))
    _version(value["v"], "a keys record")
    require(isinstance(value["k"], dict), "the keys are not a map")
    for session, secret in value["k"].items():
        require(bool(SESSION.match(session)), "a session is not 32 hexadecimal digits")
        octets(secret, "a session's secret", SECRET)
    secrets = {bytes.fromhex(session): secret for session, secret in value["k"].items()}
    return octets(value["r"], "the repository of keys", UUID), secrets


def encode_keys(repository: bytes, secrets: dict[bytes, bytes]) -> bytes:
    by_session = {session.hex(): secret for session, secret in secrets.items()}
    return cbor_t.encode({"v": 1, "r": repository, "k": by_session})


# --- Head ------------------------------------------------------------------------

SNAP, PART, REPO, FORGET, UNFORGET, KEYS = "snap", "part", "repo", "forget", "unforget", "keys"
HEAD_CONTEXT = b"idk/v1/head\0"
HEAD_KEYS = set("vrcgptwnksxemlo")


@dataclass(frozen=True)
class Rule:
    key: bytes | None
    pattern: str
    may_forget: bool
    last: int | None


@dataclass(frozen=True)
class Settings:
    grace: int  # seconds
    rules: list[Rule]


@dataclass(frozen=True)
class Head:
    repository: bytes
    chain: bytes
    generation: int
    previous: list[bytes]
    time: int
    writer: bytes
    name: str
    kind: str
    subject: bytes | None = None  # s
    reach: bytes | None = None  # x
    expected: int | None = None
    message: str | None = None
    tags: list[str] = field(default_factory=list)
    markers: list[bytes] = field(default_factory=list)
    settings: Settings | None = None


def parse_head(content: bytes) -> tuple[Head, bytes, bytes]:
    """The head, its payload and its signature, which is not verified here."""
    signed = _decode(content, "a head", "head")
    require(isinstance(signed, list) and len(signed) == 2, "a head is not two items", "head")
    payload = octets(signed[0], "a head's payload", None, "head")
    signature = octets(signed[1], "a signature", ed25519.SIGNATURE_LENGTH, "head")
    value = _decode(payload, "a head", "head")
    is_settings = isinstance(value, dict) and value.get("k") == REPO
    fields(value, "a head", HEAD_KEYS | ({"z"} if is_settings else set()), "head")
    _version(value["v"], "a head", "head")

    def check(function, key: str, *arguments):
        return function(value[key], f"a head's {key}", *arguments, "head")

    def optional_(function, key: str, *arguments):
        return None if value[key] is None else check(function, key, *arguments)

    head = Head(
        repository=check(octets, "r", UUID),
        chain=check(octets, "c", CHAIN),
        generation=check(uint, "g", None),
        previous=[
            octets(one, "a head before a head", ADDRESS_LENGTH, "head")
            for one in check(array, "p", MAX_PREVIOUS)
        ],
        time=check(uint, "t", None),
        writer=check(octets, "w", ed25519.KEY_LENGTH),
        name=check(text, "n"),
        kind=check(text, "k"),
        subject=optional_(octets, "s", ADDRESS_LENGTH),
        reach=optional_(octets, "x", ADDRESS_LENGTH),
        expected=optional_(uint, "e", None),
        message=optional_(text, "m"),
        tags=[text(tag, "a tag", "head") for tag in check(array, "l", None)],
        markers=[
            _parse_marker(one) for one in check(array, "o", MAX_MARKERS)
        ],
        settings=_parse_settings(value["z"]) if is_settings else None,
    )
    _check_kind(head)
    return head, payload, signature


def _parse_marker(item) -> bytes:
    octets(item, "a marker in a head", MARKER_BYTES, "head")
    require(marker_of_bytes(item) is not None, "a marker has too great a generation", "head")
    return item


def _check_kind(head: Head) -> None:
    """Section 8: which fields a kind has."""
    shapes = {  # s, x
        SNAP: (True, True), PART: (False, True), REPO: (False, False),
        FORGET: (False, False), UNFORGET: (False, False), KEYS: (True, False),
    }
    require(head.kind in shapes, "a head has an unknown kind", "head")
    found = head.subject is not None, head.reach is not None
    require(found == shapes[head.kind], f"a head of kind {head.kind} has other addresses", "head")
    names_markers = head.kind in (FORGET, UNFORGET)
    require(names_markers or not head.markers, f"a head of kind {head.kind} names markers", "head")


def _parse_settings(value) -> Settings:
    fields(value, "the settings", set("gw"), "head")
    grace = uint(value["g"], "the grace period", None, "head")
    require(grace >= MIN_GRACE, "the grace period is less than an hour", "head")
    return Settings(grace, [_parse_rule(r) for r in array(value["w"], "the rules", None, "head")])


def _parse_rule(value) -> Rule:
    require(isinstance(value, list) and len(value) == 4, "a rule is not four items", "head")
    key, pattern, may_forget, last = value
    if key is not None:
        octets(key, "the key of a rule", ed25519.KEY_LENGTH, "head")
    text(pattern, "the pattern of a rule", "head")
    uint(may_forget, "the right to forget", 1, "head")
    if last is not None:
        uint(last, "the last generation of a rule", None, "head")
    closes = key is None
    require(not closes or last is not None, "a rule that closes has no last generation", "head")
    require(not closes or may_forget == 0, "a rule that closes gives a right", "head")
    return Rule(key, pattern, bool(may_forget), last)


def encode_payload(head: Head) -> bytes:
    value: dict[str, Any] = {
        "v": 1, "r": head.repository, "c": head.chain, "g": head.generation, "p": head.previous,
        "t": head.time, "w": head.writer, "n": head.name, "k": head.kind, "s": head.subject,
        "x": head.reach, "e": head.expected, "m": head.message, "l": head.tags,
        "o": head.markers,
    }
    if head.settings:
        value["z"] = {
            "g": head.settings.grace,
            "w": [[r.key, r.pattern, int(r.may_forget), r.last] for r in head.settings.rules],
        }
    return cbor_t.encode(value)


def encode_head(head: Head, seed: bytes) -> bytes:
    payload = encode_payload(head)
    return cbor_t.encode([payload, ed25519.sign(seed, HEAD_CONTEXT + payload)])
