"""How a writer cuts a directory into nodes, section 7."""

from collections.abc import Iterator

from .. import keys
from .content import Hole
from .entries import DIRECTORY, FILE, Entry, encode_entry

MAX_NODE = 2**19
MAX_PACKS = 6144
MAX_ENTRIES = 1024  # of a directory that is not cut
LEAST_ENTRIES = 128
ONE_IN = 512

# Row numbers are known only when a pack is complete, and take at most three bytes.
LONGEST_ROW_NUMBER = 2**16 - 1
ARRAY_HEAD = 5


def is_cut_after(name: bytes) -> bool:
    return int.from_bytes(keys.sha256(name)[:2], "big") % ONE_IN == 0


def packs_of(entry: Entry) -> set:
    if entry.type not in (FILE, DIRECTORY):
        return set()
    return {item.place for item in entry.content if not isinstance(item, Hole)}


def length_of(entry: Entry) -> int:
    return len(encode_entry(entry, lambda _: LONGEST_ROW_NUMBER))


class _Node:
    def __init__(self):
        self.entries, self.length, self.packs = [], ARRAY_HEAD, set()

    def fits(self, entry: Entry) -> bool:
        packs = len(self.packs | packs_of(entry))
        return self.length + length_of(entry) <= MAX_NODE and packs <= MAX_PACKS

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.length += length_of(entry)
        self.packs |= packs_of(entry)


def cut(entries: list[Entry]) -> Iterator[list[Entry]]:
    """The entries of one node after the other; none of an empty directory."""
    whole = _Node()
    for entry in entries[: MAX_ENTRIES + 1]:
        if not whole.fits(entry):
            break
        whole.add(entry)
    if len(whole.entries) == len(entries) <= MAX_ENTRIES:
        if entries:
            yield entries
        return
    node = _Node()
    for entry in entries:
        if node.entries and not node.fits(entry):
            yield node.entries
            node = _Node()
        node.add(entry)
        if len(node.entries) >= LEAST_ENTRIES and is_cut_after(entry.name):
            yield node.entries
            node = _Node()
    if node.entries:
        yield node.entries
