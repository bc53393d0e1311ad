"""Hostile repositories: each has one fault, and an allowed writer signed it.

    python -m suite.snapshots DIR     writes DIR/<case>/repo for every case,
                                      and prints one line of JSON for each

Everything but the fault is right, so a reader that leaves out that one check
would read the snapshot. Two readers have to end with the same code. `refused`
means that the head does not count, so that there is no such snapshot.
"""

import json
import os
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from backports import zstd

from idk_reference import keys
from idk_reference.snapshots import backup, cbor_t, ed25519, entries, frames, packs, records
from idk_reference.snapshots.cbor_t import encode
from idk_reference.snapshots.content import NodeReference
from idk_reference.snapshots.location import Location
from idk_reference.snapshots.names import DAY_MS, Marker, chain_of
from idk_reference.snapshots.packs import Row, encode_metadata, fill_up, seal_pack
from idk_reference.snapshots.records import Head, Rule, Snapshot
from idk_reference.snapshots.session import Session
from idk_reference.snapshots.writer_keys import owner_seed
from .forge import flip

IDENTITY = bytes(range(32))
SEED = owner_seed(IDENTITY)
RECIPIENTS = [keys.public_key(IDENTITY)]
HASH_OF_NOTHING = keys.sha256(b"")
MANY = {"files": 10**9, "dirs": 10**9, "bytes": 10**12}


@dataclass
class Case:
    name: str
    code: str
    note: str
    build: Callable[["Forge"], None]
    restores: bool = False  # seen only by a restore, not by reading the tree


CASES: list[Case] = []


def case(name: str, code: str, note: str, **more):
    def add(build):
        CASES.append(Case(name, code, note, build, **more))
        return build

    return add


# --- What makes repositories, and does as it is told -----------------------------

def entry(name: bytes, type_: int, content=None, hash_=None, size=0, mode=0o644, extra=None):
    """An entry as a list, so that anything can be wrong with it."""
    return [name, type_, mode, 1000, 1000, 1_700_000_000, 5, size, content, hash_, extra or {}]


def link(name: bytes, target: bytes = b"target") -> list:
    return entry(name, entries.LINK, target)


def file(name: bytes, items: list, content: bytes, **more) -> list:
    return entry(name, entries.FILE, items, keys.sha256(content), len(content), **more)


def directory(name: bytes, references: list, inner: list) -> list:
    return entry(name, entries.DIRECTORY, references, tree_id(inner), mode=0o755)


def tree_id(items: list) -> bytes:
    bare = [[*one[:8], None if one[1] in entries.HASHED else one[8], *one[9:]] for one in items]
    return keys.sha256(encode(bare))


@dataclass
class Forge:
    location: Location
    session: Session = field(init=False)
    uuid: bytes = field(init=False)

    def __post_init__(self):
        repository = backup.create_repository(self.location, [IDENTITY])
        self.uuid, self.session = repository.uuid, Session(self.location)
        self.repository = repository

    def seal(self, sort: str, plaintext: bytes) -> Row:
        session = self.session
        row, blob = seal_pack(session.uuid, session.secret, sort, plaintext, os.urandom(32))
        self.location.put(row.address.hex(), blob)
        session.stored.add(row.address)
        return row

    def data(self, content: bytes) -> Row:
        return self.seal(packs.DATA, fill_up(packs.DATA, content, is_last=True))

    def meta(self, content: bytes, rows: tuple[Row, ...] = (), frame: bytes | None = None) -> Row:
        frame = frames.encode_zstd(content) if frame is None else frame
        used = encode_metadata(list(rows), frame)
        return self.seal(packs.META, fill_up(packs.META, used, is_last=True))

    def root(
        self, items: list, totals: dict, rows: tuple[Row, ...] = (), before: bytes = b"", **more
    ) -> Marker:
        """A snapshot whose root directory is one node; `before` lies before it in its frame."""
        node = encode(items)
        row = self.meta(before + node, rows)
        reference = NodeReference(row, len(before), len(node), items[0][0])
        return self.snapshot([reference], tree_id(items), totals, **more)

    def snapshot(
        self, root: list[NodeReference], id_: bytes, totals: dict, change: dict | None = None,
        session_keys: dict | None = None, raw: Callable[[dict], dict] | None = None, **head,
    ) -> Marker:
        snapshot = Snapshot(
            repository=self.uuid, chain=chain_of(self.uuid, "home"), root=root, tree_id=id_,
            session_keys={self.session.uuid: self.session.key_blob(RECIPIENTS)}
            if session_keys is None else session_keys,
            host="host", user="user", paths=[b"/"], excludes=[], start=1, end=2,
            totals={**dict.fromkeys(records.TOTALS, 0), **totals},
        )
        content = records.encode_snapshot(replace(snapshot, **(change or {})))
        if raw:
            content = encode(raw(cbor_t.decode(content)))
        kind = head.pop("record", "snapshot")
        subject = records.write_record(self.location, kind, content, RECIPIENTS)
        reach = records.Reach([], self.session.stored, set())
        encoded = records.encode_reach(reach)
        reach_address = records.write_record(self.location, "reach", encoded, RECIPIENTS)
        return self.head(subject=subject, reach=reach_address, **head)

    def head(
        self, seed: bytes = SEED, marker: dict | None = None, sign=ed25519.sign,
        raw_head: Callable[[dict], dict] | None = None, **more,
    ) -> Marker:
        now = self.location.now()
        fields = {
            "repository": self.uuid, "chain": chain_of(self.uuid, "home"), "generation": now,
            "previous": [], "time": now, "writer": ed25519.public_key(seed), "name": "home",
            "kind": records.SNAP, **more,
        }
        head = Head(**fields)
        payload = records.encode_payload(head)
        if raw_head:
            payload = encode(raw_head(cbor_t.decode(payload)))
        signature = sign(seed, records.HEAD_CONTEXT + payload)
        content = encode([payload, signature])
        address = records.write_record(self.location, "head", content, RECIPIENTS)
        shown = {"chain": head.chain, "generation": head.generation, "address": address.hex()}
        result = Marker(**{**shown, **(marker or {})})
        self.location.put_marker(result)
        return result


def write(directory_: Path) -> list[dict]:
    lines = []
    for one in CASES:
        folder = directory_ / one.name
        one.build(Forge(Location(folder)))
        lines.append({
            "name": one.name, "code": one.code, "note": one.note, "restores": one.restores,
        })
    return lines


# --- Totals and hashes -----------------------------------------------------------

def small(forge: Forge, **totals) -> None:
    row = forge.data(b"12345")
    inner = [file(b"b", [[1, 0, 5, 5, 0]], b"12345")]
    node = encode(inner)
    items = [directory(b"d", [[0, 0, len(node), b"b"]], inner), link(b"l")]
    forge.root(items, {"files": 2, "dirs": 1, "bytes": 5, **totals}, (row,), before=node)


@case("good", "ok", "what all others are but for their fault")
def _(forge):
    small(forge)


for _name, _right in (("files", 2), ("dirs", 1), ("bytes", 5)):
    for _word, _wrong in (("more", _right - 1), ("fewer", _right + 1)):
        case(f"totals-{_word}-{_name}", "tree", f"there are {_word} {_name} than announced")(
            lambda forge, name=_name, wrong=_wrong: small(forge, **{name: wrong})
        )


@case("tree-id-of-the-root", "tree", "the root directory has another tree id")
def _(forge):
    node = encode([link(b"l")])
    forge.snapshot([NodeReference(forge.meta(node), 0, len(node), b"l")], bytes(32), {"files": 1})


@case("tree-id-of-a-directory", "tree", "a directory has another tree id")
def _(forge):
    inner = [link(b"l")]
    node = encode(inner)
    items = [directory(b"d", [[0, 0, len(node), b"l"]], [link(b"m")])]
    forge.root(items, {"files": 1, "dirs": 1}, before=node)


@case("tree-id-of-an-empty-directory", "tree", "an empty directory has another tree id")
def _(forge):
    forge.root([directory(b"d", [], [link(b"m")])], {"dirs": 1})


@case("hash-of-a-file", "tree", "a file has another hash")
def _(forge):
    items = [file(b"f", [[1, 0, 5, 5, 0]], b"54321")]
    forge.root(items, {"files": 1, "bytes": 5}, (forge.data(b"12345"),))


# --- Names -----------------------------------------------------------------------

for _label, _bad in {
    "slash": b"a/b", "dot": b".", "dots": b"..", "empty": b"", "nul": b"a\0b", "long": b"a" * 256,
}.items():
    case(f"name-{_label}", "tree", f"the name {_bad[:8]!r}")(
        lambda forge, bad=_bad: forge.root([link(bad)], {"files": 1})
    )

case("name-text", "tree", "a name that is text")(
    lambda forge: forge.snapshot(
        [NodeReference(forge.meta(node := encode([link("l")])), 0, len(node), b"l")],
        tree_id([link("l")]), {"files": 1},
    )
)
case("names-twice", "tree", "two entries of one name")(
    lambda forge: forge.root([link(b"a"), link(b"a")], {"files": 2})
)
case("names-descend", "tree", "names that do not ascend")(
    lambda forge: forge.root([link(b"b"), link(b"a")], {"files": 2})
)


def two_nodes(forge: Forge, first: list, second: list, names: tuple[bytes, bytes]) -> None:
    nodes = [encode(first), encode(second)]
    row = forge.meta(b"".join(nodes))
    references = [
        NodeReference(row, 0, len(nodes[0]), names[0]),
        NodeReference(row, len(nodes[0]), len(nodes[1]), names[1]),
    ]
    forge.snapshot(references, tree_id(first + second), {"files": len(first + second)})


case("nodes-good", "ok", "a directory of two nodes")(
    lambda forge: two_nodes(forge, [link(b"a")], [link(b"b")], (b"a", b"b"))
)
case("nodes-overlap", "tree", "a node has a name beyond the first of the next")(
    lambda forge: two_nodes(forge, [link(b"a"), link(b"c")], [link(b"b")], (b"a", b"b"))
)
case("nodes-twice", "tree", "one name in two nodes")(
    lambda forge: two_nodes(forge, [link(b"a"), link(b"b")], [link(b"b")], (b"a", b"b"))
)
case("node-with-another-first-name", "tree", "a node begins with another name than announced")(
    lambda forge: two_nodes(forge, [link(b"b")], [link(b"c")], (b"a", b"c"))
)


# --- Cycles, forward references, bombs ---------------------------------------------

def refers(forge: Forge, offset: int, length: int) -> None:
    loop = directory(b"d", [[0, offset, length, b"d"]], [])
    forge.root([loop], MANY)


case("cycle", "tree", "a directory that is its own")(lambda forge: refers(forge, 0, 80))
case("forward-node", "tree", "a directory that lies behind")(lambda forge: refers(forge, 90, 80))


@case("forward-list", "tree", "a piece list that lies behind what refers to it")
def _(forge):
    row = forge.data(b"12345")
    pieces = encode([[1, 0, 5, 5, 0]])
    items = [file(b"f", [[0, 60, len(pieces), 5, 3]], b"12345")]
    node = encode(items)
    items[0][8][0][1] = len(node)
    node = encode(items)
    items[0][8][0][1] = len(node)
    node = encode(items)
    meta = forge.meta(node + pieces, (row,))
    reference = NodeReference(meta, 0, len(node), b"f")
    forge.snapshot([reference], tree_id(items), {"files": 1, "bytes": 5})


def levels(forge: Forge, count: int, width: int, totals: dict) -> None:
    """Directories in directories, each level having the one below `width` times."""
    frame, inner = bytearray(), [link(b"l")]
    at = (0, len(encode(inner)))
    frame += encode(inner)
    for _ in range(count):
        reference = [0, *at, inner[0][0]]
        inner = [directory(bytes([97 + i]), [reference], inner) for i in range(width)]
        node = encode(inner)
        at = (len(frame), len(node))
        frame += node
    row = forge.meta(bytes(frame))
    forge.snapshot([NodeReference(row, *at, inner[0][0])], tree_id(inner), totals)


case("bomb-of-directories", "tree", "16^20 directories in a few kB")(
    lambda forge: levels(forge, 20, 16, {**MANY, "dirs": 3000})
)
case("deep", "ok", "directories 4,096 deep")(
    lambda forge: levels(forge, 4096, 1, {"files": 1, "dirs": 4096})
)
case("too-deep", "tree", "directories 4,097 deep")(
    lambda forge: levels(forge, 4097, 1, {"files": 1, "dirs": 4097})
)


@case("bomb-of-metadata", "tree", "a frame of metadata that decodes to more than 2^22 bytes")
def _(forge):
    row = forge.meta(b"", frame=frames.encode_zstd(bytes(2**22 + 1)))
    forge.snapshot([NodeReference(row, 0, 9, b"a")], bytes(32), MANY)


# --- Frames and blocks -------------------------------------------------------------

def compressed(forge: Forge, stored: bytes, enc: int, length: int, content: bytes) -> None:
    items = [file(b"f", [[1, 0, len(stored), length, enc]], content)]
    forge.root(items, {"files": 1, "bytes": len(content)}, (forge.data(stored),))


TEXT = b"all work and no play " * 500
LZ4_TEXT, ZSTD_TEXT = frames.encode_lz4(TEXT), frames.encode_zstd(TEXT)
PARAMETERS = zstd.CompressionParameter
SKIPPABLE = struct.pack("<II", 0x184D2A50, 4) + b"skip"
# In two steps, so that the encoder does not know the length and keeps the window.
WIDE = zstd.ZstdCompressor(options={PARAMETERS.window_log: 24})
WIDE_TEXT = WIDE.compress(TEXT) + WIDE.flush()
assert WIDE_TEXT[4:6] == b"\0\x70", "no content size, and a window of 2^24"

for _name, _code, _note, _stored, _enc, _length in (
    ("zstd-good", "ok", "a zstd frame", ZSTD_TEXT, 2, len(TEXT)),
    ("lz4-good", "ok", "an LZ4 block", LZ4_TEXT, 1, len(TEXT)),
    ("zstd-longer", "tree", "a frame with more than announced", ZSTD_TEXT, 2, len(TEXT) - 1),
    ("zstd-shorter", "tree", "a frame with less than announced", ZSTD_TEXT, 2, len(TEXT) + 1),
    ("lz4-longer", "tree", "a block with more than announced", LZ4_TEXT, 1, len(TEXT) - 1),
    ("lz4-shorter", "tree", "a block with less than announced", LZ4_TEXT, 1, len(TEXT) + 1),
    ("zstd-cut", "tree", "a truncated frame", ZSTD_TEXT[:-1], 2, len(TEXT)),
    ("lz4-cut", "tree", "a truncated block", LZ4_TEXT[:-1], 1, len(TEXT)),
    ("zstd-and-a-byte", "tree", "a byte after a frame", ZSTD_TEXT + b"\0", 2, len(TEXT)),
    ("lz4-and-a-byte", "tree", "a byte after a block", LZ4_TEXT + b"\0", 1, len(TEXT)),
    ("zstd-twice", "tree", "a second frame", ZSTD_TEXT + frames.encode_zstd(b""), 2, len(TEXT)),
    ("zstd-skip-after", "tree", "a skippable frame after", ZSTD_TEXT + SKIPPABLE, 2, len(TEXT)),
    ("zstd-skip-before", "tree", "a skippable frame before", SKIPPABLE + ZSTD_TEXT, 2, len(TEXT)),
    ("zstd-window", "tree", "a window of 2^24", WIDE_TEXT, 2, len(TEXT)),
    ("zstd-not", "tree", "no frame at all", TEXT[:100], 2, len(TEXT)),
):
    case(_name, _code, _note)(
        lambda forge, stored=_stored, enc=_enc, length=_length: compressed(
            forge, stored, enc, length, (TEXT * 8000)[:length]
        )
    )


@case("zstd-bomb", "tree", "a frame of 32 KiB that decodes to a gigabyte")
def _(forge):
    bomb = bytearray(frames.ZSTD_MAGIC + b"\0\x50")  # no content size, a window of 2^20
    for _ in range(2**13):
        bomb += (0b010 | 2**17 << 3).to_bytes(3, "little") + b"\0"  # 2^17 zeros in four bytes
    bomb += (0b001).to_bytes(3, "little")
    compressed(forge, bytes(bomb), 2, 2**20, bytes(2**20))


@case("zstd-dictionary", "tree", "a frame that names a dictionary")
def _(forge):
    samples = [f"{i} is work and {i * 7} no play".encode() for i in range(3000)]
    dictionary = zstd.train_dict(samples, 4096)
    compressed(forge, zstd.compress(TEXT, zstd_dict=dictionary), 2, len(TEXT), TEXT)


# --- Items of content ----------------------------------------------------------------

def items_of(forge: Forge, items: list, content: bytes = b"12345", size: int | None = None) -> None:
    one = file(b"f", items, content)
    one[7] = len(content) if size is None else size
    forge.root([one], {"files": 1, "bytes": one[7]}, (forge.data(b"12345" * 20),))


for _name, _note, _items in (
    ("piece-in-row-0", "a piece in a metadata pack", [[0, 0, 5, 5, 0]]),
    ("piece-in-no-row", "a row that the pack does not have", [[2, 0, 5, 5, 0]]),
    ("piece-beyond-its-pack", "a piece beyond the end of its pack", [[1, 5000, 5, 5, 0]]),
    ("piece-beyond-every-pack", "a piece beyond the end of every pack", [[1, 2**22 - 4, 5, 5, 0]]),
    ("piece-of-nothing", "a piece without bytes", [[1, 0, 5, 5, 0], [1, 5, 0, 0, 0]]),
    ("piece-raw-of-two-lengths", "a raw piece with two lengths", [[1, 0, 4, 5, 0]]),
    ("piece-stored-longer", "stored in more bytes than it has", [[1, 0, 6, 5, 2]]),
    ("piece-encoding-4", "an unknown encoding", [[1, 0, 5, 5, 4]]),
    ("piece-of-four", "a piece of four numbers", [[1, 0, 5, 5]]),
    ("piece-negative", "a negative offset", [[1, -1, 5, 5, 0]]),
    ("piece-row-null", "a piece whose row is null", [[None, 0, 5, 5, 0]]),
    ("hole-of-nothing", "a hole without bytes", [[1, 0, 5, 5, 0], [None, 0]]),
    ("content-short", "pieces that are less than the size", [[1, 0, 4, 4, 0]]),
    ("content-long", "pieces that are more than the size", [[1, 0, 6, 6, 0]]),
    ("content-4097", "more items than an entry may have", [[1, 0, 1, 1, 0]] * 4097),
    ("content-null", "a file without content", None),
):
    case(_name, "tree", _note)(
        lambda forge, items=_items: items_of(
            forge, items, b"1" * len(items) if items and len(items) > 99 else b"12345"
        )
    )


@case("piece-too-long", "tree", "a piece of more than 2^20 bytes")
def _(forge):
    content = bytes(2**20 + 1)
    row = forge.data(content)
    items = [file(b"f", [[1, 0, len(content), len(content), 0]], content)]
    forge.root(items, {"files": 1, "bytes": len(content)}, (row,))


def lists(forge: Forge, depth: int, innermost: list, length: int = 5) -> None:
    row = forge.data(b"12345")
    frame, at = bytearray(), [0, 0]
    inner = innermost
    for _ in range(depth):
        encoded = encode(inner)
        at = [len(frame), len(encoded)]
        frame += encoded
        inner = [[0, *at, length, 3]]
    forge.root(
        [file(b"f", inner, b"12345")], {"files": 1, "bytes": 5}, (row,), before=bytes(frame)
    )


case("lists-good", "ok", "a list in a list")(lambda forge: lists(forge, 2, [[1, 0, 5, 5, 0]]))
case("lists-too-deep", "tree", "a list in a list in a list")(
    lambda forge: lists(forge, 3, [[1, 0, 5, 5, 0]])
)
case("list-empty", "tree", "an empty list")(lambda forge: lists(forge, 1, []))
case("list-short", "tree", "a list of less than it announces")(
    lambda forge: lists(forge, 1, [[1, 0, 4, 4, 0]])
)

# --- Fields of entries -----------------------------------------------------------------

GOOD = file(b"f", [], b"")
for _name, _note, _bad in (
    ("entry-of-ten", "an entry of ten fields", GOOD[:10]),
    ("entry-type-7", "an unknown type", entry(b"f", 7)),
    ("entry-mode", "a mode of 13 bits", [*GOOD[:2], 0o10000, *GOOD[3:]]),
    ("entry-uid", "a user id of 33 bits", [*GOOD[:3], 2**32, *GOOD[4:]]),
    ("entry-gid", "a negative group id", [*GOOD[:4], -1, *GOOD[5:]]),
    ("entry-seconds", "a time that is null", [*GOOD[:5], None, *GOOD[6:]]),
    ("entry-nanoseconds", "a second of nanoseconds", [*GOOD[:6], 10**9, *GOOD[7:]]),
    ("entry-without-hash", "a file without a hash", [*GOOD[:9], None, {}]),
    ("entry-short-hash", "a hash of 31 bytes", [*GOOD[:9], bytes(31), {}]),
    ("link-with-hash", "a link with a hash", [*link(b"f")[:9], bytes(32), {}]),
    ("link-with-size", "a link with a size", [*link(b"f")[:7], 6, *link(b"f")[8:]]),
    ("link-empty", "a link to nothing", link(b"f", b"")),
    ("link-nul", "a target with a NUL", link(b"f", b"a\0b")),
    ("link-long", "a target of 65,536 bytes", link(b"f", b"a" * 65_536)),
    ("fifo-with-content", "a fifo with content", entry(b"f", entries.FIFO, b"x")),
    ("device-of-three", "a device of three numbers", entry(b"f", entries.BLOCK, [1, 2, 3])),
    ("extra-unknown", "an unknown key of extra", [*GOOD[:10], {"q": 1}]),
    ("extra-not-a-map", "extra that is an array", [*GOOD[:10], []]),
    ("extra-owner", "an owner's name of bytes", [*GOOD[:10], {"u": b"root"}]),
    ("extra-no-attributes", "an empty map of attributes", [*GOOD[:10], {"x": {}}]),
    ("extra-attribute", "an attribute that is text", [*GOOD[:10], {"x": {"user.a": "b"}}]),
    ("extra-i-2", "i is 2", [*GOOD[:10], {"i": 2}]),
    ("extra-i-of-a-link", "i of a link", [*link(b"f")[:10], {"i": 1}]),
    ("extra-l-of-a-directory", "a directory in a group of links",
     [*directory(b"f", [], [])[:10], {"l": 1}]),
):
    case(_name, "tree", _note)(
        lambda forge, bad=_bad: forge.root(
            [bad], {"dirs": 1} if bad[1] == entries.DIRECTORY else {"files": 1}
        )
    )


@case("links-differ", "tree", "hard links with different contents", restores=True)
def _(forge):
    row = forge.data(b"1234567890")
    items = [
        file(b"a", [[1, 0, 5, 5, 0]], b"12345", extra={"l": 1}),
        file(b"b", [[1, 5, 5, 5, 0]], b"67890", extra={"l": 1}),
    ]
    forge.root(items, {"files": 2, "bytes": 10}, (row,))


# --- Nodes -----------------------------------------------------------------------------

def node(forge: Forge, data: bytes, name: bytes = b"l", length: int | None = None) -> None:
    length = len(data) if length is None else length
    reference = NodeReference(forge.meta(data), 0, length, name)
    forge.snapshot([reference], keys.sha256(data), {"files": 1})


case("node-empty", "tree", "a node without entries")(lambda forge: node(forge, encode([])))
case("node-map", "tree", "a node that is a map")(lambda forge: node(forge, encode({})))
case("node-and-a-byte", "tree", "a byte after a node")(
    lambda forge: node(forge, encode([link(b"l")]) + b"\0")
)
case("node-beyond-its-frame", "tree", "a node beyond the end of its frame")(
    lambda forge: node(forge, encode([link(b"l")]), length=5000)
)
case("node-beyond-every-frame", "tree", "a node beyond the end of every frame")(
    lambda forge: node(forge, encode([link(b"l")]), length=2**22 + 1)
)
case("node-long-form", "tree", "a length that is longer than needed")(
    lambda forge: node(forge, b"\x98\x01" + encode(link(b"l")))
)

# --- Packs -----------------------------------------------------------------------------


def with_pack(forge: Forge, change: Callable[[bytes], bytes], sort: str = packs.META) -> None:
    """A snapshot whose only metadata pack has a changed plaintext."""
    items = [link(b"l")]
    used = encode_metadata([], frames.encode_zstd(encode(items)))
    row = forge.seal(sort, change(used.ljust(4096, b"\0")))
    reference = NodeReference(row, 0, len(encode(items)), b"l")
    forge.snapshot([reference], tree_id(items), {"files": 1})


case("pack-no-rows", "tree", "a metadata pack without rows")(
    lambda forge: with_pack(forge, lambda plain: bytes(4) + plain[68:])
)
case("pack-rows-beyond-its-end", "tree", "rows that run past the end")(
    lambda forge: with_pack(forge, lambda plain: b"\xff\xff\xff\xff" + plain[4:])
)
case("pack-row-0", "tree", "a row 0 that is not zero")(
    lambda forge: with_pack(forge, lambda plain: plain[:10] + b"\1" + plain[11:])
)
case("pack-frame-beyond-its-end", "tree", "a frame that runs past the end")(
    lambda forge: with_pack(forge, lambda plain: plain[:68] + b"\0\0\xff\xff" + plain[72:])
)
case("pack-padding", "tree", "padding that is not zero")(
    lambda forge: with_pack(forge, lambda plain: plain[:-1] + b"\1")
)
case("pack-of-no-bytes", "tree", "a metadata pack of no bytes")(
    lambda forge: with_pack(forge, lambda _: b"")
)
case("pack-of-metadata-too-long", "tree", "a metadata pack of more than 2^20 bytes")(
    lambda forge: with_pack(forge, lambda plain: plain.ljust(2**20 + 1, b"\0"))
)
case("pack-of-metadata-far-too-long", "tree", "a metadata pack longer than one of data")(
    lambda forge: with_pack(forge, lambda plain: plain.ljust(2**22 + 1, b"\0"))
)


@case("pack-of-data-too-long", "limit", "a data pack of more than 2^22 bytes")
def _(forge):
    row = forge.seal(packs.DATA, b"12345".ljust(2**22 + 1, b"\0"))
    items = [file(b"f", [[1, 0, 5, 5, 0]], b"12345")]
    forge.root(items, {"files": 1, "bytes": 5}, (row,))


case("pack-of-the-other-sort", "commit", "nodes in a pack that was sealed for data")(
    lambda forge: with_pack(forge, lambda plain: plain, packs.DATA)
)


def damaged(forge: Forge, change: Callable[[Row, Path], Row]) -> None:
    items = [link(b"l")]
    row = forge.meta(encode(items))
    row = change(row, forge.location.path(row.address.hex()))
    reference = NodeReference(row, 0, len(encode(items)), b"l")
    forge.snapshot([reference], tree_id(items), {"files": 1})


@case("pack-missing", "not-found", "a pack that is not in the store")
def _(forge):
    damaged(forge, lambda row, path: (path.unlink(), row)[1])


@case("pack-changed", "address", "a pack with a changed byte")
def _(forge):
    damaged(forge, lambda row, path: (path.write_bytes(flip(path.read_bytes(), -1)), row)[1])


@case("pack-with-another-salt", "commit", "a row with another salt")
def _(forge):
    damaged(forge, lambda row, _: replace(row, salt=bytes(16)))


# --- Snapshots and sessions ---------------------------------------------------------------

def with_snapshot(forge: Forge, **more) -> None:
    forge.root([link(b"l")], {"files": 1}, **more)


case("snapshot-of-another-chain", "tree", "the snapshot names another chain than its head")(
    lambda forge: with_snapshot(forge, change={"chain": bytes(16)})
)
case("snapshot-of-another-repository", "tree", "the snapshot names another repository")(
    lambda forge: with_snapshot(forge, change={"repository": bytes(16)})
)
case("snapshot-version-2", "tree", "a snapshot of version 2")(
    lambda forge: with_snapshot(forge, raw=lambda value: {**value, "v": 2})
)
case("snapshot-unknown-key", "tree", "a snapshot with an unknown key")(
    lambda forge: with_snapshot(forge, raw=lambda value: {**value, "q": 1})
)
case("snapshot-unknown-total", "tree", "totals with an unknown key")(
    lambda forge: with_snapshot(forge, raw=lambda value: {**value, "s": {**value["s"], "q": 1}})
)
case("snapshot-of-another-type", "tree", "a reach where the snapshot should be")(
    lambda forge: with_snapshot(forge, record="reach")
)
case("session-without-a-key", "tree", "a row of a session that has no key")(
    lambda forge: with_snapshot(forge, session_keys={})
)
case("session-in-upper-case", "tree", "a session in upper-case digits")(
    lambda forge: with_snapshot(
        forge,
        raw=lambda value: {**value, "k": {**value["k"], "A" * 32: b""}},
    )
)
case("sessions-513", "tree", "more sessions than there may be")(
    lambda forge: with_snapshot(
        forge,
        raw=lambda value: {**value, "k": {**value["k"], **{f"{i:032x}": b"" for i in range(512)}}},
    )
)


@case("session-key-of-31-bytes", "tree", "a session key blob with 31 bytes")
def _(forge):
    short = Session(forge.location, secret=bytes(31)).key_blob(RECIPIENTS)
    with_snapshot(forge, session_keys={forge.session.uuid: short})


@case("session-key-wrong", "commit", "a session key blob with another secret")
def _(forge):
    wrong = Session(forge.location).key_blob(RECIPIENTS)
    with_snapshot(forge, session_keys={forge.session.uuid: wrong})


@case("session-key-for-others", "no-match", "a session key blob for another reader")
def _(forge):
    others = forge.session.key_blob([keys.public_key(bytes(32))])
    with_snapshot(forge, session_keys={forge.session.uuid: others})


# --- Settings ----------------------------------------------------------------------------

def ruled(forge: Forge, rules: list[Rule], **more) -> None:
    settings = records.Settings(3600, rules)
    backup.put_head(forge.repository, SEED, RECIPIENTS, "", records.REPO, settings=settings)
    with_snapshot(forge, **more)


STRANGER = b"\5" * 32
KEY = ed25519.public_key(STRANGER)

for _name, _code, _note, _rule, _seed in (
    ("key-allowed", "ok", "a rule for key and name", Rule(KEY, "h*e", False, None), STRANGER),
    ("key-for-others", "refused", "a rule for other names", Rule(KEY, "*k", True, None), STRANGER),
    ("key-that-left", "refused", "a rule that ended", Rule(KEY, "*", True, 5), STRANGER),
    ("key-that-leaves", "ok", "a rule that ends later", Rule(KEY, "*", True, 2**53 - 1), STRANGER),
    ("chain-closed", "refused", "closed, to the owner too", Rule(None, "*", False, 5), SEED),
    ("chain-closes", "ok", "a chain that closes later", Rule(None, "*", False, 2**53 - 1), SEED),
):
    case(_name, _code, _note)(
        lambda forge, rule=_rule, seed=_seed: ruled(forge, [rule], seed=seed)
    )

# --- Heads -----------------------------------------------------------------------------

def flipped(seed: bytes, message: bytes) -> bytes:
    signature = ed25519.sign(seed, message)
    return signature[:-1] + bytes([signature[-1] ^ 1])


def plus_order(seed: bytes, message: bytes) -> bytes:
    signature = ed25519.sign(seed, message)
    s = int.from_bytes(signature[32:], "little") + ed25519.L
    return signature[:32] + s.to_bytes(32, "little")


for _name, _note, _more in (
    ("head-of-a-stranger", "a key that no rule allows", {"seed": STRANGER}),
    ("head-in-the-owners-name", "signed by another key than it names",
     {"sign": lambda seed, message: ed25519.sign(STRANGER, message)}),
    ("head-signature", "a changed signature", {"sign": flipped}),
    ("head-signature-plus-l", "a signature with S + L", {"sign": plus_order}),
    ("head-marker-generation", "a marker of another generation", {"marker": {"generation": 5}}),
    ("head-of-another-repository", "a head of another repository", {"repository": bytes(16)}),
    ("head-without-its-name", "a name that is not that of the chain", {"name": "work"}),
    ("head-kind", "an unknown kind", {"kind": "snip"}),
    ("head-keys-in-a-named-chain", "a head of kind keys in a named chain",
     {"raw_head": lambda value: {**value, "k": "keys", "x": None}}),
    ("head-with-markers", "a snapshot that names markers", {"markers": [bytes(56)]}),
    ("head-65-before", "more heads before it than there may be", {"previous": [bytes(32)] * 65}),
    ("head-version-2", "a head of version 2", {"raw_head": lambda value: {**value, "v": 2}}),
    ("head-unknown-key", "a head with an unknown key",
     {"raw_head": lambda value: {**value, "q": 1}}),
):
    case(_name, "refused", _note)(lambda forge, more=_more: with_snapshot(forge, **more))


@case("head-of-tomorrow", "unlisted", "a generation more than a day ahead")
def _(forge):
    with_snapshot(forge, generation=forge.location.now() + DAY_MS + 600_000)


@case("head-ahead", "ok", "a generation less than a day ahead")
def _(forge):
    with_snapshot(forge, generation=forge.location.now() + DAY_MS - 600_000)


if __name__ == "__main__":
    for line in write(Path(sys.argv[1])):
        print(json.dumps(line))
