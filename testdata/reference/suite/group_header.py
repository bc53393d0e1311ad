"""header-*: fields of the wrong size, the wrong kind of blob, forbidden points."""

from idk_reference import keys
from idk_reference.cbor_profile import encode

from .forge import (
    ALICE, FIVE_CONTENT, FOUR_CONTENT, FOUR_LEAVES, HELLO, LAST, LEAF_A, Draft, leaf, noise, row,
    slot, tree_draft,
)

P = keys.FIELD_PRIME
ORDER_8 = tuple(
    int.from_bytes(bytes.fromhex(encoding), "little")
    for encoding in (
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    )
)
CANONICAL_LOW_ORDER = {
    "0": 0, "1": 1, "order-8-a": ORDER_8[0], "order-8-b": ORDER_8[1], "p-minus-1": P - 1,
}
TOP_BIT = 2**255


def point(value: int) -> bytes:
    return value.to_bytes(32, "little")


def add(suite):
    _sizes(suite)
    _kinds(suite)
    _points(suite)


def _sizes(suite):
    def field(name, note, field_name, raw):
        draft = Draft(f"header-{name}")
        draft.header[field_name] = raw(draft)
        suite.fault(f"header-{name}", note, "format", draft.blob())

    def commitment(draft):
        return keys.commitment(draft.key)

    field("c-31-bytes", "The commitment lacks its last byte.", "c",
          lambda d: encode(commitment(d)[:31]))
    field("c-33-bytes", "The commitment has a byte too many.", "c",
          lambda d: encode(commitment(d) + b"\0"))
    field("c-empty", "The commitment is empty: a comparison of no bytes always agrees.", "c",
          lambda d: encode(b""))
    field("c-hex-text", "The commitment is text, in hex.", "c",
          lambda d: encode(commitment(d).hex()))
    field("e-31-bytes", "The ephemeral key has 31 bytes.", "e", lambda d: encode(d.e[:31]))
    field("e-33-bytes", "The ephemeral key has 33 bytes.", "e", lambda d: encode(d.e + b"\0"))
    field("e-empty", "The ephemeral key is empty.", "e", lambda d: encode(b""))
    field("w-empty", "No slot at all.", "w", lambda d: encode(b""))
    field("w-47-bytes", "The only slot lacks a byte.", "w", lambda d: encode(d.slots[0][:47]))
    field("w-49-bytes", "A byte follows the only slot.", "w",
          lambda d: encode(d.slots[0] + b"\0"))
    field("w-1025-slots", "1025 slots, one more than the limit. The first opens.", "w",
          lambda d: encode(d.slots[0] + noise("header-w-1025", 48 * 1024)))
    field("w-text", "The slots are text, in hex.", "w", lambda d: encode(d.slots[0].hex()))


def _kinds(suite):
    def without(draft: Draft, *names: str) -> bytes:
        for name in names:
            del draft.header[name]
        return draft.blob()

    def last_leaf(name, note, header):
        bad = leaf(b"!", header=header)
        draft = tree_draft(f"header-{name}", row([*FOUR_LEAVES, bad]), len(FIVE_CONTENT))
        children = [c.blob for c in (*FOUR_LEAVES, bad)]
        suite.fault(f"header-{name}", note, "format", draft.blob(), children=children,
                    released=FOUR_CONTENT)

    suite.fault("header-root-without-e", "A root without an ephemeral key.", "format",
                without(Draft("header-root-without-e"), "e"))
    suite.fault("header-root-without-w", "A root without slots.", "format",
                without(Draft("header-root-without-w"), "w"))
    suite.fault("header-child-as-root", "A child where a root was asked for.", "format", LAST.blob)
    draft = Draft("header-root-as-child")
    tree = tree_draft("header-root-as-child/tree",
                      row(FOUR_LEAVES) + keys.sha256(draft.blob()) + draft.key, len(FIVE_CONTENT))
    suite.fault("header-root-as-child", "A good root where the last leaf belongs.", "format",
                tree.blob(), children=[LEAF_A.blob, FOUR_LEAVES[1].blob, draft.blob()],
                released=FOUR_CONTENT)

    c = keys.commitment(LAST.key)
    e = keys.public_key(bytes(range(32)))
    w = slot(LAST.key, e, ALICE)
    last_leaf("child-with-e", "A leaf whose header also has e.", encode({"c": c, "e": e}))
    last_leaf("child-with-w", "A leaf whose header also has w.", encode({"c": c, "w": w}))
    last_leaf("child-with-e-and-w", "A leaf with the header of a root.",
              encode({"c": c, "e": e, "w": w}))
    last_leaf("child-c-31-bytes", "A leaf whose commitment has 31 bytes.", encode({"c": c[:31]}))
    last_leaf("child-c-missing", "A leaf whose header is an empty map.", encode({}))
    last_leaf("child-long-length", "A leaf whose commitment has its length in three bytes.",
              b"\xa1\x61c\x59\x00\x20" + c)
    last_leaf("child-trailing-byte", "A leaf with a byte after the map of its header.",
              encode({"c": c}) + b"\0")
    last_leaf("child-duplicate-key", "A leaf with its commitment given twice.",
              b"\xa2" + encode({"c": c})[1:] * 2)


def _points(suite):
    def ephemeral(name, note, value):
        draft = Draft(f"header-e-{name}")
        draft.use_ephemeral(point(value))
        suite.fault(f"header-e-{name}", note, "format", draft.blob())

    for name, value in CANONICAL_LOW_ORDER.items():
        ephemeral(f"low-order-{name}", "A point of low order: the shared secret is zero for every "
                  "reader, so anyone could wrap, and open.", value)
    for name, value in (
        ("p", P), ("p-plus-1", P + 1), ("0-top-bit", TOP_BIT), ("1-top-bit", TOP_BIT + 1),
        ("order-8-a-top-bit", TOP_BIT + ORDER_8[0]), ("order-8-b-top-bit", TOP_BIT + ORDER_8[1]),
        ("p-minus-1-top-bit", TOP_BIT + P - 1),
    ):
        ephemeral(f"low-order-{name}", "A point of low order, in a second encoding.", value)
    for name, value in (("2p-minus-1", 2 * P - 1), ("2p", 2 * P), ("2p-plus-1", 2 * P + 1)):
        ephemeral(f"low-order-{name}", "A point of low order in arithmetic that does not ignore "
                  "the top bit; not canonical in any case.", value)

    ephemeral("base-point-plus-p", "The base point in a second encoding, 9 + p. X25519 itself "
              "accepts it; the format has one encoding for every point.", 9 + P)
    ephemeral("largest", "2^255 - 1, the largest number without the top bit: 18 + p.", 2**255 - 1)
    draft = Draft("header-e-top-bit")
    good = int.from_bytes(draft.e, "little")
    draft.use_ephemeral(point(good + TOP_BIT))
    suite.fault("header-e-top-bit", "A good point with the top bit set, which X25519 ignores.",
                "format", draft.blob())

    draft = Draft("ok-header-e-forged")
    draft.use_ephemeral(draft.e)
    suite.ok("ok-header-e-forged", "A root wrapped with the arithmetic that made the forbidden "
             "points: with a good point it opens.", draft.blob(), HELLO)
