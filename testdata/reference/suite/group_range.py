"""range-*: parts of the content. A range touches its own chunks and no others."""

from idk_reference import keys

from .collect import Zeros
from .forge import (
    CHUNK, CONTENT_A, CONTENT_B, FIVE_CONTENT, FIVE_LEAVES, FOUR_CONTENT, FOUR_LEAVES, HELLO, LAST,
    LEAF_A, LEAF_B, ZERO_BYTE_LEAF, ZERO_LEAF, ZERO_NODE, Child, Draft, leaf, node, row,
    seal_raw, tree_draft,
)

SIZE = len(FIVE_CONTENT)
BLOBS = [LEAF_A.blob, LEAF_B.blob, LAST.blob]


def add(suite):
    _inline(suite)
    _five_leaves(suite)
    _faults(suite)
    _padding(suite)
    _far_away(suite)


def _inline(suite):
    blob = Draft("range-inline").blob()
    for name, note, span in (
        ("inline-middle", "Some bytes of a content in the root.", (3, 8)),
        ("inline-whole", "All bytes of a content in the root, as a range.", (0, 12)),
        ("inline-empty", "An empty range in the middle.", (5, 5)),
    ):
        suite.ok(f"range-{name}", note, blob, HELLO[slice(*span)], size=12, span=span)
    for name, note, span in (
        ("inline-past-end", "The range ends one byte past the content.", (3, 13)),
        ("inline-reversed", "The range ends before it starts.", (8, 3)),
    ):
        suite.fault(f"range-{name}", note, "usage", blob, span=span)
    empty = Draft("range-of-nothing", content=b"").blob()
    suite.ok("range-of-nothing", "The empty range of an empty content.", empty, b"", span=(0, 0))
    suite.fault("range-of-nothing-one-byte", "The first byte of an empty content.", "usage", empty,
                span=(0, 1))


def _five_leaves(suite):
    blob = tree_draft("range", row(FIVE_LEAVES), SIZE).blob()
    c = CHUNK
    for name, note, span, needed in (
        ("empty-at-start", "An empty range: no leaf is fetched, and none is there.", (0, 0), []),
        ("empty-in-middle", "An empty range inside a leaf that is not there.", (c + 5, c + 5), []),
        ("empty-at-end", "An empty range at the end; no leaf is there.", (SIZE, SIZE), []),
        ("first-byte", "The first byte. Only the first leaf is there.", (0, 1), [LEAF_A]),
        ("last-byte", "The last byte. Only the last leaf is there.", (SIZE - 1, SIZE), [LAST]),
        ("one-chunk", "Exactly the second chunk. Only that leaf is there.", (c, 2 * c), [LEAF_B]),
        ("last-of-chunk", "The last byte of the first chunk. Only that leaf is there.",
         (c - 1, c), [LEAF_A]),
        ("first-of-chunk", "The first byte of the second chunk. Only that leaf is there.",
         (c, c + 1), [LEAF_B]),
        ("across-two-chunks", "Two bytes, one from each of two chunks.", (c - 1, c + 1),
         [LEAF_A, LEAF_B]),
        ("across-four-chunks", "All bytes but the first and the last: four leaves, not the fifth.",
         (1, SIZE - 1), [LEAF_A, LEAF_B]),
        ("into-last-chunk", "The last two bytes, across a chunk's end.", (SIZE - 2, SIZE),
         [LEAF_B, LAST]),
        ("whole", "The whole content as a range.", (0, SIZE), [LEAF_A, LEAF_B, LAST]),
    ):
        suite.ok(f"range-{name}", note, blob, FIVE_CONTENT[slice(*span)], size=SIZE, depth=1,
                 span=span, children=[c.blob for c in needed])
    for name, note, span in (
        ("past-end", "The range ends one byte past the content.", (0, SIZE + 1)),
        ("starts-past-end", "The range lies past the content.", (SIZE + 1, SIZE + 1)),
        ("reversed", "The range ends before it starts.", (10, 9)),
        ("negative", "The range starts at -1; in some languages that counts from the end.",
         (-1, 5)),
        ("negative-end", "The range ends at -1.", (0, -1)),
        ("end-2-53", "The range ends at 2^53 - 1.", (0, 2**53 - 1)),
    ):
        suite.fault(f"range-{name}", note, "usage", blob, span=span, children=BLOBS)


def _faults(suite):
    c = CHUNK
    blob = tree_draft("range", row(FIVE_LEAVES), SIZE).blob()
    # The store holds another leaf that opens with the right key.
    header = LAST.blob[6:43]
    forged = seal_raw("leaf", LAST.key, header, b"?")
    suite.fault("range-leaf-opens-wrong-hash", "Under the last leaf's name lies another leaf with "
                "the same key: it opens, but is not what the address of the root stands for.",
                "address", blob, span=(SIZE - 1, SIZE), children=BLOBS,
                stored={keys.sha256(LAST.blob).hex(): forged})
    suite.fault("range-second-leaf-missing", "The range begins in a good leaf and ends in one that "
                "is not there.", "not-found", blob, span=(c - 3, c + 3), children=[LEAF_A.blob],
                released=CONTENT_A[-3:])
    suite.fault("range-second-leaf-exchanged", "The range begins in a good leaf; the store answers "
                "the next one with the first.", "address", blob, span=(c - 3, c + 3),
                children=BLOBS, stored={keys.sha256(LEAF_B.blob).hex(): LEAF_A.blob},
                released=CONTENT_A[-3:])
    suite.ok("range-beside-a-damaged-leaf", "A damaged leaf outside the range does not matter.",
             blob, CONTENT_A[:9], size=SIZE, depth=1, span=(0, 9), children=BLOBS,
             stored={keys.sha256(LEAF_B.blob).hex(): b"damaged"})
    long = leaf(b"!?")
    draft = tree_draft("range-last-leaf-long", row([*FOUR_LEAVES, long]), SIZE)
    suite.fault("range-last-leaf-long", "The range is one byte, and the leaf that holds it has "
                "another byte too many.", "tree", draft.blob(), span=(SIZE - 1, SIZE),
                children=[long.blob])
    wrong = Child(LEAF_A.key, LAST.blob)
    draft = tree_draft("range-key-wrong", row([*FOUR_LEAVES, wrong]), SIZE)
    suite.fault("range-key-wrong", "The last reference has another leaf's key.", "commit",
                draft.blob(), span=(SIZE - 1, SIZE), children=[LAST.blob])


def _padding(suite):
    last = leaf(b"!" + bytes(5))
    draft = tree_draft("range-padding", row([*FOUR_LEAVES, last]), SIZE, padding=5)
    blob, blobs = draft.blob(), [LEAF_A.blob, LEAF_B.blob, last.blob]
    suite.ok("range-up-to-padding", "The last byte before the padding.", blob, b"!", size=SIZE,
             depth=1, span=(SIZE - 1, SIZE), children=[last.blob])
    for name, note, span in (
        ("into-padding", "The range ends inside the padding, which is not content.",
         (SIZE - 1, SIZE + 3)),
        ("inside-padding", "The range lies inside the padding.", (SIZE + 1, SIZE + 3)),
        ("to-end-of-stream", "The range ends with the padding.", (0, SIZE + 5)),
        ("empty-inside-padding", "An empty range inside the padding.", (SIZE + 1, SIZE + 1)),
    ):
        suite.fault(f"range-{name}", note, "usage", blob, span=span, children=blobs)

    bad = leaf(b"!\0\0\0\0\x01")
    draft = tree_draft("range-padding-not-zero", row([*FOUR_LEAVES, bad]), SIZE, padding=5)
    suite.fault("range-padding-not-zero", "The range ends before the padding, but its chunk holds "
                "padding that is not zero: no byte of the chunk is released.", "tree",
                draft.blob(), span=(SIZE - 1, SIZE), children=[bad.blob])
    suite.fault("range-padding-not-zero-after-good", "The range begins in a good leaf and ends in "
                "one with padding that is not zero.", "tree", draft.blob(), span=(SIZE - 3, SIZE),
                children=[LEAF_B.blob, bad.blob], released=CONTENT_B[-2:])

    five, content = [*FOUR_LEAVES, LEAF_A], FOUR_CONTENT + CONTENT_A
    draft = tree_draft("range-beside-padding-leaf", row([*five, leaf(bytes(3))]), len(content),
                       padding=3)
    suite.ok("range-beside-padding-leaf", "The whole content as a range. The leaf after it is all "
             "padding and not in the store: the range does not touch it.", draft.blob(), content,
             depth=1, span=(0, len(content)), children=[LEAF_A.blob, LEAF_B.blob])


def _far_away(suite):
    """Positions that need 64 bits, in contents that are small to store because they repeat."""
    last_node = node([ZERO_BYTE_LEAF])
    size = 4096 * CHUNK + 1
    draft = tree_draft("range-gigabyte", row([ZERO_NODE, last_node]), size, depth=2)
    blobs = [c.blob for c in (ZERO_NODE, last_node, ZERO_LEAF, ZERO_BYTE_LEAF)]
    for name, note, span, needed in (
        ("two-levels-last-byte", "The last byte of 1 GiB and a byte; only its branch is there.",
         (size - 1, size), [blobs[1], blobs[3]]),
        ("two-levels-across-nodes", "Two bytes, one from each of two nodes.", (size - 2, size),
         blobs),
        ("two-levels-middle", "Bytes from two leaves in the middle of the first node.",
         (CHUNK * 2048 - 5, CHUNK * 2048 + 5), [blobs[0], blobs[2]]),
        ("two-levels-empty", "An empty range; no child is there.", (size - 1, size - 1), []),
    ):
        suite.ok(f"range-{name}", note, draft.blob(), Zeros(span[1] - span[0]), size=size, depth=2,
                 span=span, children=needed)

    # 2^52 zero bytes and one more: 2^34 + 1 leaves, three levels.
    big_node = node([ZERO_NODE] * 4096)
    thin_node = node([last_node])
    size = 2**52 + 1
    references = row([big_node]) * 1024 + row([thin_node])
    draft = tree_draft("range-4-pebibyte", references, size, depth=3)
    blobs += [big_node.blob, thin_node.blob]
    for name, note, span in (
        ("four-pebibytes-last-byte", "The last byte of 4 PiB and a byte, at position 2^52.",
         (size - 1, size)),
        ("four-pebibytes-across", "Three bytes around position 2^52, through two branches of "
         "three levels.", (size - 3, size)),
        ("four-pebibytes-at-2-31", "Around position 2^31, where signed 32-bit arithmetic ends.",
         (2**31 - 3, 2**31 + 3)),
        ("four-pebibytes-at-2-32", "Around position 2^32, where 32-bit arithmetic ends.",
         (2**32 - 3, 2**32 + 3)),
        ("four-pebibytes-at-leaf-2-32", "Around leaf number 2^32.",
         (2**32 * CHUNK - 3, 2**32 * CHUNK + 3)),
    ):
        suite.ok(f"range-{name}", note, draft.blob(), Zeros(span[1] - span[0]), size=size, depth=3,
                 span=span, children=blobs)
    suite.fault("range-four-pebibytes-past-end", "One byte past the end of 4 PiB and a byte.",
                "usage", draft.blob(), span=(size - 1, size + 1), children=blobs)
