"""root-*: the plaintext of a root breaks a rule."""

from idk_reference.cbor_profile import MAX_UINT, encode

from .forge import (
    CHUNK, FIVE_LEAVES, HELLO, LAST, LEAF_A, LEAF_B, Draft, node, row, secret, tree_draft,
)

SIZE = 4 * CHUNK + 1
CHILDREN = [LEAF_A.blob, LEAF_B.blob, LAST.blob]
REFERENCES = row(FIVE_LEAVES)


def add(suite):
    _plaintext(suite)
    _inline(suite)
    _tree(suite)


def _plaintext(suite):
    good = Draft("root")
    plaintext = good.plaintext()
    cbor = plaintext[4:]

    def raw(name, note, data):
        suite.fault(f"root-{name}", note, "root", Draft(f"root-{name}").blob(data))

    def length(value: int) -> bytes:
        return value.to_bytes(4, "big")

    for size in (0, 1, 3):
        raw(f"plaintext-{size}-bytes", f"A plaintext of {size} bytes has no length field.",
            plaintext[:size])
    raw("length-only", "A length of zero and no map.", length(0))
    raw("length-past-end", "The map's length runs one byte past the end.",
        length(len(cbor) + 1) + cbor)
    raw("length-2-32", "The map's length is 2^32 - 1.", b"\xff" * 4 + cbor)
    raw("length-2-31", "The map's length is 2^31: negative in signed arithmetic.",
        length(2**31) + cbor)
    raw("length-one-less", "The map's length leaves out its last byte.",
        length(len(cbor) - 1) + cbor)
    raw("length-little-endian", "The map's length is little-endian.",
        length(len(cbor))[::-1] + cbor)
    raw("padding-first-byte", "The first byte of the padding is not zero.",
        plaintext + b"\x01" + bytes(15))
    raw("padding-last-byte", "The last byte of the padding is not zero.",
        plaintext + bytes(15) + b"\x80")
    raw("padding-only-byte", "The only byte of padding is not zero.", plaintext + b" ")


def _inline(suite):
    def inline(name, note, **fields):
        fields = {key: encode(value) for key, value in fields.items()}
        suite.fault(f"root-{name}", note, "root", Draft(f"root-{name}", fields=fields).blob())

    inline("inline-n-too-large", "n is one more than the bytes of b.", n=len(HELLO) + 1)
    inline("inline-n-too-small", "n is one less than the bytes of b.", n=len(HELLO) - 1)
    inline("inline-n-zero", "n is zero, b is not empty.", n=0)
    inline("inline-b-empty", "b is empty, n is not zero.", b=b"")
    inline("inline-k-18", "Content without a tree, and k = 18.", k=18)
    inline("inline-k-22", "Content without a tree, and the usual k.", k=22)
    inline("inline-p-1", "Content without a tree, and p = 1.", p=1)
    inline("inline-b-text", "b is text.", b="hello, world")
    inline("inline-d-text", "d is text.", d="0")
    inline("inline-d-bytes", "d is an empty byte string.", d=b"")
    inline("inline-k-bytes", "k is a byte string.", k=b"\0")
    inline("inline-m-text", "m is text.", m="")
    inline("inline-m-uint", "m is an integer.", m=0)
    inline("inline-n-text", "n is text.", n="12")
    inline("inline-n-bytes", "n is a byte string.", n=b"\x0c")
    inline("inline-p-text", "p is text.", p="")
    for name, value in (("2-53", 2**53), ("2-64", 2**64 - 1)):
        draft = Draft(f"root-n-{name}", fields={"n": b"\x1b" + value.to_bytes(8, "big")})
        suite.fault(f"root-n-{name}", "n is past 2^53 - 1.", "root", draft.blob())
    draft = Draft("root-inline-n-long", fields={"n": b"\x18\x0c"})
    suite.fault("root-inline-n-long", "n = 12 in two bytes instead of one.", "root", draft.blob())
    draft = Draft("root-n-float", fields={"n": b"\xf9\x4a\x00"})
    suite.fault("root-n-float", "n is the float 12.0.", "root", draft.blob())

    content = bytes(2**20 + 1)
    inline("inline-over-1-mib", "1 MiB and one byte without a tree.", b=content, n=len(content))


def _tree(suite):
    def tree(name, note, references=REFERENCES, size=SIZE, children=CHILDREN, **shape):
        draft = tree_draft(f"root-{name}", references, size, **shape)
        suite.fault(f"root-{name}", note, "root", draft.blob(), children=children)

    tree("tree-of-1-mib", "A tree (d = 1) for exactly 1 MiB, which belongs into b.",
         row(FIVE_LEAVES[:4]), 2**20)
    tree("tree-of-one-byte", "A tree (d = 1) for one byte.", row([LAST]), 1)
    tree("tree-of-nothing", "A tree (d = 1) without content.", b"", 0)
    tree("depth-0", "1 MiB and one byte, and d = 0: the references would be the content.",
         depth=0)
    tree("depth-2-not-minimal", "d = 2 over a single node, where d = 1 suffices.",
         row([node(FIVE_LEAVES)]), depth=2, children=[*CHILDREN, node(FIVE_LEAVES).blob])
    outer = node([node(FIVE_LEAVES)])
    tree("depth-3-not-minimal", "d = 3 where d = 1 suffices.", row([outer]), depth=3,
         children=[*CHILDREN, node(FIVE_LEAVES).blob, outer.blob])
    outermost = node([outer])
    tree("depth-4", "d = 4: deeper than any tree.", row([outermost]), depth=4,
         children=[*CHILDREN, node(FIVE_LEAVES).blob, outer.blob, outermost.blob])
    tree("depth-1-for-4097-leaves", "d = 1 with 4097 references, one more than a level may have "
         "in the root.", row([LAST]) * 4097, 4096 * CHUNK + 1, children=())
    tree("depth-2-53", "d = 2^53 - 1.", depth=MAX_UINT)

    for k in (0, 1, 17, 25, 32, 50, 64, MAX_UINT):
        name = f"k-{k}" if k < MAX_UINT else "k-2-53"
        chunk = 2 ** min(k, 60)
        leaves = min(-(-SIZE // chunk), 16)  # as many references as that k would require
        tree(name, f"k = {k}; chunks have 2^18 to 2^24 bytes.", row([LEAF_A]) * leaves,
             chunk_log2=k)

    tree("references-missing", "Four references where five leaves belong.", REFERENCES[:-64])
    tree("references-extra", "Six references where five leaves belong.", REFERENCES + bytes(64))
    tree("references-short", "The last reference lacks a byte.", REFERENCES[:-1])
    tree("references-long", "A byte follows the last reference.", REFERENCES + b"\0")
    tree("references-half", "The last reference has no key.", REFERENCES[:-32])
    tree("references-none", "No references at all.", b"")
    tree("references-ignore-padding", "Five references, but p adds a sixth leaf.",
         padding=CHUNK)
    tree("references-for-padding", "Six references, although nothing pads the stream.",
         REFERENCES + bytes(row([LAST])))

    tree("padding-over-content", "p is one more than n.", REFERENCES + row([LEAF_A]) * 4,
         padding=SIZE + 1)
    huge = b"".join(secret(f"huge/{i}") for i in range(64))
    tree("stream-overflow", "n + p is 2^53: one more than a stream may have.", huge,
         2**52, padding=2**52, depth=3, chunk_log2=24, children=())
    tree("stream-far-overflow", "n and p are both 2^53 - 1; their sum is not exact in floating "
         "point.", huge * 2, MAX_UINT, padding=MAX_UINT, depth=3, chunk_log2=24, children=())

    root = Draft("root-content-is-plaintext/inner")
    suite.ok("ok-content-is-a-root", "The content is itself a root's blob, for the same reader. "
             "It is content.", Draft("ok-content-is-a-root", content=root.blob()).blob(),
             root.blob())
