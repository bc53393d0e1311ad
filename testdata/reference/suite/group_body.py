"""body-*: keys, commitments and seals that do not belong together."""

import nacl.bindings as nacl

from idk_reference import keys
from idk_reference.cbor_profile import encode

from .collision import seal_for_two
from .forge import (
    ALICE, BOB, FOUR_CONTENT, FOUR_LEAVES, HELLO, LEAF_A, LEAF_B, Child, Draft, flip, leaf,
    secret, slot, tree_draft, with_header, row,
)


def add(suite):
    _roots(suite)
    _last_leaves(suite)
    _two_keys(suite)


def _roots(suite):
    fault = suite.fault
    good = Draft("body")
    head = with_header(good.header_bytes())
    plaintext, key = good.plaintext(), good.body_key()

    def body(name, note, code, sealed):
        fault(f"body-{name}", note, code, head + sealed)

    sealed = good.blob()[len(head):]
    assert sealed == keys.seal(key, plaintext)
    body("tag-flipped", "One bit of the tag is flipped.", "auth", flip(sealed, 0))
    body("tag-last-bit-flipped", "The last bit of the tag is flipped.", "auth",
         flip(sealed, 15, 0x80))
    body("first-byte-flipped", "One bit of the first byte of the ciphertext is flipped.", "auth",
         flip(sealed, 16))
    body("last-byte-flipped", "One bit of the last byte is flipped.", "auth", flip(sealed, -1))
    body("tag-zero", "The tag is all zero.", "auth", bytes(16) + sealed[16:])
    body("tag-at-end", "The tag stands after the ciphertext instead of before it.", "auth",
         sealed[16:] + sealed[:16])
    body("tag-only", "A sealed plaintext of no bytes: it opens, and is no root.", "root",
         keys.seal(key, b""))
    body("sealed-twice", "The sealed body was sealed again under the same key.", "root",
         keys.seal(key, sealed))
    body("content-key-itself", "Sealed under the content key instead of the key derived from it.",
         "auth", keys.seal(good.key, plaintext))
    body("nonce-one", "Sealed with another nonce than zero.", "auth",
         nacl.crypto_secretbox(plaintext, bytes(23) + b"\x01", key))
    body("salt-missing", "The body's key was derived without the hash of the header.", "auth",
         keys.seal(keys.kdf(good.key, b"", "idk/v1/root"), plaintext))
    body("salt-header-only", "The body's key was derived from the hash of the header's map, "
         "without the six bytes before it.", "auth",
         keys.seal(keys.kdf(good.key, keys.sha256(good.header_bytes()), "idk/v1/root"), plaintext))
    for kind in ("leaf", "node"):
        body(f"root-sealed-as-{kind}", f"A root sealed under the key of a {kind}.", "auth",
             keys.seal(keys.body_key(good.key, head, kind), plaintext))

    other = Draft("body", content=b"same key, another header", recipients=(ALICE, BOB))
    other_head = with_header(other.header_bytes())
    fault("body-under-another-header", "The body was sealed with the same content key, but under "
          "the header of another root.", "auth", head + other.blob()[len(other_head):])
    fault("body-of-another-root", "The body of another root for the same reader.", "auth",
          head + Draft("body/other").blob()[len(head):])

    draft = Draft("body-commitment-flipped")
    draft.header["c"] = encode(flip(keys.commitment(draft.key), 31))
    fault("body-commitment-flipped", "One bit of the commitment is flipped; slots and body are "
          "good under that header.", "commit", draft.blob())
    draft = Draft("body-commitment-zero", header={"c": encode(bytes(32))})
    fault("body-commitment-zero", "The commitment is all zero.", "commit", draft.blob())
    draft = Draft("body-commitment-is-key")
    draft.header["c"] = encode(draft.key)
    fault("body-commitment-is-key", "The commitment is the content key itself.", "commit",
          draft.blob())
    draft = Draft("body-commitment-is-hash")
    draft.header["c"] = encode(keys.sha256(draft.key))
    fault("body-commitment-is-hash", "The commitment is a plain hash of the content key.",
          "commit", draft.blob())


def _last_leaves(suite):
    def last_leaf(name, note, code, bad: Child):
        draft = tree_draft(f"body-{name}", row([*FOUR_LEAVES, bad]), len(FOUR_CONTENT) + 1)
        suite.fault(f"body-{name}", note, code, draft.blob(), released=FOUR_CONTENT,
                    children=[LEAF_A.blob, LEAF_B.blob, bad.blob])

    good = leaf(b"!")
    head, sealed = good.blob[:43], good.blob[43:]
    for kind in ("node", "root"):
        last_leaf(f"leaf-sealed-as-{kind}", f"The last leaf was sealed under the key of a {kind}.",
                  "auth", leaf(b"!", sealed_as=kind))
    last_leaf("leaf-tag-flipped", "One bit of the last leaf's tag is flipped.", "auth",
              Child(good.key, head + flip(sealed, 0)))
    last_leaf("leaf-byte-flipped", "One bit of the last leaf's ciphertext is flipped.", "auth",
              Child(good.key, head + flip(sealed, 16)))
    last_leaf("leaf-byte-appended", "A byte was appended to the last leaf, and the reference "
              "follows.", "auth", Child(good.key, good.blob + b"\0"))
    last_leaf("leaf-15-byte-body", "The last leaf's body is shorter than a tag.", "format",
              Child(good.key, head + sealed[:15]))
    last_leaf("leaf-commitment-flipped", "One bit of the last leaf's commitment is flipped.",
              "commit", leaf(b"!", header=encode({"c": flip(keys.commitment(good.key), 0)})))
    last_leaf("leaf-version-2", "The last leaf has version 2.", "format",
              Child(good.key, b"IDK\x02" + good.blob[4:]))
    last_leaf("leaf-of-another-file", "The last leaf's body belongs to another leaf with another "
              "key.", "auth", Child(good.key, head + leaf(b"?").blob[43:]))


def _two_keys(suite):
    """Bodies that really open under two keys. Only the commitment detects them."""
    key_1, key_2 = secret("two keys/1"), secret("two keys/2")
    header = encode({"c": keys.commitment(key_1)})
    prefix = with_header(header)
    body_keys = [keys.body_key(key, prefix, "leaf") for key in (key_1, key_2)]
    blob = prefix + seal_for_two(*body_keys, b"The same leaf, ".ljust(64, b"."), free=32)
    first, second = (keys.unseal(key, blob[43:]) for key in body_keys)
    assert first and second and first != second

    for name, key, expect in (("first", key_1, "ok"), ("second", key_2, "commit")):
        two_faced = Child(key, blob)
        draft = tree_draft(f"body-leaf-two-keys-{name}", row([*FOUR_LEAVES, two_faced]),
                           len(FOUR_CONTENT) + 64)
        children = [LEAF_A.blob, LEAF_B.blob, blob]
        if expect == "ok":
            suite.ok("body-leaf-two-keys-committed", "The last leaf opens under two keys; the "
                     "reference has the one it is bound to.", draft.blob(), FOUR_CONTENT + first,
                     depth=1, children=children)
        else:
            suite.fault("body-leaf-two-keys-other", "The last leaf opens under two keys, to two "
                        "contents; the reference has the one it is not bound to.", "commit",
                        draft.blob(), children=children, released=FOUR_CONTENT)

    # A root for two readers that gives each a different key.
    draft = Draft("body-root-two-keys", content=HELLO.ljust(96, b"."))
    draft.use_slots([slot(draft.key, draft.e, ALICE), slot(key_2, draft.e, BOB)])
    head = with_header(draft.header_bytes())
    keys_of_body = draft.body_key(), draft.body_key(key_2)
    blob = head + seal_for_two(*keys_of_body, draft.plaintext(), free=48)
    plaintext, other = (keys.unseal(key, blob[len(head):]) for key in keys_of_body)
    assert plaintext and other and plaintext != other
    at = draft.plaintext().index(HELLO)
    assert at < 48 and 80 < at + 96
    suite.ok("body-root-two-keys-committed", "The body opens under two keys, one in each reader's "
             "slot. This reader got the one the root is bound to.", blob, plaintext[at:at + 96],
             recipients=2)
    suite.fault("body-root-two-keys-other", "The body opens under two keys, one in each reader's "
                "slot. This reader got the one the root is not bound to.", "commit", blob,
                identities=[BOB])
