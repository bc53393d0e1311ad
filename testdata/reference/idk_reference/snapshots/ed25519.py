"""Ed25519, section 3, and exactly which signatures a reader refuses.

Libraries differ in the malformed signatures and keys that they accept, and the
same library differs between its versions. So the few lines of RFC 8032 that it
takes are written out here, with the rules of section 3 in `verify`. This is slow
and not protected against side channels.
"""

import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

SEED_LENGTH, KEY_LENGTH, SIGNATURE_LENGTH = 32, 32, 64

# A point (x, y) as (X, Y, Z, T): x = X/Z, y = Y/Z, x·y = T/Z (RFC 8032, section 5.1.4).
Point = tuple[int, int, int, int]
NEUTRAL: Point = (0, 1, 1, 0)


def add(p: Point, q: Point) -> Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar: int, point: Point) -> Point:
    result = NEUTRAL
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def negate(p: Point) -> Point:
    return -p[0] % P, p[1], p[2], -p[3] % P


def encode(p: Point) -> bytes:
    inverse = pow(p[2], -1, P)
    x, y = p[0] * inverse % P, p[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def decode(data: bytes) -> Point | None:
    """The point of a canonical encoding, or None."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    # x² = (y² − 1) / (d·y² + 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def has_low_order(p: Point) -> bool:
    """Whether eight times the point is the neutral element."""
    x, y, z, _ = multiply(8, p)
    return x % P == 0 and (y - z) % P == 0


_base = decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
assert _base is not None
BASE: Point = _base


def public_key(seed: bytes) -> bytes:
    return encode(multiply(_secrets(seed)[0], BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    scalar, prefix = _secrets(seed)
    r = _hash_number(prefix + message) % L
    encoded_r = encode(multiply(r, BASE))
    k = _hash_number(encoded_r + public_key(seed) + message) % L
    return encoded_r + ((r + k * scalar) % L).to_bytes(32, "little")


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Section 3, "Signatures": the four conditions, in the same order."""
    if len(key) != KEY_LENGTH or len(signature) != SIGNATURE_LENGTH:
        return False
    encoded_r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    a = decode(key)
    if a is None or has_low_order(a):
        return False
    r = decode(encoded_r)
    if r is None or has_low_order(r):
        return False
    k = _hash_number(encoded_r + key + message) % L
    return encode(add(multiply(s, BASE), multiply(k, negate(a)))) == encoded_r


def _secrets(seed: bytes) -> tuple[int, bytes]:
    """The secret scalar, and what the numbers r are derived from."""
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ~7 & (1 << 254) - 1 | 1 << 254, digest[32:]


def _hash_number(data: bytes) -> int:
    return int.from_bytes(hashlib.sha512(data).digest(), "little")
