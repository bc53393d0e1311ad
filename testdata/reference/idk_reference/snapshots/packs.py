"""Packs, section 6: children of the blob format with a key of their session."""

from dataclasses import dataclass

from .. import envelope, keys
from ..errors import IdkError
from ..padme import padme
from ..store import Store
from . import frames

DATA, META = "data", "meta"
FULL = {DATA: 2**22, META: 2**20}  # plaintext bytes
SHORTEST = 4096
MAX_BLOB = {sort: full + envelope.CHILD_OVERHEAD for sort, full in FULL.items()}
MAX_FRAME = 2**22  # decoded

ROW_LENGTH = 64


@dataclass(frozen=True)
class Row:
    """Where a pack is, and whose key opens it."""

    session: bytes
    address: bytes
    salt: bytes

    def __bytes__(self) -> bytes:
        return self.session + self.address + self.salt


def parse_row(data: bytes) -> Row:
    return Row(data[:16], data[16:48], data[48:])


# --- Keys ----------------------------------------------------------------------

def pack_salt(secret: bytes, random: bytes, digest: bytes) -> bytes:
    return keys.mac(secret, b"idk/v1/snap/salt" + random + digest)[:16]


def pack_key(secret: bytes, sort: str, salt: bytes) -> bytes:
    return keys.mac(secret, f"idk/v1/snap/{sort}".encode() + salt)


# --- Writing -------------------------------------------------------------------

def fill_up(sort: str, used: bytes, is_last: bool) -> bytes:
    """The plaintext: zeros hide how much of it is in use."""
    length = max(SHORTEST, padme(len(used))) if is_last else FULL[sort]
    return used.ljust(min(length, FULL[sort]), b"\0")


def seal_pack(
    session: bytes, secret: bytes, sort: str, plaintext: bytes, random: bytes
) -> tuple[Row, bytes]:
    """The row and the blob of a pack; `random` are 32 bytes drawn for it alone."""
    salt = pack_salt(secret, random, keys.sha256(plaintext))
    blob = envelope.seal_blob("leaf", pack_key(secret, sort, salt), {}, plaintext)
    return Row(session, bytes.fromhex(envelope.address_of(blob)), salt), blob


def encode_metadata(rows: list[Row], frame: bytes) -> bytes:
    """What a metadata pack begins with; `rows` without that of the pack itself."""
    return b"".join((
        (len(rows) + 1).to_bytes(4, "big"), bytes(ROW_LENGTH), *map(bytes, rows),
        len(frame).to_bytes(4, "big"), frame,
    ))


# --- Reading -------------------------------------------------------------------

def open_pack(store: Store, row: Row, secret: bytes, sort: str) -> bytes:
    """The plaintext of a pack, which is not fetched further than the longest of its sort."""
    address = row.address.hex()
    try:
        blob = store.get(address, MAX_BLOB[sort])  # limit, not-found
    except IdkError as fault:
        _require(fault.code != "limit" or sort == DATA, "a metadata pack is longer than any")
        raise
    if envelope.address_of(blob) != address:
        raise IdkError("address", "the bytes do not hash to the address")
    sealed = envelope.parse(blob, "leaf")  # format
    return sealed.open(pack_key(secret, sort, row.salt), "leaf")  # commit, auth


@dataclass(frozen=True)
class MetadataPack:
    rows: list[Row]  # the first is that of the pack itself
    frame: bytes  # decoded


def parse_metadata(plaintext: bytes, own: Row) -> MetadataPack:
    count = int.from_bytes(plaintext[:4], "big")
    at = 4 + ROW_LENGTH * count
    _require(count >= 1, "a metadata pack has no rows")
    _require(at + 4 <= len(plaintext), "the rows of a metadata pack run past its end")
    _require(not any(plaintext[4 : 4 + ROW_LENGTH]), "row 0 of a metadata pack is not zero")
    end = at + 4 + int.from_bytes(plaintext[at : at + 4], "big")
    _require(end <= len(plaintext), "the frame of a metadata pack runs past its end")
    _require(plaintext.count(0, end) == len(plaintext) - end, "the padding of a pack is not zero")
    starts = range(4 + ROW_LENGTH, at, ROW_LENGTH)
    rows = [own, *(parse_row(plaintext[i : i + ROW_LENGTH]) for i in starts)]
    return MetadataPack(rows, frames.decode_zstd(plaintext[at + 4 : end], MAX_FRAME))


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise IdkError("tree", message)
