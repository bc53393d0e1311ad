"""Every key of the format, and how a content key is wrapped for a recipient."""

import hashlib
import hmac

import nacl.bindings as nacl
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nacl.exceptions import CryptoError

from . import bech32
from .errors import IdkError

KEY_LENGTH = 32
TAG_LENGTH = 16
WRAPPED_LENGTH = KEY_LENGTH + TAG_LENGTH
ZERO_NONCE = bytes(24)

RECIPIENT_PREFIX = "idk"
IDENTITY_PREFIX = "idk-secret-key-"

FIELD_PRIME = 2**255 - 19


# --- Hashes and derivation ---------------------------------------------------

def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def mac(secret: bytes, message: bytes) -> bytes:
    return hmac.digest(secret, message, "sha256")


def kdf(key: bytes, salt: bytes, info: str) -> bytes:
    return HKDF(SHA256(), KEY_LENGTH, salt, info.encode("ascii")).derive(key)


def commitment(content_key: bytes) -> bytes:
    """Binds a blob to one key: without it, a body could be made that opens under two."""
    return kdf(content_key, b"", "idk/v1/commit")


def body_key(content_key: bytes, envelope_prefix: bytes, kind: str) -> bytes:
    """The key of the body, tied to all bytes before it and to the kind of blob."""
    return kdf(content_key, sha256(envelope_prefix), f"idk/v1/{kind}")


def convergent_child_key(secret: bytes, kind: str, plaintext: bytes) -> bytes:
    return mac(secret, f"idk/v1/conv/{kind}".encode() + sha256(plaintext))


def convergent_root_keys(
    secret: bytes, public_keys: list[bytes], plaintext: bytes
) -> tuple[bytes, bytes]:
    """Content key and ephemeral secret key of a root; the public keys must be sorted."""
    x = sha256(b"".join(public_keys)) + sha256(plaintext)
    return mac(secret, b"idk/v1/conv/root" + x), mac(secret, b"idk/v1/conv/esk" + x)


# --- Secretbox ---------------------------------------------------------------

def seal(key: bytes, plaintext: bytes) -> bytes:
    """Tag, then ciphertext. The zero nonce is safe because every key seals one message."""
    return nacl.crypto_secretbox(plaintext, ZERO_NONCE, key)


def unseal(key: bytes, sealed: bytes) -> bytes | None:
    if len(sealed) < TAG_LENGTH:
        return None
    try:
        return nacl.crypto_secretbox_open(sealed, ZERO_NONCE, key)
    except CryptoError:
        return None


# --- Curve25519 --------------------------------------------------------------

def public_key(secret_key: bytes) -> bytes:
    return nacl.crypto_scalarmult_base(secret_key)


def is_acceptable_point(point: bytes) -> bool:
    """Whether the point is canonical and not of low order.

    The order of a low-order point divides the cofactor 8, and every X25519
    scalar is a multiple of 8, so every scalar gives a zero shared secret and
    one scalar is enough to check.
    """
    if int.from_bytes(point, "little") >= FIELD_PRIME:
        return False
    try:
        nacl.crypto_scalarmult(b"\x01" * KEY_LENGTH, point)
    except CryptoError:  # PyNaCl reports an all-zero shared secret this way
        return False
    return True


# --- Wrapping a content key --------------------------------------------------

def _wrap_nonce(ephemeral: bytes, recipient: bytes) -> bytes:
    return sha256(b"idk/v1/wrap" + ephemeral + recipient)[:24]


def wrap(content_key: bytes, recipient: bytes, ephemeral_secret: bytes) -> bytes:
    nonce = _wrap_nonce(public_key(ephemeral_secret), recipient)
    return nacl.crypto_box(content_key, nonce, recipient, ephemeral_secret)


def unwrap(slots: tuple[bytes, ...], ephemeral: bytes, identity: bytes) -> bytes | None:
    """The content key from the first slot that opens for this identity.

    One Diffie-Hellman computation is enough for all slots. The first slot that
    opens is final: otherwise the key would depend on how far a reader searches.
    """
    nonce = _wrap_nonce(ephemeral, public_key(identity))
    shared = nacl.crypto_box_beforenm(ephemeral, identity)
    for slot in slots:
        try:
            return nacl.crypto_box_open_afternm(slot, nonce, shared)
        except CryptoError:
            continue
    return None


# --- Keys as text ------------------------------------------------------------

def recipient_text(key: bytes) -> str:
    return bech32.encode(RECIPIENT_PREFIX, key)


def parse_recipient(text: str) -> bytes:
    key = bech32.decode(text, RECIPIENT_PREFIX)
    if len(key) != KEY_LENGTH:
        raise IdkError("key", "a recipient has 32 bytes")
    check_recipient(key)
    return key


def check_recipient(key: bytes) -> None:
    if len(key) != KEY_LENGTH or not is_acceptable_point(key):
        raise IdkError("key", "the recipient is not a usable public key")


def identity_text(key: bytes) -> str:
    return bech32.encode(IDENTITY_PREFIX, key).upper()


def parse_identity(text: str) -> bytes:
    key = bech32.decode(text, IDENTITY_PREFIX)
    if len(key) != KEY_LENGTH:
        raise IdkError("key", "an identity has 32 bytes")
    return key
