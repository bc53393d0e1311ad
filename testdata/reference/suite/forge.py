"""Builds blobs that are valid by default; every part can be replaced.

A fault is planted before the blob is sealed and its address computed. So the
address, the tag and the references are right, and the blob has only that fault.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import nacl.bindings as nacl
from nacl.exceptions import CryptoError

from idk_reference import cbor_profile, envelope, keys
from idk_reference.cbor_profile import encode
from idk_reference.tree import Reference

from . import salsa

SEED = b"idk test vectors, version 1"
HELLO = b"hello, world"

CHUNK_LOG2 = 18
CHUNK = 1 << CHUNK_LOG2


def secret(label: str) -> bytes:
    return keys.kdf(SEED, b"", label)


def noise(label: str, length: int) -> bytes:
    return salsa.xsalsa20_stream(secret(label), keys.ZERO_NONCE, length)


@dataclass(frozen=True)
class Person:
    secret_key: bytes

    @property
    def public_key(self) -> bytes:
        return keys.public_key(self.secret_key)

    @property
    def identity(self) -> str:
        return keys.identity_text(self.secret_key)


def person(name: str) -> Person:
    return Person(secret(f"person/{name}"))


# Sorted by public key, as slots are: ALICE's comes first, CAROL's last.
ALICE, BOB, CAROL = sorted(
    (person(name) for name in ("first", "second", "third")), key=lambda p: p.public_key
)
STRANGER = person("stranger")


# --- CBOR in parts ----------------------------------------------------------

Pairs = list[tuple[bytes, bytes]]


def in_order(items: dict[str, bytes]) -> Pairs:
    """Encoded keys with their values; these are already encoded, so can be anything."""
    return sorted((encode(name), value) for name, value in items.items())


def cbor_map(pairs: Pairs) -> bytes:
    return cbor_profile.head(cbor_profile.MAP, len(pairs)) + b"".join(k + v for k, v in pairs)


# --- Blobs -------------------------------------------------------------------

def with_header(header: bytes) -> bytes:
    return envelope.MAGIC + len(header).to_bytes(2, "big") + header


def seal_raw(kind: str, key: bytes, header: bytes, plaintext: bytes) -> bytes:
    prefix = with_header(header)
    return prefix + keys.seal(keys.body_key(key, prefix, kind), plaintext)


def flip(data: bytes, at: int, bit: int = 1) -> bytes:
    changed = bytearray(data)
    changed[at] ^= bit
    return bytes(changed)


def slot(content_key: bytes, e: bytes, reader: Person, nonce_for: bytes | None = None) -> bytes:
    """A wrapped key that `reader` can open, for any e, even a forbidden one."""
    nonce = keys.sha256(b"idk/v1/wrap" + e + (nonce_for or reader.public_key))[:24]
    try:
        shared = nacl.crypto_scalarmult(reader.secret_key, e)
    except CryptoError:
        shared = bytes(32)
    return nacl.crypto_secretbox(content_key, nonce, salsa.hsalsa20(shared, bytes(16)))


@dataclass
class Draft:
    """A root blob before it is sealed."""

    label: str
    content: bytes = HELLO
    metadata: dict = field(default_factory=dict)
    recipients: Sequence[Person] = (ALICE,)
    zeros: int = 0  # number of zero bytes after the map
    kind: str = "root"

    header: dict[str, bytes] = field(default_factory=dict)
    fields: dict[str, bytes] = field(default_factory=dict)

    # Hooks for faults outside a single value.
    encode_header: Callable[[Pairs], bytes] = cbor_map
    encode_fields: Callable[[Pairs], bytes] = cbor_map

    def __post_init__(self):
        self.key = secret(f"{self.label}/key")
        self.ephemeral = secret(f"{self.label}/ephemeral")
        self.e = keys.public_key(self.ephemeral)
        public_keys = sorted(p.public_key for p in self.recipients)
        self.slots = [keys.wrap(self.key, pk, self.ephemeral) for pk in public_keys]
        self.header = {
            "c": encode(keys.commitment(self.key)),
            "e": encode(self.e),
            "w": encode(b"".join(self.slots)),
        } | self.header
        self.fields = {
            "b": encode(self.content),
            "d": encode(0),
            "k": encode(0),
            "m": encode(self.metadata),
            "n": encode(len(self.content)),
            "p": encode(0),
        } | self.fields

    def use_ephemeral(self, e: bytes) -> None:
        """Use any e, and wrap so that a reader that accepts this e opens the blob."""
        self.e = e
        self.use_slots([slot(self.key, e, reader) for reader in self.recipients])
        self.header["e"] = encode(e)

    def use_slots(self, slots: list[bytes]) -> None:
        self.slots = slots
        self.header["w"] = encode(b"".join(slots))

    def header_bytes(self) -> bytes:
        return self.encode_header(in_order(self.header))

    def plaintext(self) -> bytes:
        cbor = self.encode_fields(in_order(self.fields))
        return len(cbor).to_bytes(4, "big") + cbor + bytes(self.zeros)

    def body_key(self, content_key: bytes | None = None) -> bytes:
        return keys.body_key(content_key or self.key, with_header(self.header_bytes()), self.kind)

    def blob(self, plaintext: bytes | None = None) -> bytes:
        plaintext = self.plaintext() if plaintext is None else plaintext
        return seal_raw(self.kind, self.key, self.header_bytes(), plaintext)


# --- Trees -------------------------------------------------------------------

@dataclass(frozen=True)
class Child:
    key: bytes
    blob: bytes

    @property
    def reference(self) -> Reference:
        return Reference(keys.sha256(self.blob), self.key)


def child(
    kind: str, plaintext: bytes, *, sealed_as: str | None = None, header: bytes | None = None
) -> Child:
    """A child with a key derived from its plaintext, so that vectors can share it."""
    key = keys.convergent_child_key(SEED, kind, plaintext)
    header = encode({"c": keys.commitment(key)}) if header is None else header
    return Child(key, seal_raw(sealed_as or kind, key, header, plaintext))


def leaf(plaintext: bytes, **changes) -> Child:
    return child("leaf", plaintext, **changes)


def node(children: Sequence[Child]) -> Child:
    return child("node", row(children))


def row(children: Sequence[Child]) -> bytes:
    return b"".join(bytes(c.reference) for c in children)


def tree_draft(label: str, references: bytes, size: int, *, padding: int = 0, depth: int = 1,
               chunk_log2: int = CHUNK_LOG2, **draft) -> Draft:
    fields = {
        "b": encode(references), "d": encode(depth), "k": encode(chunk_log2),
        "n": encode(size), "p": encode(padding),
    }
    return Draft(label, fields=fields, **draft)


# The usual tree: five leaves, the last of a single byte, so that a fault in the
# last leaf costs nothing. Four full leaves of two kinds keep the files small.
CONTENT_A, CONTENT_B = (noise(f"leaf {x}", 4096).ljust(CHUNK, x.encode()) for x in "ab")
LEAF_A, LEAF_B, LAST = leaf(CONTENT_A), leaf(CONTENT_B), leaf(b"!")
FOUR_LEAVES = [LEAF_A, LEAF_B, LEAF_A, LEAF_B]
FOUR_CONTENT = (CONTENT_A + CONTENT_B) * 2
FIVE_LEAVES = [*FOUR_LEAVES, LAST]
FIVE_CONTENT = FOUR_CONTENT + b"!"

# Zero content: all full leaves are one blob, so a tree of gigabytes is small.
ZERO_LEAF = leaf(bytes(CHUNK))
ZERO_BYTE_LEAF = leaf(b"\0")
ZERO_NODE = node([ZERO_LEAF] * 4096)
