"""The CBOR profile: four types, one encoding for every value.

    unsigned integers up to 2^53 - 1     -> int
    byte strings                         -> bytes
    text, valid UTF-8                    -> str
    maps with text keys, depth at most 2 -> dict

The decoder accepts definite lengths of any form, then encodes the decoded value
and compares. That single comparison rules out every other encoding of the same
value: long integers, keys out of order or repeated, trailing bytes.
"""

MAX_UINT = 2**53 - 1
MAX_DEPTH = 2

UINT, BYTES, TEXT, MAP = 0, 2, 3, 5


class CborError(ValueError):
    """Not an item of the profile."""


def encode(value) -> bytes:
    match value:
        case bool():  # Python counts True as an int; CBOR does not
            raise CborError("booleans are not in the profile")
        case int() if 0 <= value <= MAX_UINT:
            return head(UINT, value)
        case bytes():
            return head(BYTES, len(value)) + value
        case str():
            try:
                utf8 = value.encode("utf-8")
            except UnicodeEncodeError:
                raise CborError("text has a lone surrogate") from None
            return head(TEXT, len(utf8)) + utf8
        case dict() if all(isinstance(key, str) for key in value):
            pairs = sorted((encode(key), encode(item)) for key, item in value.items())
            return head(MAP, len(pairs)) + b"".join(key + item for key, item in pairs)
    raise CborError(f"not in the profile: {type(value).__name__}")


def head(major: int, argument: int) -> bytes:
    """The first bytes of an item, in the shortest form."""
    if argument < 24:
        return bytes([major << 5 | argument])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << 8 * size:
            return bytes([major << 5 | code]) + argument.to_bytes(size, "big")
    raise CborError("the argument does not fit in 64 bits")


def decode(data: bytes):
    value, end = _item(data, 0, depth=0)
    if encode(value) != data:
        raise CborError("not the canonical encoding of its value")
    return value


def _item(data: bytes, at: int, depth: int):
    major, argument, at = _head(data, at)
    if major == UINT:
        return argument, at
    if major in (BYTES, TEXT):
        raw = data[at : at + argument]
        if len(raw) != argument:
            raise CborError("a string runs past the end")
        if major == BYTES:
            return raw, at + argument
        try:
            return raw.decode("utf-8"), at + argument
        except UnicodeDecodeError:
            raise CborError("text is not UTF-8") from None
    if major == MAP and depth < MAX_DEPTH:
        items = {}
        # The claimed count reserves no memory: the loop ends when the bytes do.
        for _ in range(argument):
            key, at = _item(data, at, depth + 1)
            if not isinstance(key, str):
                raise CborError("a map key is not text")
            items[key], at = _item(data, at, depth + 1)
        return items, at
    raise CborError("type or depth outside the profile")


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    if at >= len(data):
        raise CborError("ends too early")
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if info < 24:
        return major, info, at
    if info > 27:
        raise CborError("indefinite length or reserved form")
    size = 1 << (info - 24)
    if at + size > len(data):
        raise CborError("ends too early")
    return major, int.from_bytes(data[at : at + size], "big"), at + size
