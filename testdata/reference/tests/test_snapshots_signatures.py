"""Which signatures are refused: the same as libsodium, for special keys and points too."""

import random

import nacl.bindings as sodium
import pytest
from nacl.exceptions import BadSignatureError

from idk_reference.snapshots import ed25519

SEED = bytes(range(32))


def sodium_verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        sodium.crypto_sign_open(signature + message, key)
    except (BadSignatureError, ValueError):
        return False
    return True


def agree(key: bytes, message: bytes, signature: bytes) -> bool:
    valid = ed25519.verify(key, message, signature)
    assert valid is sodium_verifies(key, message, signature)
    return valid


def point_of_order_8() -> ed25519.Point:
    for y in range(2, 100):
        point = ed25519.decode(y.to_bytes(32, "little"))
        if point:
            torsion = ed25519.multiply(ed25519.L, point)
            x, y_, z, _ = ed25519.multiply(4, torsion)
            if x % ed25519.P or (y_ - z) % ed25519.P:
                return torsion
    raise AssertionError("every eighth point has a part of order 8")


def signed(message: bytes, shift: ed25519.Point, key_shift: ed25519.Point) -> tuple[bytes, bytes]:
    """A key and a signature, each moved by a point of low order: right but for the cofactor."""
    scalar, _ = ed25519._secrets(SEED)
    r = 12345
    key = ed25519.encode(ed25519.add(ed25519.multiply(scalar, ed25519.BASE), key_shift))
    encoded_r = ed25519.encode(ed25519.add(ed25519.multiply(r, ed25519.BASE), shift))
    k = ed25519._hash_number(encoded_r + key + message) % ed25519.L
    return key, encoded_r + ((r + k * scalar) % ed25519.L).to_bytes(32, "little")


def test_signs_as_libsodium_does():
    draw = random.Random(1)
    for length in range(0, 200, 23):
        seed, message = draw.randbytes(32), draw.randbytes(length)
        public, secret = sodium.crypto_sign_seed_keypair(seed)
        assert ed25519.public_key(seed) == public
        assert ed25519.sign(seed, message) == sodium.crypto_sign(message, secret)[:64]
        assert agree(public, message, ed25519.sign(seed, message))
        assert not agree(public, message + b"!", ed25519.sign(seed, message))


@pytest.mark.parametrize("times", range(1, 8))
def test_refuses_what_is_right_only_with_the_cofactor(times):
    shift = ed25519.multiply(times, point_of_order_8())
    key, signature = signed(b"message", ed25519.NEUTRAL, ed25519.NEUTRAL)
    assert agree(key, b"message", signature)
    key, signature = signed(b"message", shift, ed25519.NEUTRAL)
    assert not agree(key, b"message", signature)


def test_a_key_of_mixed_order_signs_one_message_in_eight():
    torsion = point_of_order_8()
    results = set()
    for i in range(40):
        message = str(i).encode()
        key, signature = signed(message, ed25519.NEUTRAL, torsion)
        results.add(agree(key, message, signature))
    assert results == {True, False}


def test_special_points():
    encodings = [n.to_bytes(32, "little") for n in (0, 1, ed25519.P - 1, ed25519.P, ed25519.P + 1)]
    encodings += [one[:31] + bytes([one[31] | 0x80]) for one in encodings]
    torsion = point_of_order_8()
    encodings += [ed25519.encode(ed25519.multiply(i, torsion)) for i in range(8)]
    good = ed25519.public_key(SEED)
    for key in [*encodings, good]:
        for encoded_r in encodings:
            for s in (0, 1, ed25519.L):
                assert not agree(key, b"m", encoded_r + s.to_bytes(32, "little"))
