"""The envelope: the outer layout of every blob, root or child.

    "IDK" 01 || u16 length of header || header (CBOR) || body

A root's header has the wrapped keys; a child's header has only the commitment,
because its key comes from its parent.
"""

from dataclasses import dataclass

from . import cbor_profile, keys
from .errors import IdkError

MAGIC = b"IDK\x01"
PREFIX_LENGTH = 6
MAX_HEADER = 2**16 - 1
MAX_RECIPIENTS = 1024

CHILD_KINDS = ("leaf", "node")
MAX_CHUNK = 2**24
CHILD_OVERHEAD = 59  # 6 + 37 bytes of header + 16 bytes of tag
MAX_ROOT_PLAINTEXT = 2**21

MAX_CHILD_BLOB = MAX_CHUNK + CHILD_OVERHEAD
MAX_ROOT_BLOB = PREFIX_LENGTH + MAX_HEADER + keys.TAG_LENGTH + MAX_ROOT_PLAINTEXT


def size_limit(kind: str) -> int:
    return MAX_ROOT_BLOB if kind == "root" else MAX_CHILD_BLOB


# --- Writing -----------------------------------------------------------------

def seal_blob(kind: str, content_key: bytes, header: dict, plaintext: bytes) -> bytes:
    encoded = cbor_profile.encode({"c": keys.commitment(content_key), **header})
    prefix = MAGIC + len(encoded).to_bytes(2, "big") + encoded
    return prefix + keys.seal(keys.body_key(content_key, prefix, kind), plaintext)


def address_of(blob: bytes) -> str:
    return keys.sha256(blob).hex()


# --- Reading -----------------------------------------------------------------

@dataclass(frozen=True)
class Envelope:
    prefix: bytes  # all bytes before the body
    commitment: bytes
    body: bytes
    ephemeral: bytes | None = None  # roots only
    slots: tuple[bytes, ...] = ()  # roots only

    def open(self, content_key: bytes, kind: str) -> bytes:
        if keys.commitment(content_key) != self.commitment:
            raise IdkError("commit", "the key does not match the commitment")
        plaintext = keys.unseal(keys.body_key(content_key, self.prefix, kind), self.body)
        if plaintext is None:
            raise IdkError("auth", "the body does not open")
        return plaintext


def parse(blob: bytes, kind: str) -> Envelope:
    """Make all checks of a blob that need no key."""
    if blob[:4] != MAGIC or len(blob) < PREFIX_LENGTH:
        raise IdkError("format", "not a version 1 blob")
    end = PREFIX_LENGTH + int.from_bytes(blob[4:6], "big")
    if end + keys.TAG_LENGTH > len(blob):
        raise IdkError("format", "the header runs past the end, or the body has no tag")
    try:
        header = cbor_profile.decode(blob[PREFIX_LENGTH:end])
    except cbor_profile.CborError as fault:
        raise IdkError("format", f"header: {fault}") from None
    expected = {"c", "e", "w"} if kind == "root" else {"c"}
    if not isinstance(header, dict) or header.keys() != expected:
        raise IdkError("format", f"not the header of a {kind}")
    _check_bytes(header["c"], 32)
    if kind != "root":
        return Envelope(blob[:end], header["c"], blob[end:])
    return Envelope(
        blob[:end], header["c"], blob[end:], _ephemeral(header["e"]), _slots(header["w"])
    )


def _ephemeral(e) -> bytes:
    _check_bytes(e, 32)
    if not keys.is_acceptable_point(e):
        raise IdkError("format", "the ephemeral key is not canonical or has low order")
    return e


def _slots(w) -> tuple[bytes, ...]:
    size = keys.WRAPPED_LENGTH
    if not isinstance(w, bytes) or len(w) % size or not 1 <= len(w) // size <= MAX_RECIPIENTS:
        raise IdkError("format", "not 1 to 1024 wrapped keys")
    return tuple(w[i : i + size] for i in range(0, len(w), size))


def _check_bytes(value, length: int) -> None:
    if not isinstance(value, bytes) or len(value) != length:
        raise IdkError("format", f"a header field is not {length} bytes")
