"""ok-*: cases at the limits of the format that must succeed."""

from idk_reference.cbor_profile import MAX_UINT, encode
from idk_reference.padme import padme

from .collect import Zeros
from .forge import (
    ALICE, BOB, CHUNK, CONTENT_A, FIVE_CONTENT, FIVE_LEAVES, FOUR_CONTENT, FOUR_LEAVES, HELLO,
    LEAF_A, ZERO_BYTE_LEAF, ZERO_LEAF, ZERO_NODE, Draft, leaf, node, row, tree_draft,
)

GIB = 4096 * CHUNK


def add(suite):
    _inline(suite)
    _metadata(suite)
    _trees(suite)
    _gigabytes(suite)
    _padme(suite)


def _inline(suite):
    def inline(name, note, content, **draft):
        recipients = draft.get("recipients", [ALICE])
        suite.ok(f"ok-{name}", note, Draft(f"ok-{name}", content, **draft).blob(), content,
                 recipients=len(recipients))

    inline("nothing", "No content, n = 0.", b"")
    inline("nothing-padded", "No content, and a root with zeros after its map.", b"", zeros=64)
    inline("one-byte", "One byte.", b"\0")
    inline("hello", "A few bytes for one reader, without padding.", HELLO)
    inline("two-recipients", "A few bytes for two readers.", HELLO, recipients=[ALICE, BOB])
    inline("root-padding-1", "One zero byte after the map: a reader accepts any amount.", HELLO,
           zeros=1)
    inline("root-padding-5000", "5000 zero bytes after the map.", HELLO, zeros=5000)
    inline("1-mib", "Exactly 1 MiB: the largest content in a root.", FOUR_CONTENT)


def _metadata(suite):
    def metadata(name, note, /, **entries):
        draft = Draft(f"ok-metadata-{name}", metadata=entries)
        suite.ok(f"ok-metadata-{name}", note, draft.blob(), HELLO, metadata=entries)

    metadata("all-types", "Text, bytes and an integer.", text="t", bytes=b"\x00\xff", uint=7)
    metadata("reserved", "The reserved keys that say nothing about decoding.",
             name="../../etc/passwd", type="text/plain", mtime=1_700_000_000_000)
    metadata("reserved-odd-types", "Reserved keys with values of other types than usual: the "
             "format only limits the types of all values.", name=b"\xff", type=5, mtime="now")
    metadata("empty-values", "Empty text, empty bytes, zero.", t="", b=b"", u=0)
    metadata("constructor", "A key that every JavaScript object seems to have.",
             constructor="value")
    metadata("proto", "A key that sets the prototype of a JavaScript object.",
             **{"__proto__": "value"})
    metadata("inherited-names", "Names that JavaScript objects and Python dicts inherit.",
             **{name: "x" for name in ("toString", "hasOwnProperty", "valueOf", "__class__",
                                       "__defineGetter__", "then", "prototype", "length")})
    metadata("integer-like-keys", "Keys that look like array indices, which JavaScript puts first.",
             **{"2": 2, "10": 10, "1": 1, "b": 0, "01": 1, "-1": 1})
    metadata("key-order", "Keys whose order by length, then bytes, is not alphabetic.",
             b=1, aa=2, Z=3, a=4, ab=5)
    metadata("key-order-utf16", "Keys of equal length whose order by bytes differs from that by "
             "UTF-16 code units.", **{"\uff5ea": 1, "\U0001f600": 2})
    metadata("byte-order-mark", "Text that begins with a byte order mark, which is kept.",
             name="\ufeffname", **{"\ufeff": "key"})
    metadata("control-characters", "Zero and other control characters.", name="a\0b\x1b\x7f\r\n")
    metadata("not-normalized", "Composed and decomposed letters are two keys.",
             **{"\u00e9": "composed", "e\u0301": "decomposed"})
    metadata("noncharacters", "Code points that are valid UTF-8 and rarely tested.",
             name="\ufffe\uffff\U0010ffff\ue000\ufffd")
    metadata("key-255", "A key of 255 bytes, the most.", **{"k" * 255: 1})
    metadata("key-255-bytes", "A key of 255 bytes in 85 letters.", **{"\u20ac" * 85: 1})
    metadata("uint-edges", "Integers around every change of form, up to 2^53 - 1.",
             **{f"u{i}": value for i, value in enumerate((
                 0, 23, 24, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
                 MAX_UINT - 1, MAX_UINT))})
    metadata("length-edges", "Strings around every change of form.",
             **{f"t{n}": "x" * n for n in (0, 1, 23, 24, 255, 256)},
             **{f"b{n}": b"x" * n for n in (0, 1, 23, 24, 255, 256)})
    metadata("many-keys", "300 keys: the map's own head has three bytes.",
             **{f"{i:03}": i for i in range(300)})
    largest = {"x": b"x" * (65_536 - 1 - 2 - 3)}
    assert len(encode(largest)) == 65_536
    metadata("largest", "65,536 bytes encoded, the most.", **largest)


def _trees(suite):
    def tree(name, note, leaves, content, size=None, **shape):
        draft = tree_draft(f"ok-{name}", row(leaves), len(content), **shape)
        metadata = shape.get("metadata", {})
        suite.ok(f"ok-{name}", note, draft.blob(), content, depth=1, metadata=metadata,
                 children=[c.blob for c in leaves])

    tree("1-mib-plus-1", "1 MiB and one byte: the smallest content in a tree.", FIVE_LEAVES,
         FIVE_CONTENT)
    tree("tree-metadata", "A tree with metadata.", FIVE_LEAVES, FIVE_CONTENT,
         metadata={"name": "tree.bin", "mtime": 1})
    five, content = [*FOUR_LEAVES, LEAF_A], FOUR_CONTENT + CONTENT_A
    tree("five-chunks", "Exactly five chunks.", five, content)
    tree("five-chunks-minus-1", "One byte less than five chunks.",
         [*FOUR_LEAVES, leaf(CONTENT_A[:-1])], content[:-1])
    tree("five-chunks-plus-1", "One byte more than five chunks.", [*five, leaf(b"!")],
         content + b"!")
    tree("padding-1", "One byte of padding: a reader accepts any amount.",
         [*FOUR_LEAVES, leaf(b"!\0")], FIVE_CONTENT, padding=1)
    tree("padding-leaf", "Five full chunks, then a leaf of padding alone.",
         [*five, leaf(bytes(3))], content, padding=3)
    ends_in_zeros = FOUR_CONTENT + b"\0\0"
    tree("content-ends-in-zeros", "Content that ends in zeros, then padding: only n tells where.",
         [*FOUR_LEAVES, leaf(bytes(5))], ends_in_zeros, padding=3)

    size = 2**20 + 1
    stream = 2 * size
    leaves = [ZERO_LEAF] * (stream // CHUNK) + [leaf(bytes(stream % CHUNK))]
    tree("padding-as-long-as-content", "p = n, the most padding there can be.", leaves,
         bytes(size), padding=size)
    stream = padme(size)
    leaves = [ZERO_LEAF] * (stream // CHUNK) + [leaf(bytes(stream % CHUNK))]
    tree("padding-padme", "The padding that a writer adds.", leaves, bytes(size),
         padding=stream - size)

    for k in range(19, 25):
        draft = tree_draft(f"ok-chunk-2-{k}", row([ZERO_LEAF, ZERO_LEAF, ZERO_BYTE_LEAF]),
                           2**(k + 1) + 1, chunk_log2=k)
        suite.ok(f"ok-chunk-2-{k}", f"Chunks of 2^{k} bytes; the last byte, after two of them "
                 "that are not there.", draft.blob(), b"\0", size=2**(k + 1) + 1, depth=1,
                 span=(2**(k + 1), 2**(k + 1) + 1), children=[ZERO_BYTE_LEAF.blob])


def _gigabytes(suite):
    one_level = row([ZERO_LEAF]) * 4096
    draft = tree_draft("ok-4096-leaves", one_level, GIB)
    suite.ok("ok-4096-leaves", "4096 leaves, the most under a root alone; the last bytes.",
             draft.blob(), Zeros(9), size=GIB, depth=1, span=(GIB - 9, GIB),
             children=[ZERO_LEAF.blob])

    last_node = node([ZERO_BYTE_LEAF])
    draft = tree_draft("ok-4097-leaves", row([ZERO_NODE, last_node]), GIB + 1, depth=2)
    children = [c.blob for c in (ZERO_LEAF, ZERO_NODE, last_node, ZERO_BYTE_LEAF)]
    suite.ok("ok-4097-leaves", "4097 leaves need a second level; the last bytes.", draft.blob(),
             Zeros(9), size=GIB + 1, depth=2, span=(GIB - 8, GIB + 1), children=children)
    suite.ok("ok-4097-leaves-whole", "All of 1 GiB and a byte, in bounded memory.", draft.blob(),
             Zeros(GIB + 1), depth=2, children=children, slow=True)


def _padme(suite):
    lengths = {0, 1, 2, 3, 9, 100, 1000, 4000, 2**20 + 1, 3_000_000, 10**9, 10**12, 10**15}
    for exponent in range(2, 54):
        lengths |= {2**exponent - 1, 2**exponent, 2**exponent + 1, 3 * 2**(exponent - 2) + 1}
    pairs = [[length, padme(length)] for length in sorted(lengths) if padme(length) <= 2**53]
    suite.other("padme", "ok-padme", "Lengths and their padded lengths. Shifts of 32 bits fail "
                "from 2^31 on.", pairs=pairs)
