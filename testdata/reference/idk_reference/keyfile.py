"""A secret key protected by a passphrase, 102 bytes, or the same in armor.

    "IDKK" 01 || log2 of scrypt's N || salt(16) || commitment(32) || box(48)

The commitment distinguishes a wrong passphrase from a damaged box, and binds
the file to a single passphrase.
"""

import hashlib
import hmac

from . import armor, keys
from .errors import IdkError

MAGIC = b"IDKK\x01"
LABEL = "IDK PROTECTED IDENTITY"
SALT_LENGTH = 16
HEAD_LENGTH = len(MAGIC) + 1 + SALT_LENGTH
LENGTH = HEAD_LENGTH + 32 + keys.WRAPPED_LENGTH
MIN_LOG_N, DEFAULT_LOG_N, MAX_LOG_N = 14, 17, 20


def make(secret_key: bytes, passphrase: str, salt: bytes, log_n: int = DEFAULT_LOG_N) -> bytes:
    if len(secret_key) != keys.KEY_LENGTH or len(salt) != SALT_LENGTH:
        raise IdkError("usage", "a secret key has 32 bytes, a salt has 16")
    if not MIN_LOG_N <= log_n <= MAX_LOG_N:
        raise IdkError("usage", "logN must be 14 to 20")
    head = MAGIC + bytes([log_n]) + salt
    commitment, box_key = _derive(passphrase, head)
    return head + commitment + keys.seal(box_key, secret_key)


def is_protected(data: bytes) -> bool:
    return data[:4] == MAGIC[:4] or armor.is_armored(data)


def open_file(data: bytes, passphrase: str) -> bytes:
    if data[:4] != MAGIC[:4] and armor.is_armored(data):
        data = armor.dearmor(LABEL, data)
    if len(data) != LENGTH or data[:5] != MAGIC:
        raise IdkError("key", "not a version 1 key file")
    if not MIN_LOG_N <= data[5] <= MAX_LOG_N:  # before any work that depends on logN
        raise IdkError("key", "logN is out of range")
    head, commitment, box = data[:HEAD_LENGTH], data[HEAD_LENGTH:-48], data[-48:]
    expected, box_key = _derive(passphrase, head)
    if not hmac.compare_digest(commitment, expected):
        raise IdkError("passphrase", "wrong passphrase")
    secret_key = keys.unseal(box_key, box)
    if secret_key is None:
        raise IdkError("key", "the key file is damaged")
    return secret_key


def _derive(passphrase: str, head: bytes) -> tuple[bytes, bytes]:
    n, r = 1 << head[5], 8
    stretched = hashlib.scrypt(
        passphrase.encode("utf-8"), salt=head[6:], n=n, r=r, p=1,
        maxmem=128 * r * (n + 4) + 2**20, dklen=32,
    )
    commitment = keys.kdf(stretched, b"", "idk/v1/keyfile/commit")
    return commitment, keys.kdf(stretched, keys.sha256(head), "idk/v1/keyfile/box")
