"""Entries, nodes and tree ids, section 7."""

from dataclasses import dataclass
from typing import Any

from .. import keys
from . import cbor_t
from .cbor_t import ARRAY, head
from .checks import array, ascending, octets, require, text, uint
from .content import (
    LIST_LEVELS, Where, decode, encode_item, encode_reference, parse_items, parse_node_references,
)

FILE, DIRECTORY, LINK, FIFO, SOCKET, CHARACTER, BLOCK = range(7)
DEVICES = (CHARACTER, BLOCK)
HASHED = (FILE, DIRECTORY)

MAX_NAME = 255
MAX_TARGET = 65_535
MAX_ID = 2**32 - 1
EXTRA_KEYS = {"u", "g", "l", "x", "i"}


@dataclass(frozen=True)
class Entry:
    name: bytes
    type: int
    mode: int
    uid: int
    gid: int
    seconds: int
    nanoseconds: int
    size: int
    content: Any  # by type: items, references to nodes, a target, [major, minor], None
    hash: bytes | None
    extra: dict


# --- Reading -------------------------------------------------------------------

def parse_node(data: bytes, where: Where) -> list[Entry]:
    """The entries of a node: at least one, sorted by name."""
    value = array(decode(data, "a node"), "a node")
    require(len(value) > 0, "a node has no entries")
    entries = [parse_entry(item, where) for item in value]
    ascending([entry.name for entry in entries], "the names in a node do not ascend")
    return entries


def parse_entry(value, where: Where) -> Entry:
    require(isinstance(value, list) and len(value) == 11, "an entry does not have eleven fields")
    name, type_, mode, uid, gid, seconds, nanoseconds, size, content, hash_, extra = value
    check_name(name)
    what = f"the entry {name!r}"
    uint(type_, f"{what}: its type", BLOCK)
    uint(mode, f"{what}: its mode", 0o7777)
    uint(uid, f"{what}: its user", MAX_ID)
    uint(gid, f"{what}: its group", MAX_ID)
    require(isinstance(seconds, int), f"{what}: its time is not a number")
    uint(nanoseconds, f"{what}: its nanoseconds", 10**9 - 1)
    uint(size, f"{what}: its size")
    require(size == 0 or type_ == FILE, f"{what} has a size and is not a file")
    if type_ in HASHED:
        octets(hash_, f"{what}: its hash", 32)
    else:
        require(hash_ is None, f"{what} has a hash and is neither file nor directory")
    check_extra(extra, type_, what)
    parsed = parse_content(content, type_, size, where, what)
    return Entry(name, type_, mode, uid, gid, seconds, nanoseconds, size, parsed, hash_, extra)


def check_name(name) -> None:
    octets(name, "a name")
    require(1 <= len(name) <= MAX_NAME, "a name is empty or longer than 255 bytes")
    require(b"/" not in name and b"\0" not in name, f"the name {name!r} has a slash or a NUL")
    require(name not in (b".", b".."), f"the name {name!r} is not one of an entry")


def parse_content(content, type_: int, size: int, where: Where, what: str):
    if type_ == FILE:
        return parse_items(content, size, where, LIST_LEVELS, f"{what}: its content")
    if type_ == DIRECTORY:
        references = parse_node_references(content, where)
        ascending([one.name for one in references], f"{what}: the names of its nodes do not ascend")
        return references
    if type_ == LINK:
        octets(content, f"{what}: its target")
        require(1 <= len(content) <= MAX_TARGET, f"{what}: its target is empty or too long")
        require(b"\0" not in content, f"{what}: its target has a NUL")
    elif type_ in DEVICES:
        require(isinstance(content, list) and len(content) == 2, f"{what}: not two device numbers")
        for number in content:
            uint(number, f"{what}: its device number")
    else:
        require(content is None, f"{what} has content")
    return content


def check_extra(extra, type_: int, what: str) -> None:
    require(isinstance(extra, dict), f"{what}: extra is not a map")
    require(extra.keys() <= EXTRA_KEYS, f"{what}: extra has an unknown key")
    for key in ("u", "g"):
        text(extra.get(key, ""), f"{what}: {key}")
    if "l" in extra:
        uint(extra["l"], f"{what}: its group of links")
        require(type_ != DIRECTORY, f"{what} is a directory in a group of links")
    if "x" in extra:
        attributes = extra["x"]
        require(isinstance(attributes, dict) and attributes != {}, f"{what}: no map of attributes")
        for value in attributes.values():
            octets(value, f"{what}: an attribute")
    if "i" in extra:
        require(extra["i"] == 1 and type_ == FILE, f"{what}: i is not 1, or not of a file")


# --- Writing -------------------------------------------------------------------

def encode_entry(entry: Entry, number) -> bytes:
    """`number` gives the row of a place; None leaves the content out, for tree ids."""
    content = entry.content
    if entry.type in HASHED:
        if number is None:
            content = None
        elif entry.type == FILE:
            content = [encode_item(item, number) for item in content]
        else:
            content = [encode_reference(one, number) for one in content]
    return cbor_t.encode([
        entry.name, entry.type, entry.mode, entry.uid, entry.gid, entry.seconds,
        entry.nanoseconds, entry.size, content, entry.hash, entry.extra,
    ])


def encode_node(entries: list[Entry], number) -> bytes:
    return head(ARRAY, len(entries)) + b"".join(encode_entry(one, number) for one in entries)


# --- Tree ids ------------------------------------------------------------------

def tree_id(entries: list[Entry]) -> bytes:
    """Section 7, "Tree ids"."""
    return keys.sha256(encode_node(entries, None))


def count_of_node(data: bytes) -> int:
    """How many entries a node announces: the head of its array, read without the rest."""
    try:
        major, count, _ = cbor_t._head(data, 0)
    except cbor_t.CborError as fault:
        major, count = None, 0
        require(False, f"a node: {fault}")
    require(major == ARRAY, "a node is not an array")
    return count
