"""Bech32 as BIP 173 defines it: bytes as text with a prefix and a checksum.

This is the original Bech32 (checksum constant 1); Bech32m is another format.
"""

from .errors import IdkError

CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
MAX_LENGTH = 90
CHECKSUM_LENGTH = 6


def encode(prefix: str, data: bytes) -> str:
    """Lower-case Bech32 of `data` under `prefix`."""
    groups = _regroup(data, 8, 5, pad=True)
    expanded = _expand(prefix) + groups
    checksum = _polymod(expanded + [0] * CHECKSUM_LENGTH) ^ 1
    groups += [(checksum >> 5 * (5 - i)) & 31 for i in range(CHECKSUM_LENGTH)]
    return prefix + "1" + "".join(CHARSET[g] for g in groups)


def decode(text: str, prefix: str) -> bytes:
    """The bytes in `text`, which must carry exactly this `prefix`."""
    if len(text) > MAX_LENGTH or not all(33 <= ord(ch) <= 126 for ch in text):
        raise IdkError("key", "not a Bech32 string")
    if text not in (text.lower(), text.upper()):
        raise IdkError("key", "the text mixes upper and lower case")
    found, _, payload = text.lower().rpartition("1")
    if not found or found != prefix:
        raise IdkError("key", f"does not begin with {prefix}1")
    if len(payload) < CHECKSUM_LENGTH or not set(payload) <= set(CHARSET):
        raise IdkError("key", "not a Bech32 string")
    groups = [CHARSET.index(ch) for ch in payload]
    if _polymod(_expand(prefix) + groups) != 1:
        raise IdkError("key", "bad checksum")
    return bytes(_regroup(groups[:-CHECKSUM_LENGTH], 5, 8, pad=False))


def _expand(prefix: str) -> list[int]:
    return [ord(ch) >> 5 for ch in prefix] + [0] + [ord(ch) & 31 for ch in prefix]


def _polymod(values: list[int]) -> int:
    generators = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
    remainder = 1
    for value in values:
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for i, generator in enumerate(generators):
            if top >> i & 1:
                remainder ^= generator
    return remainder


def _regroup(values, from_bits: int, to_bits: int, pad: bool) -> list[int]:
    """Convert a list of `from_bits`-bit numbers to `to_bits`-bit numbers."""
    pending, bits, out = 0, 0, []
    for value in values:
        pending = pending << from_bits | value
        bits += from_bits
        while bits >= to_bits:
            bits -= to_bits
            out.append(pending >> bits)
            pending &= (1 << bits) - 1
    if pad and bits:
        out.append(pending << (to_bits - bits))
    elif not pad and (bits >= from_bits or pending):
        # Two texts must never decode to the same bytes.
        raise IdkError("key", "left-over bits are too many or not zero")
    return out
