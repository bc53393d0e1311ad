"""One sealed body that opens under two keys ("invisible salamanders").

Poly1305 is a polynomial evaluated at a secret point, so for two known keys, equal
tags under both are one linear equation in a single block of the ciphertext.
Nothing in XSalsa20-Poly1305 prevents this; only the key commitment does.
"""

from itertools import count

from idk_reference.keys import ZERO_NONCE

from . import salsa


def seal_for_two(key_1: bytes, key_2: bytes, plaintext: bytes, free: int) -> bytes:
    """Seal `plaintext` under key_1 so that the body opens under key_2 as well.

    This overwrites two 16-byte blocks of the plaintext, from offset `free` (a
    multiple of 16). Under key_2 the body opens to noise.
    """
    stream_1 = salsa.xsalsa20_stream(key_1, ZERO_NONCE, 32 + len(plaintext))
    stream_2 = salsa.xsalsa20_stream(key_2, ZERO_NONCE, 32)
    ciphertext = bytearray(a ^ b for a, b in zip(plaintext, stream_1[32:]))
    for attempt in count():
        ciphertext[free : free + 16] = attempt.to_bytes(16, "little")
        solution = _solve(stream_1[:32], stream_2[:32], bytes(ciphertext), free // 16 + 1)
        if solution is not None:
            ciphertext[free + 16 : free + 32] = solution
            return salsa.poly1305(stream_1[:32], bytes(ciphertext)) + bytes(ciphertext)


def _solve(poly_1: bytes, poly_2: bytes, ciphertext: bytes, unknown: int) -> bytes | None:
    """The block at index `unknown` for which both keys give the same tag."""
    (r_1, s_1), (r_2, s_2) = salsa.poly1305_key(poly_1), salsa.poly1305_key(poly_2)
    blocks = salsa.poly1305_blocks(ciphertext)
    blocks[unknown] = 2**128  # only the block's end bit; its bytes are the unknown
    power = len(blocks) - unknown
    rest_1, rest_2 = _evaluate(blocks, r_1), _evaluate(blocks, r_2)
    slope = pow(pow(r_1, power, salsa.PRIME) - pow(r_2, power, salsa.PRIME), -1, salsa.PRIME)
    for carry in range(-4, 5):  # tags are equal modulo 2^128, sums modulo the prime
        x = (s_2 - s_1 + rest_2 - rest_1 + carry * 2**128) * slope % salsa.PRIME
        if x >= 2**128:
            continue
        candidate = bytearray(ciphertext)
        candidate[16 * unknown : 16 * unknown + 16] = x.to_bytes(16, "little")
        if salsa.poly1305(poly_1, candidate) == salsa.poly1305(poly_2, candidate):
            return x.to_bytes(16, "little")
    return None


def _evaluate(blocks: list[int], r: int) -> int:
    total = 0
    for block in blocks:
        total = (total + block) * r % salsa.PRIME
    return total
