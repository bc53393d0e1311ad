"""cbor-*: items outside the profile, or not in the canonical encoding.

The same faults are planted in a header (`format`) and in a root's map
(`root`); more are planted in the metadata. Everything around the bad
bytes is sealed correctly, so a lenient reader opens the blob without an error.
"""

from collections.abc import Callable, Iterator

from idk_reference.cbor_profile import encode

from .forge import Draft, Pairs, cbor_map

HUGE = (2**62).to_bytes(8, "big")
Fault = tuple[str, str, Callable[[Pairs], bytes]]


def add(suite):
    for name, note, spoil in faults():
        draft = Draft(f"cbor-header-{name}", encode_header=spoil)
        suite.fault(f"cbor-header-{name}", f"Header: {note}", "format", draft.blob())
    for name, note, spoil in faults():
        draft = Draft(f"cbor-root-{name}", encode_fields=spoil)
        suite.fault(f"cbor-root-{name}", f"Root: {note}", "root", draft.blob())
    for name, note, raw in metadata_faults():
        draft = Draft(f"cbor-metadata-{name}", fields={"m": raw})
        suite.fault(f"cbor-metadata-{name}", f"Metadata: {note}", "root", draft.blob())


def faults() -> Iterator[Fault]:
    """Faults of a whole map, given its pairs in order."""
    yield ("duplicate-key", "the last key stands there twice, with the same value.",
           lambda pairs: cbor_map([*pairs, pairs[-1]]))
    yield ("duplicate-key-other-value", "the last key stands there twice, with two values; "
           "readers would differ on which one counts.",
           lambda pairs: cbor_map([*pairs[:-1], (pairs[-1][0], encode(b"")), pairs[-1]]))
    yield ("wrong-order", "the first two keys are swapped.",
           lambda pairs: cbor_map([pairs[1], pairs[0], *pairs[2:]]))
    yield ("unknown-key", "a key that the format does not know.",
           lambda pairs: cbor_map([*pairs, (encode("z"), encode(b""))]))
    yield ("missing-key", "the last key is missing.", lambda pairs: cbor_map(pairs[:-1]))
    yield ("empty-map", "a map without keys.", lambda pairs: cbor_map([]))
    yield ("no-bytes", "no item at all.", lambda pairs: b"")
    yield ("not-a-map", "a byte string that holds the map.",
           lambda pairs: encode(cbor_map(pairs)))
    yield ("trailing-byte", "a zero byte follows the map, inside its length.",
           lambda pairs: cbor_map(pairs) + b"\0")
    yield ("trailing-map", "a second map follows the first.",
           lambda pairs: cbor_map(pairs) + b"\xa0")
    yield ("cut", "the last byte of the map is cut.", lambda pairs: cbor_map(pairs)[:-1])

    yield ("long-key-length", "a key's length in two bytes instead of one.",
           lambda pairs: cbor_map([(b"\x78\x01" + pairs[0][0][1:], pairs[0][1]), *pairs[1:]]))
    yield ("long-value-length", "a byte string's length in nine bytes.",
           lambda pairs: cbor_map([(pairs[0][0], _long_string(pairs[0][1])), *pairs[1:]]))
    yield ("long-map-length", "the number of keys in two bytes instead of one.",
           lambda pairs: bytes([0xB8, len(pairs)]) + cbor_map(pairs)[1:])
    yield ("indefinite-map", "a map of indefinite length.",
           lambda pairs: b"\xbf" + cbor_map(pairs)[1:] + b"\xff")
    yield ("indefinite-string", "a byte string of indefinite length.",
           lambda pairs: _first_value(pairs, b"\x5f" + pairs[0][1] + b"\xff"))
    yield ("indefinite-key", "a key of indefinite length.",
           lambda pairs: cbor_map([(b"\x7f" + pairs[0][0] + b"\xff", pairs[0][1]), *pairs[1:]]))
    yield ("reserved-length", "additional information 28, which has no meaning.",
           lambda pairs: _first_value(pairs, b"\x5c" + pairs[0][1]))
    yield ("break", "a lone break code as a value.", lambda pairs: _first_value(pairs, b"\xff"))

    yield ("tagged-map", "the self-description tag stands before the map.",
           lambda pairs: b"\xd9\xd9\xf7" + cbor_map(pairs))
    yield ("tagged-value", "a tag stands before a value.",
           lambda pairs: _first_value(pairs, b"\xc2" + pairs[0][1]))
    for name, what, raw in (
        ("half-float", "a half-precision float", b"\xf9\x00\x00"),
        ("double-float", "a double-precision float", b"\xfb" + bytes(8)),
        ("false", "false", b"\xf4"),
        ("true", "true", b"\xf5"),
        ("null", "null", b"\xf6"),
        ("undefined", "undefined", b"\xf7"),
        ("simple", "a simple value", b"\xe0"),
        ("negative", "a negative integer", b"\x20"),
        ("array-value", "an array", b"\x80"),
        ("map-value", "a map", b"\xa0"),
        ("text-value", "text where bytes belong", encode("text")),
        ("uint-value", "an integer where bytes belong", encode(5)),
    ):
        yield (f"{name}", f"the first value is {what}.",
               lambda pairs, raw=raw: _first_value(pairs, raw))

    yield ("integer-key", "the first key is an integer.",
           lambda pairs: cbor_map([(b"\x01", pairs[0][1]), *pairs[1:]]))
    yield ("bytes-key", "the first key is a byte string with the right letter.",
           lambda pairs: cbor_map([(encode(pairs[0][0][1:]), pairs[0][1]), *pairs[1:]]))
    yield ("bad-utf8-key", "an additional key is not UTF-8.",
           lambda pairs: cbor_map([*pairs, (b"\x61\xff", encode(b""))]))

    yield ("array", "an array of the values instead of the map.",
           lambda pairs: bytes([0x80 | len(pairs)]) + b"".join(value for _, value in pairs))
    yield ("array-claims-100-million", "an array that claims 100 million items; a reader must "
           "not make room for them.", lambda pairs: b"\x9a" + (10**8).to_bytes(4, "big"))
    yield ("map-claims-100-million", "a map that claims 100 million keys.",
           lambda pairs: b"\xba" + (10**8).to_bytes(4, "big") + cbor_map(pairs)[1:])
    yield ("map-claims-2-62", "a map that claims 2^62 keys.",
           lambda pairs: b"\xbb" + HUGE + cbor_map(pairs)[1:])
    yield ("bytes-claim-2-62", "a byte string that claims 2^62 bytes.",
           lambda pairs: _first_value(pairs, b"\x5b" + HUGE))
    yield ("bytes-claim-2-64", "a byte string that claims 2^64 - 1 bytes: adding that to a "
           "position overflows.", lambda pairs: _first_value(pairs, b"\x5b" + b"\xff" * 8))
    yield ("text-claims-2-62", "a key that claims 2^62 bytes.",
           lambda pairs: b"\xa1\x7b" + HUGE + b"c")
    yield ("nested-maps-2000", "2000 maps inside each other; a reader must not run out of stack.",
           lambda pairs: b"\xa1\x61a" * 2000 + b"\0")
    yield ("nested-arrays-2000", "2000 arrays inside each other.",
           lambda pairs: b"\x81" * 2000 + b"\0")
    yield ("nested-tags-2000", "2000 tags before each other.",
           lambda pairs: b"\xc1" * 2000 + b"\0")


def metadata_faults() -> Iterator[tuple[str, str, bytes]]:
    """Encoded metadata that must be rejected."""
    def one(raw_value: bytes, key: bytes = encode("x")) -> bytes:
        return b"\xa1" + key + raw_value

    def two(first: str, second: str) -> bytes:
        return b"\xa2" + encode(first) + encode(1) + encode(second) + encode(2)

    yield "array", "an array instead of the map.", b"\x80"
    yield "bytes", "a byte string instead of the map.", encode(b"")
    yield "null", "null instead of the map.", b"\xf6"
    yield "duplicate-key", "a key twice.", two("x", "x")
    yield ("duplicate-proto", "the key __proto__ twice: in some languages it does not show as a "
           "key at all.", two("__proto__", "__proto__"))
    yield "wrong-order", "keys in the wrong order.", two("b", "a")
    yield ("alphabetic-order", "keys in alphabetic order: the order is that of the encodings, in "
           "which the shorter key is first.", two("aa", "b"))
    yield ("utf16-order", "keys of equal length in the order of UTF-16 code units, not of bytes.",
           two("\U0001f600", "\uff5ea"))
    yield ("integer-like-order", "the keys '10' and '9' as a language that sorts them as text "
           "would write them.", two("10", "9"))

    for name, what, raw in (
        ("array-value", "an array", b"\x81\x01"),
        ("map-value", "a map", b"\xa0"),
        ("nested-map-value", "a map with a key", b"\xa1\x61y\x01"),
        ("false", "false", b"\xf4"),
        ("null-value", "null", b"\xf6"),
        ("undefined", "undefined", b"\xf7"),
        ("simple", "simple value 32", b"\xf8\x20"),
        ("negative", "-1", b"\x20"),
        ("half-float", "the float 1.0 in its shortest form", b"\xf9\x3c\x00"),
        ("double-float", "the float 1.5 as a double", bytes.fromhex("fb3ff8000000000000")),
        ("nan", "not a number", b"\xf9\x7e\x00"),
        ("tagged", "a date with its tag", b"\xc1\x05"),
        ("bignum", "a big number with its tag", b"\xc2\x41\x01"),
        ("uint-2-53", "2^53, one more than the largest integer",
         b"\x1b" + (2**53).to_bytes(8, "big")),
        ("uint-2-64", "2^64 - 1", b"\x1b" + b"\xff" * 8),
        ("long-uint-5", "5 in two bytes", b"\x18\x05"),
        ("long-uint-200", "200 in three bytes", b"\x19\x00\xc8"),
        ("long-uint-60000", "60000 in five bytes", b"\x1a\x00\x00\xea\x60"),
        ("long-uint-4-billion", "4294967295 in nine bytes",
         b"\x1b" + (2**32 - 1).to_bytes(8, "big")),
        ("long-text", "text with its length in three bytes", b"\x79\x00\x01a"),
        ("indefinite-text", "text of indefinite length", b"\x7f\x61a\xff"),
        ("indefinite-map", "a map of indefinite length", b"\xbf\xff"),
        ("utf8-lone-byte", "text with a byte that UTF-8 never uses", b"\x61\xff"),
        ("utf8-overlong", "text with an overlong encoding of '/'", b"\x62\xc0\xaf"),
        ("utf8-surrogate", "text with an encoded surrogate", b"\x63\xed\xa0\x80"),
        ("utf8-pair-of-surrogates", "text with a pair of encoded surrogates",
         b"\x66\xed\xa0\xbd\xed\xb8\x80"),
        ("utf8-cut", "text that ends inside a character", b"\x62\xe2\x82"),
        ("utf8-past-unicode", "text with a code point past U+10FFFF", b"\x64\xf4\x90\x80\x80"),
        ("text-claims-2-62", "text that claims 2^62 bytes", b"\x7b" + HUGE),
    ):
        yield name, f"the value is {what}.", one(raw)

    yield "integer-key", "an integer as a key.", one(encode(1), encode(1))
    yield "bytes-key", "a byte string as a key.", one(encode(1), encode(b"x"))
    yield "null-key", "null as a key.", one(encode(1), b"\xf6")
    yield "bad-utf8-key", "a key that is not UTF-8.", one(encode(1), b"\x61\xff")
    yield "empty-key", "a key of no bytes; keys have 1 to 255.", one(encode(1), encode(""))
    yield "key-256", "a key of 256 bytes; keys have 1 to 255.", one(encode(1), encode("k" * 256))
    yield ("key-256-bytes-128-letters", "a key of 128 letters but 256 bytes: the limit counts "
           "bytes.", one(encode(1), encode("\u00e9" * 128)))
    yield ("too-large", "65,537 bytes encoded, one more than the limit.",
           one(encode(b"x" * (65_537 - 1 - 2 - 3))))


def _first_value(pairs: Pairs, raw: bytes) -> bytes:
    return cbor_map([(pairs[0][0], raw), *pairs[1:]])


def _long_string(raw: bytes) -> bytes:
    """A byte string of up to 255 bytes with a length field of nine bytes."""
    at = 1 if raw[0] < 0x58 else 2
    return b"\x5b" + (len(raw) - at).to_bytes(8, "big") + raw[at:]
