"""tree-*: children that are missing, misplaced, too long, too short."""

from idk_reference import keys
from idk_reference.cbor_profile import MAX_UINT
from idk_reference.tree import Reference

from .collect import Zeros
from .forge import (
    CHUNK, CONTENT_A, CONTENT_B, FIVE_CONTENT, FIVE_LEAVES, FOUR_CONTENT, FOUR_LEAVES, LAST,
    LEAF_A, LEAF_B, ZERO_BYTE_LEAF, ZERO_LEAF, ZERO_NODE, Child, Draft, child, leaf, node, row,
    secret, tree_draft,
)

SIZE = len(FIVE_CONTENT)
BLOBS = [LEAF_A.blob, LEAF_B.blob, LAST.blob]
TWO_LEVELS = 4096 * CHUNK + 1  # one leaf more than a root can refer to
LAST_BYTE = (TWO_LEVELS - 1, TWO_LEVELS)


def hashed(c: Child) -> str:
    return keys.sha256(c.blob).hex()


def add(suite):
    _stores(suite)
    _references(suite)
    _lengths(suite)
    _padding(suite)
    _nodes(suite)
    _content_that_looks_like_blobs(suite)


def _stores(suite):
    """The root is valid; the store has wrong blobs."""
    good = tree_draft("tree", row(FIVE_LEAVES), SIZE).blob()

    def store(name, note, code, released, blobs, stored=None):
        suite.fault(f"tree-{name}", note, code, good, released=released, children=blobs,
                    stored=stored)

    store("first-leaf-missing", "The first leaf is not in the store.", "not-found", b"",
          [LEAF_B.blob, LAST.blob])
    store("second-leaf-missing", "The second leaf is not in the store.", "not-found", CONTENT_A,
          [LEAF_A.blob, LAST.blob])
    store("last-leaf-missing", "The last leaf is not in the store.", "not-found", FOUR_CONTENT,
          [LEAF_A.blob, LEAF_B.blob])
    store("all-leaves-missing", "Only the root is in the store.", "not-found", b"", [])
    store("leaves-exchanged", "The store exchanged two good leaves.", "address", b"", BLOBS,
          {hashed(LEAF_A): LEAF_B.blob, hashed(LEAF_B): LEAF_A.blob})
    store("second-leaf-is-first", "The store answers the second leaf with the first.", "address",
          CONTENT_A, BLOBS, {hashed(LEAF_B): LEAF_A.blob})
    store("last-leaf-damaged", "A bit of the last leaf is flipped under its old name.", "address",
          FOUR_CONTENT, BLOBS, {hashed(LAST): LAST.blob[:-1] + bytes([LAST.blob[-1] ^ 1])})
    store("last-leaf-stored-empty", "The last leaf is stored as no bytes.", "address", FOUR_CONTENT,
          BLOBS, {hashed(LAST): b""})
    store("last-leaf-garbage", "Somebody planted garbage under the last leaf's name.", "address",
          FOUR_CONTENT, BLOBS, {hashed(LAST): b"garbage"})
    store("last-leaf-is-root", "The store answers the last leaf with the root.", "address",
          FOUR_CONTENT, BLOBS, {hashed(LAST): good})


def _tree(suite, name, note, code, leaves, released, size=SIZE, **shape):
    draft = tree_draft(f"tree-{name}", row(leaves), size, **shape)
    suite.fault(f"tree-{name}", note, code, draft.blob(), released=released,
                children=[c.blob for c in leaves])


def _references(suite):
    """The root has wrong references."""
    def references(name, note, code, references, released, blobs=BLOBS):
        draft = tree_draft(f"tree-{name}", b"".join(map(bytes, references)), SIZE)
        suite.fault(f"tree-{name}", note, code, draft.blob(), released=released, children=blobs)

    a, b, last = LEAF_A.reference, LEAF_B.reference, LAST.reference
    references("references-first-and-last-swapped", "First and last reference are swapped: the "
               "first leaf has one byte.", "tree", [last, b, a, b, a], b"")
    references("references-end-swapped", "The last two references are swapped: the fourth leaf "
               "has one byte.", "tree", [a, b, a, last, b], CONTENT_A + CONTENT_B + CONTENT_A)
    references("reference-keys-swapped", "The keys of the first two references are swapped.",
               "commit", [Reference(a.address, b.key), Reference(b.address, a.key), a, b, last],
               b"")
    references("reference-key-first-then-address", "The key stands before the address.",
               "not-found", [Reference(r.key, r.address) for r in (a, b, a, b, last)], b"")
    references("reference-key-wrong", "The last reference has a wrong key.", "commit",
               [a, b, a, b, Reference(last.address, secret("wrong"))], FOUR_CONTENT)
    references("reference-key-zero", "The last reference has an all-zero key.", "commit",
               [a, b, a, b, Reference(last.address, bytes(32))], FOUR_CONTENT)
    references("reference-address-wrong", "The last reference names nothing in the store.",
               "not-found", [a, b, a, b, Reference(secret("nowhere"), last.key)], FOUR_CONTENT)
    references("reference-address-zero", "The last reference has an all-zero address.",
               "not-found", [a, b, a, b, Reference(bytes(32), last.key)], FOUR_CONTENT)
    swapped = row([LEAF_B, LEAF_A, *FIVE_LEAVES[2:]])
    draft = tree_draft("tree-references-equal-lengths-swapped", swapped, SIZE)
    suite.ok("tree-references-equal-lengths-swapped", "A sender who swaps two references to full "
             "leaves wrote another content; that is not a fault.", draft.blob(),
             CONTENT_B + CONTENT_A + CONTENT_A + CONTENT_B + b"!", depth=1, children=BLOBS)

    inner = node(FIVE_LEAVES)
    _tree(suite, "node-instead-of-leaf", "The last reference names a node of the whole content.",
          "auth", [*FOUR_LEAVES, inner], FOUR_CONTENT)
    _tree(suite, "node-under-leaf-kind", "The last leaf's bytes were sealed as a node.", "auth",
          [*FOUR_LEAVES, child("node", b"!")], FOUR_CONTENT)


def _lengths(suite):
    """Leaves that open, but do not have the length that their position requires."""
    for name, note, last in (
        ("long", "The last leaf has two bytes where one belongs.", b"!?"),
        ("long-zero", "A zero byte follows the last leaf's only byte.", b"!\0"),
        ("empty", "The last leaf has no bytes where one belongs.", b""),
        ("full", "The last leaf is a full one where one byte belongs.", CONTENT_A),
    ):
        _tree(suite, f"last-leaf-{name}", note, "tree", [*FOUR_LEAVES, leaf(last)], FOUR_CONTENT)
    _tree(suite, "second-leaf-short", "The second leaf has one byte instead of 2^18.", "tree",
          [LEAF_A, LAST, LEAF_A, LEAF_B, LAST], CONTENT_A)
    _tree(suite, "second-leaf-empty", "The second leaf is empty; the bytes of the others would "
          "move.", "tree", [LEAF_A, leaf(b""), LEAF_A, LEAF_B, LAST], CONTENT_A)


def _padding(suite):
    """The stream continues after the content with padding, which must be zero."""
    for name, note, last, padding in (
        ("first-byte", "The first byte of the padding is not zero.", b"!\x01\0\0\0\0", 5),
        ("last-byte", "The last byte of the padding is not zero.", b"!\0\0\0\0\x80", 5),
        ("all-bytes", "The padding repeats the content.", b"!!!!!!", 5),
        ("only-byte", "The only byte of the padding is a space.", b"! ", 1),
    ):
        _tree(suite, f"padding-{name}", note, "tree", [*FOUR_LEAVES, leaf(last)], FOUR_CONTENT,
              padding=padding)
    _tree(suite, "padding-short", "The last leaf ends inside the padding.", "tree",
          [*FOUR_LEAVES, leaf(b"!\0\0\0\0")], FOUR_CONTENT, padding=5)
    _tree(suite, "padding-missing", "The last leaf ends with the content; the padding is not "
          "there.", "tree", [*FOUR_LEAVES, LAST], FOUR_CONTENT, padding=5)
    _tree(suite, "padding-long", "The last leaf has more padding than p says.", "tree",
          [*FOUR_LEAVES, leaf(b"!" + bytes(6))], FOUR_CONTENT, padding=5)

    # A leaf of only padding, after five full leaves of content.
    five, content = [*FOUR_LEAVES, LEAF_A], FOUR_CONTENT + CONTENT_A
    _tree(suite, "padding-leaf-not-zero", "The last leaf is all padding, and not zero. A full read "
          "answers for the whole stream, after all content was released.", "tree",
          [*five, leaf(b"\0\0\x01")], content, size=len(content), padding=3)
    draft = tree_draft("tree-padding-leaf-missing", row([*five, leaf(bytes(3))]), len(content),
                       padding=3)
    suite.fault("tree-padding-leaf-missing", "The last leaf is all padding, and not in the store. "
                "A full read answers for the whole stream.", "not-found", draft.blob(),
                released=content, children=[LEAF_A.blob, LEAF_B.blob])


def _nodes(suite):
    """4097 leaves: a root and two nodes; all full leaves are one blob of zeros."""
    last_node = node([ZERO_BYTE_LEAF])
    blobs = [ZERO_LEAF.blob, ZERO_NODE.blob, ZERO_BYTE_LEAF.blob]

    def nodes(name, note, code, second, extra=(), span=LAST_BYTE, **more):
        draft = tree_draft(f"tree-{name}", row([ZERO_NODE, second]), TWO_LEVELS, depth=2)
        suite.fault(f"tree-{name}", note, code, draft.blob(), span=span,
                    children=[*blobs, second.blob, *extra], **more)

    nodes("node-long", "The second node has two references where one belongs.", "tree",
          node([ZERO_BYTE_LEAF, ZERO_BYTE_LEAF]))
    nodes("node-empty", "The second node has no references.", "tree", node([]))
    nodes("node-cut", "The second node's only reference lacks a byte.", "tree",
          child("node", row([ZERO_BYTE_LEAF])[:-1]))
    nodes("node-byte-more", "A byte follows the second node's only reference.", "tree",
          child("node", row([ZERO_BYTE_LEAF]) + b"\0"))
    nodes("node-full", "The second node is a full one where one reference belongs.", "tree",
          ZERO_NODE)
    nodes("node-sealed-as-leaf", "The second node was sealed under the key of a leaf.", "auth",
          child("node", row([ZERO_BYTE_LEAF]), sealed_as="leaf"))
    nodes("leaf-instead-of-node", "The leaf stands where the second node belongs.", "auth",
          ZERO_BYTE_LEAF)
    nodes("node-too-deep", "The second node refers to a node instead of a leaf.", "auth",
          node([last_node]), [last_node.blob])
    nodes("node-leaf-key-wrong", "The second node has a wrong key for its leaf.", "commit",
          child("node", bytes(Reference(ZERO_BYTE_LEAF.reference.address, secret("wrong")))))
    nodes("node-leaf-missing", "The second node refers to a leaf that is not in the store.",
          "not-found", child("node", bytes(Reference(secret("nowhere"), secret("wrong")))))
    nodes("node-leaf-long", "The leaf under the second node has a byte too many.", "tree",
          node([leaf(bytes(2))]), [leaf(bytes(2)).blob])
    nodes("node-key-wrong", "The root has a wrong key for the second node.", "commit",
          Child(secret("wrong"), last_node.blob))
    nodes("last-leaf-after-a-gigabyte", "The last of 4097 leaves has a byte too many; everything "
          "before it is good and is released.", "tree", node([leaf(bytes(2))]),
          [leaf(bytes(2)).blob], span=None, slow=True, released=Zeros(TWO_LEVELS - 1))

    draft = tree_draft("tree-nodes-swapped", row([last_node, ZERO_NODE]), TWO_LEVELS, depth=2)
    suite.fault("tree-nodes-swapped", "The two nodes are swapped: the first has one reference "
                "where 4096 belong.", "tree", draft.blob(), children=[*blobs, last_node.blob])
    draft = tree_draft("tree-node-missing", row([ZERO_NODE, last_node]), TWO_LEVELS, depth=2)
    suite.fault("tree-node-missing", "The first node is not in the store; its leaves are.",
                "not-found", draft.blob(), children=[*blobs[::2], last_node.blob])

    huge = b"".join(secret(f"tree/huge/{i}") for i in range(64))
    draft = tree_draft("tree-largest-claim", huge, MAX_UINT, depth=3, chunk_log2=24)
    suite.fault("tree-largest-claim", "A legal root of the largest content there can be, 2^53 - 1 "
                "bytes. A reader must not make room for it; its children are not there.",
                "not-found", draft.blob())


def _content_that_looks_like_blobs(suite):
    inner = Draft("tree-leaf-is-a-root/inner").blob()
    for name, note, last in (
        ("a-root", "The last leaf's content is a good root for the same reader. It is content.",
         inner),
        ("a-leaf", "The last leaf's content is itself a leaf. It is content.", LAST.blob),
        ("references", "The last leaf's content is a row of references. It is content.",
         row(FIVE_LEAVES)),
    ):
        leaves = [*FOUR_LEAVES, leaf(last)]
        content = FOUR_CONTENT + last
        draft = tree_draft(f"tree-leaf-is-{name}", row(leaves), len(content))
        suite.ok(f"tree-leaf-is-{name}", note, draft.blob(), content, depth=1,
                 children=[c.blob for c in leaves])
