"""XSalsa20-Poly1305 in plain arithmetic.

Libraries rightly hide these parts (and reject an all-zero shared secret), but
vectors that a careless reader would accept can only be built from them.
"""

import struct

MASK = 0xFFFFFFFF
SIGMA = struct.unpack("<4I", b"expand 32-byte k")
PRIME = 2**130 - 5
CLAMP = 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF


def hsalsa20(key: bytes, block: bytes) -> bytes:
    words = _double_rounds(_layout(key, block))
    return struct.pack("<8I", *(words[i] for i in (0, 5, 10, 15, 6, 7, 8, 9)))


def xsalsa20_stream(key: bytes, nonce: bytes, length: int) -> bytes:
    subkey, out = hsalsa20(key, nonce[:16]), b""
    counter = 0
    while len(out) < length:
        start = _layout(subkey, nonce[16:] + counter.to_bytes(8, "little"))
        words = _double_rounds(list(start))
        out += struct.pack("<16I", *((a + b) & MASK for a, b in zip(start, words)))
        counter += 1
    return out[:length]


def poly1305(key: bytes, message: bytes) -> bytes:
    r, s = poly1305_key(key)
    total = 0
    for block in poly1305_blocks(message):
        total = (total + block) * r % PRIME
    return ((total + s) % 2**128).to_bytes(16, "little")


def poly1305_key(key: bytes) -> tuple[int, int]:
    return int.from_bytes(key[:16], "little") & CLAMP, int.from_bytes(key[16:32], "little")


def poly1305_blocks(message: bytes) -> list[int]:
    cut = [message[i : i + 16] for i in range(0, len(message), 16)]
    return [int.from_bytes(block + b"\x01", "little") for block in cut]


def _layout(key: bytes, block: bytes) -> list[int]:
    k, n = struct.unpack("<8I", key), struct.unpack("<4I", block)
    return [SIGMA[0], *k[:4], SIGMA[1], *n, SIGMA[2], *k[4:], SIGMA[3]]


def _double_rounds(x: list[int]) -> list[int]:
    x = list(x)
    columns = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
    rows = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))
    for _ in range(10):
        for a, b, c, d in columns + rows:
            x[b] ^= _rotated(x[a] + x[d], 7)
            x[c] ^= _rotated(x[b] + x[a], 9)
            x[d] ^= _rotated(x[c] + x[b], 13)
            x[a] ^= _rotated(x[d] + x[c], 18)
    return x


def _rotated(value: int, by: int) -> int:
    value &= MASK
    return (value << by | value >> (32 - by)) & MASK
