"""Going through a tree, section 11. Whoever could write made it, so nothing is trusted.

Memory stays bounded however deep and wide the tree is: of each directory on the
way only its references to nodes are kept, and nodes are decoded again if they are
not among the last few.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..store import Store
from .cbor_t import ARRAY, head
from .checks import require
from .content import LIST_LEVELS, Hole, NodeReference, PieceList, Where, decode_piece, parse_list
from .entries import DIRECTORY, FILE, Entry, count_of_node, encode_entry, parse_node
from .packs import DATA, META, MetadataPack, Row, open_pack, parse_metadata
from .records import Snapshot

MAX_DEPTH = 4096
MAX_NODES_ON_PATH = 2**18
ZEROS = bytes(2**20)


@dataclass(frozen=True)
class Step:
    """An entry on the way through a tree, or, without one, the end of a directory."""

    depth: int  # 1 for entries of the root directory
    entry: Entry | None = None


class Tree:
    def __init__(self, store: Store, snapshot: Snapshot, secret_of: Callable[[bytes], bytes]):
        self.store, self.snapshot = store, snapshot
        self.secret_of = lru_cache(maxsize=None)(secret_of)
        self.metadata = lru_cache(maxsize=8)(self._metadata)
        self.data = lru_cache(maxsize=4)(self._data)
        self.node = lru_cache(maxsize=16)(self._node)

    # --- Packs and what is in them ---

    def _metadata(self, row: Row) -> MetadataPack:
        return parse_metadata(open_pack(self.store, row, self.secret_of(row.session), META), row)

    def _data(self, row: Row) -> bytes:
        return open_pack(self.store, row, self.secret_of(row.session), DATA)

    def _bytes_at(self, row: Row, offset: int, length: int) -> tuple[bytes, Where]:
        pack = self.metadata(row)
        data = pack.frame[offset : offset + length]
        require(len(data) == length, "a node or list runs past the end of its frame")
        return data, Where(pack.rows, offset)

    def _node(self, reference: NodeReference) -> list[Entry]:
        data, where = self._bytes_at(reference.place, reference.offset, reference.length)
        entries = parse_node(data, where)
        same = entries[0].name == reference.name
        require(same, "a node begins with another name than the reference to it has")
        return entries

    # --- Directories ---

    def entries(self, references: list[NodeReference]) -> Iterator[Entry]:
        """The entries of a directory. Between two of them, none is kept."""
        before = b""
        for reference in references:
            require(reference.name > before, "the nodes of a directory overlap")
            for index in range(len(self.node(reference))):
                yield self.node(reference)[index]
            before = self.node(reference)[-1].name

    def check_tree_id(self, references: list[NodeReference], expected: bytes) -> None:
        """Section 7, "Tree ids". The hash begins with the number of all entries."""
        places = ((one.place, one.offset, one.length) for one in references)
        count = sum(count_of_node(self._bytes_at(*place)[0]) for place in places)
        digest = hashlib.sha256(head(ARRAY, count))
        for entry in self.entries(references):
            digest.update(encode_entry(entry, None))
        require(digest.digest() == expected, "a directory has another tree id than announced")

    def walk(self) -> Iterator[Step]:
        """Every entry, a directory before what is in it, and an end after that."""
        totals = Totals(self.snapshot.totals)
        nodes_on_path = 0
        stack: list[tuple[Iterator[Entry], int]] = []

        def enter(references: list[NodeReference], tree_id: bytes) -> None:
            nonlocal nodes_on_path
            nodes_on_path += len(references)
            fits = len(stack) <= MAX_DEPTH and nodes_on_path <= MAX_NODES_ON_PATH
            require(fits, f"directories are nested more than {MAX_DEPTH} deep, or too large")
            self.check_tree_id(references, tree_id)
            stack.append((self.entries(references), len(references)))

        enter(self.snapshot.root, self.snapshot.tree_id)
        while stack:
            entries, nodes = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
                nodes_on_path -= nodes
                if stack:
                    yield Step(len(stack))
                continue
            totals.add(entry)
            yield Step(len(stack), entry)
            if entry.type == DIRECTORY:
                assert entry.hash is not None
                enter(entry.content, entry.hash)
        totals.end()

    # --- Files ---

    def content(self, entry: Entry) -> Iterator[bytes | Hole]:
        """A file's content, holes as such. The last of it comes after its hash is right."""
        digest, held = hashlib.sha256(), None
        for part in self._parts(entry.content, LIST_LEVELS):
            if isinstance(part, Hole):
                for at in range(0, part.length, len(ZEROS)):
                    digest.update(ZEROS[: part.length - at])
            else:
                digest.update(part)
            if held is not None:
                yield held
            held = part
        require(digest.digest() == entry.hash, f"the file {entry.name!r} has another hash")
        if held is not None:
            yield held

    def _parts(self, items: list, lists: int) -> Iterator[bytes | Hole]:
        for item in items:
            if isinstance(item, Hole):
                yield item
            elif isinstance(item, PieceList):
                data, where = self._bytes_at(item.place, item.offset, item.stored)
                yield from self._parts(parse_list(data, item, where, lists - 1), lists - 1)
            else:
                yield decode_piece(self.data(item.place), item)


class Totals:
    """What a snapshot announces: more is a fault as soon as it is seen, fewer at the end."""

    def __init__(self, announced: dict[str, int]):
        self.announced = announced
        self.found = {"files": 0, "dirs": 0, "bytes": 0}

    def add(self, entry: Entry) -> None:
        self.found["dirs" if entry.type == DIRECTORY else "files"] += 1
        if entry.type == FILE:
            self.found["bytes"] += entry.size
        for name, count in self.found.items():
            require(count <= self.announced[name], f"there are more {name} than announced")

    def end(self) -> None:
        for name, count in self.found.items():
            require(count >= self.announced[name], f"there are fewer {name} than announced")
