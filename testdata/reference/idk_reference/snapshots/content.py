"""What a file's content and a directory's nodes refer to, section 7.

References have the number of a row of the pack that they lie in. Here they have a
`place` instead: a reader puts the row there, a writer the pack that it is filling.
"""

from dataclasses import dataclass
from typing import Any

from . import cbor_t, frames
from .checks import array, octets, require, uint
from .packs import FULL, DATA, MAX_FRAME, Row

MAX_PIECE = 2**20
MAX_ITEMS = 4096
LIST_LEVELS = 2

RAW, LZ4, ZSTD, LIST = 0, 1, 2, 3


@dataclass(frozen=True)
class Piece:
    place: Any
    offset: int
    stored: int
    length: int
    enc: int


@dataclass(frozen=True)
class Hole:
    length: int


@dataclass(frozen=True)
class PieceList:
    place: Any
    offset: int
    stored: int
    length: int


@dataclass(frozen=True)
class NodeReference:
    place: Any
    offset: int
    length: int
    name: bytes


@dataclass(frozen=True)
class Where:
    """Where a node or list lies that is being decoded: what its references mean depends on it."""

    rows: list[Row]  # of the metadata pack; the first is its own
    start: int  # in the decoded frame

    def data_pack(self, number: int) -> Row:
        require(number != 0, "a piece refers to row 0, which is a metadata pack")
        return self._row(number)

    def metadata(self, number: int, offset: int, length: int) -> Row:
        """The row of a node or list. In its own pack it has to end before this begins."""
        require(offset + length <= MAX_FRAME, "a reference runs past the end of every frame")
        forward = number == 0 and offset + length > self.start
        require(not forward, "a forward reference: row 0 has to end before it is referred to")
        return self._row(number)

    def _row(self, number: int) -> Row:
        require(number < len(self.rows), "a reference to a row that the pack does not have")
        return self.rows[number]


# --- Reading -------------------------------------------------------------------

def parse_items(value, length: int, where: Where, lists: int, what: str) -> list:
    """Pieces, holes and lists that are `length` bytes together; `lists` levels may follow."""
    items = [_parse_item(item, where, lists) for item in array(value, what, MAX_ITEMS)]
    require(sum(item.length for item in items) == length, f"{what} does not add up to its length")
    return items


def _parse_item(value, where: Where, lists: int) -> Piece | Hole | PieceList:
    array(value, "an item of content")
    for number in value:
        if number is not None:
            uint(number, "a number in an item of content")
    match value:
        case [None, length]:
            require(length is not None and length >= 1, "a hole has no bytes")
            return Hole(length)
        case [int() as row, int() as offset, int() as stored, int() as length, enc]:
            require(length >= 1 and stored >= 1, "an item of content has no bytes")
            if enc == LIST:
                require(lists > 0, "piece lists are nested too deep")
                return PieceList(where.metadata(row, offset, stored), offset, stored, length)
            require(enc in (RAW, LZ4, ZSTD), "a piece has an unknown encoding")
            require(length <= MAX_PIECE, "a piece is too long")
            require(stored <= length, "a piece is stored in more bytes than it has")
            require(enc != RAW or stored == length, "a raw piece has two lengths")
            require(offset + stored <= FULL[DATA], "a piece runs past the end of every pack")
            return Piece(where.data_pack(row), offset, stored, length, enc)
    require(False, "an item of content is not a piece, hole or list")
    raise AssertionError


def parse_list(data: bytes, reference: PieceList, where: Where, lists: int) -> list:
    """A piece list; `lists` levels may follow below it."""
    value = decode(data, "a piece list")
    items = parse_items(value, reference.length, where, lists, "a piece list")
    require(len(items) >= 1, "a piece list is empty")
    return items


def parse_node_references(value, where: Where) -> list[NodeReference]:
    references = []
    for item in array(value, "the content of a directory"):
        is_reference = isinstance(item, list) and len(item) == 4
        require(is_reference, "a reference to a node is not four items")
        row, offset, length = (uint(number, "a number in a reference") for number in item[:3])
        name = octets(item[3], "the name in a reference")
        references.append(NodeReference(where.metadata(row, offset, length), offset, length, name))
    return references


def decode(data: bytes, what: str):
    try:
        return cbor_t.decode(data)
    except cbor_t.CborError as fault:
        require(False, f"{what}: {fault}")


def decode_piece(pack: bytes, piece: Piece) -> bytes:
    """The bytes of a file that a piece stands for, out of the plaintext of its pack."""
    stored = pack[piece.offset : piece.offset + piece.stored]
    require(len(stored) == piece.stored, "a piece runs past the end of its pack")
    if piece.enc == RAW:
        return stored
    if piece.enc == LZ4:
        return frames.decode_lz4(stored, piece.length)
    return frames.decode_zstd(stored, piece.length, piece.length)


# --- Writing -------------------------------------------------------------------

def encode_item(item: Piece | Hole | PieceList, number) -> list:
    """`number` gives the row of a place in the pack that this is written to."""
    match item:
        case Hole(length):
            return [None, length]
        case Piece(place, offset, stored, length, enc):
            return [number(place), offset, stored, length, enc]
        case PieceList(place, offset, stored, length):
            return [number(place), offset, stored, length, LIST]


def encode_reference(reference: NodeReference, number) -> list:
    return [number(reference.place), reference.offset, reference.length, reference.name]


def compress(piece: bytes, enc: int) -> tuple[bytes, int]:
    """What is stored of a piece, and how: compression has to save an eighth."""
    if enc != RAW:
        stored = frames.encode_lz4(piece) if enc == LZ4 else frames.encode_zstd(piece)
        if len(stored) <= len(piece) - len(piece) / 8:
            return stored, enc
    return piece, RAW
