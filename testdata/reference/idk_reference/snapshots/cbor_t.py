"""CBOR-T, section 5: the profile of the blob format, and three more types.

    unsigned integers up to 2^53 - 1, negative ones down to -(2^53 - 1)  -> int
    byte strings                                                         -> bytes
    text, valid UTF-8                                                    -> str
    arrays                                                               -> list
    maps with text keys                                                  -> dict
    null                                                                 -> None

Arrays and maps are nested at most six deep. As in the profile, the decoder
accepts any definite form and then compares with the one right encoding.
"""

from ..cbor_profile import BYTES, MAP, MAX_UINT, TEXT, UINT, CborError, _head, head

NEGATIVE, ARRAY = 1, 4
NULL = b"\xf6"
MAX_DEPTH = 6

# A decoded item takes far more memory than the byte that it may be encoded in.
MAX_ITEMS = 2**19


def encode(value, depth: int = 0) -> bytes:
    if isinstance(value, (list, dict)) and depth == MAX_DEPTH:
        raise CborError("nested too deep")
    match value:
        case None:
            return NULL
        case bool():  # Python counts True as an int; CBOR does not
            raise CborError("booleans are not in CBOR-T")
        case int() if 0 <= value <= MAX_UINT:
            return head(UINT, value)
        case int() if -MAX_UINT <= value < 0:
            return head(NEGATIVE, -1 - value)
        case bytes():
            return head(BYTES, len(value)) + value
        case str():
            try:
                utf8 = value.encode("utf-8")
            except UnicodeEncodeError:
                raise CborError("text has a lone surrogate") from None
            return head(TEXT, len(utf8)) + utf8
        case list():
            return head(ARRAY, len(value)) + b"".join(encode(item, depth + 1) for item in value)
        case dict() if all(isinstance(key, str) for key in value):
            pairs = [(encode(key), encode(item, depth + 1)) for key, item in value.items()]
            return head(MAP, len(pairs)) + b"".join(key + item for key, item in sorted(pairs))
    raise CborError(f"not in CBOR-T: {type(value).__name__}")


def decode(data: bytes):
    decoder = _Decoder(data)
    value = decoder.item(0)
    if encode(value) != data:
        raise CborError("not the one encoding of its value")
    return value


class _Decoder:
    def __init__(self, data: bytes):
        self.data, self.at, self.items = data, 0, 0

    def item(self, depth: int):
        self.items += 1
        if self.items > MAX_ITEMS:
            raise CborError(f"more than {MAX_ITEMS} items")
        if self.data[self.at : self.at + 1] == NULL:
            self.at += 1
            return None
        major, argument, self.at = _head(self.data, self.at)
        if major == UINT:
            return argument
        if major == NEGATIVE:
            return -1 - argument
        if major in (BYTES, TEXT):
            return self._string(major, argument)
        if major in (ARRAY, MAP) and depth < MAX_DEPTH:
            # The claimed count reserves no memory: the loop ends when the bytes do.
            if major == ARRAY:
                return [self.item(depth + 1) for _ in range(argument)]
            return self._map(argument, depth)
        raise CborError("type or depth outside CBOR-T")

    def _string(self, major: int, length: int) -> bytes | str:
        raw = self.data[self.at : self.at + length]
        if len(raw) != length:
            raise CborError("a string runs past the end")
        self.at += length
        if major == BYTES:
            return raw
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise CborError("text is not UTF-8") from None

    def _map(self, count: int, depth: int) -> dict:
        items = {}
        for _ in range(count):
            key = self.item(depth + 1)
            if not isinstance(key, str):
                raise CborError("a map key is not text")
            items[key] = self.item(depth + 1)
        return items
