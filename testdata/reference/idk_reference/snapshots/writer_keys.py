"""Writers' keys, section 3: the owner's seed, keys as text, writer files."""

import hmac
import hashlib

from .. import armor, bech32, keyfile, keys
from ..errors import IdkError
from . import ed25519

WRITER_PREFIX = "idk-writer"
SEED_PREFIX = "idk-writer-secret-key-"
FILE_MAGIC = b"IDKW\x01"
FILE_LABEL = "IDK PROTECTED WRITER KEY"


def owner_seed(identity: bytes) -> bytes:
    """The seed of the one person who is reader, writer and owner."""
    return keys.kdf(identity, b"", "idk/v1/owner")


def writer_text(public_key: bytes) -> str:
    return bech32.encode(WRITER_PREFIX, public_key)


def seed_text(seed: bytes) -> str:
    return bech32.encode(SEED_PREFIX, seed).upper()


def parse_writer(text: str) -> bytes:
    key = bech32.decode(text, WRITER_PREFIX)
    point = ed25519.decode(key) if len(key) == ed25519.KEY_LENGTH else None
    if point is None or ed25519.has_low_order(point):
        raise IdkError("key", "not a writer's public key")
    return key


def parse_seed(text: str) -> bytes:
    seed = bech32.decode(text, SEED_PREFIX)
    if len(seed) != ed25519.SEED_LENGTH:
        raise IdkError("key", "a writer's seed has 32 bytes")
    return seed


def open_writer_file(data: bytes, passphrase: str | None = None) -> bytes:
    """The seed in a writer file: text with exactly one, or protected by a passphrase."""
    if data[:4] != FILE_MAGIC[:4] and armor.is_armored(data):
        data = armor.dearmor(FILE_LABEL, data)
    elif data[:4] != FILE_MAGIC[:4]:
        seeds = [parse_seed(line) for line in key_lines(data)]
        if len(seeds) != 1:
            raise IdkError("key", "a writer file holds exactly one seed")
        return seeds[0]
    if len(data) != keyfile.LENGTH or data[:5] != FILE_MAGIC:
        raise IdkError("key", "not a version 1 writer file")
    if not keyfile.MIN_LOG_N <= data[5] <= keyfile.MAX_LOG_N:
        raise IdkError("key", "logN is out of range")
    if passphrase is None:
        raise IdkError("passphrase", "the writer file is protected: give its passphrase")
    head, commitment, box = data[: keyfile.HEAD_LENGTH], data[keyfile.HEAD_LENGTH : -48], data[-48:]
    expected, box_key = _derive(passphrase, head)
    if not hmac.compare_digest(commitment, expected):
        raise IdkError("passphrase", "wrong passphrase")
    seed = keys.unseal(box_key, box)
    if seed is None:
        raise IdkError("key", "the writer file is damaged")
    return seed


def make_writer_file(seed: bytes, passphrase: str, salt: bytes, log_n: int) -> bytes:
    head = FILE_MAGIC + bytes([log_n]) + salt
    commitment, box_key = _derive(passphrase, head)
    return head + commitment + keys.seal(box_key, seed)


def _derive(passphrase: str, head: bytes) -> tuple[bytes, bytes]:
    """As for identity files, with other infos, so that no file opens as one of the other kind."""
    n, r = 1 << head[5], 8
    stretched = hashlib.scrypt(
        passphrase.encode("utf-8"), salt=head[6:], n=n, r=r, p=1,
        maxmem=128 * r * (n + 4) + 2**20, dklen=32,
    )
    commitment = keys.kdf(stretched, b"", "idk/v1/writerfile/commit")
    return commitment, keys.kdf(stretched, keys.sha256(head), "idk/v1/writerfile/box")


def key_lines(data: bytes) -> list[str]:
    """The lines of a file of keys, without blank ones and comments (docs/format.md, section 16)."""
    try:
        lines = [line.strip() for line in data.decode("utf-8").splitlines()]
    except UnicodeDecodeError:
        raise IdkError("key", "the file is not text") from None
    return [line for line in lines if line and not line.startswith("#")]
