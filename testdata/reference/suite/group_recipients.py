"""recipients-*: which identity opens a root, and with which slot."""

from idk_reference.cbor_profile import encode

from .forge import (
    ALICE, BOB, CAROL, HELLO, STRANGER, Draft, flip, noise, person, secret, slot,
)

ALL = (ALICE, BOB, CAROL)


def add(suite):
    fault, ok = suite.fault, suite.ok
    three = Draft("recipients-three", recipients=ALL)

    fault("recipients-no-match", "The reader is not among the three recipients.", "no-match",
          three.blob(), identities=[STRANGER])
    fault("recipients-no-identity", "The reader has no identity at all.", "no-match",
          three.blob(), identities=[])
    for name, reader in (("first", ALICE), ("middle", BOB), ("last", CAROL)):
        ok(f"recipients-match-{name}", f"The {name} of three slots opens.", three.blob(), HELLO,
           identities=[reader], recipients=3)
    ok("recipients-second-identity", "Of the reader's two identities the second opens.",
       three.blob(), HELLO, identities=[STRANGER, CAROL], recipients=3)
    ok("recipients-two-matches", "Both of the reader's identities open.", three.blob(), HELLO,
       identities=[CAROL, ALICE], recipients=3)

    # One reader, two slots, two keys.
    wrong = secret("recipients/wrong key")
    draft = Draft("recipients-first-opening-slot-wrong")
    draft.use_slots([slot(wrong, draft.e, ALICE), slot(draft.key, draft.e, ALICE)])
    fault("recipients-first-opening-slot-wrong", "The first slot that opens yields another key, "
          "the second the right one. The first is final: trying on would let a sender tell "
          "readers apart.", "commit", draft.blob())
    draft = Draft("recipients-only-slot-wrong")
    draft.use_slots([slot(wrong, draft.e, ALICE)])
    fault("recipients-only-slot-wrong", "The slot opens, but yields another key.", "commit",
          draft.blob())
    draft = Draft("recipients-second-slot-wrong")
    draft.use_slots([slot(draft.key, draft.e, ALICE), slot(wrong, draft.e, ALICE)])
    ok("recipients-second-slot-wrong", "The first slot that opens is right; what a later one "
       "would yield does not matter.", draft.blob(), HELLO, recipients=2)

    draft = Draft("recipients-damaged-slot-then-good")
    draft.use_slots([flip(draft.slots[0], 20), draft.slots[0]])
    ok("recipients-damaged-slot-then-good", "A slot that does not open is passed over.",
       draft.blob(), HELLO, recipients=2)
    draft = Draft("recipients-slot-twice")
    draft.use_slots(draft.slots * 2)
    ok("recipients-slot-twice", "The same slot twice. A writer removes duplicates; a reader does "
       "not mind.", draft.blob(), HELLO, recipients=2)

    for name, at in (("tag", 0), ("key", 47)):
        draft = Draft(f"recipients-slot-{name}-flipped")
        draft.use_slots([flip(draft.slots[0], at)])
        fault(f"recipients-slot-{name}-flipped", "One bit of the only slot is flipped; the body "
              "was sealed under that header.", "no-match", draft.blob())

    draft = Draft("recipients-slots-misaligned", recipients=[ALICE, BOB])
    draft.header["w"] = encode(b"".join(draft.slots)[1:] + b"\0")
    fault("recipients-slots-misaligned", "All slots begin one byte early: a reader must not "
          "search for them.", "no-match", draft.blob(), identities=[ALICE, BOB])

    # Slots of another root.
    other = Draft("recipients-other")
    draft = Draft("recipients-w-of-another-root", header={"w": encode(other.slots[0])})
    fault("recipients-w-of-another-root", "The slot was taken from another root for the same "
          "reader: it belongs to another ephemeral key.", "no-match", draft.blob())
    draft = Draft("recipients-e-and-w-of-another-root",
                  header={"e": encode(other.e), "w": encode(other.slots[0])})
    fault("recipients-e-and-w-of-another-root", "Ephemeral key and slot were taken from another "
          "root: the slot opens, and yields that root's key.", "commit", draft.blob())
    draft = Draft("recipients-e-of-another-root", header={"e": encode(other.e)})
    fault("recipients-e-of-another-root", "The ephemeral key was taken from another root.",
          "no-match", draft.blob())

    # A wrong nonce.
    draft = Draft("recipients-nonce-of-another-reader")
    draft.use_slots([slot(draft.key, draft.e, ALICE, nonce_for=BOB.public_key)])
    fault("recipients-nonce-of-another-reader", "The nonce was derived from another reader's "
          "public key.", "no-match", draft.blob())

    # Order.
    swapped = three.header | {"w": encode(b"".join(reversed(three.slots)))}
    draft = Draft("recipients-three", recipients=ALL, header=swapped)
    sealed = len(three.header_bytes()) + 6
    fault("recipients-order-swapped", "The slots were swapped after sealing: the body's key "
          "depends on every byte of the header.", "auth",
          draft.blob()[:sealed] + three.blob()[sealed:])
    draft = Draft("recipients-order-swapped-resealed", recipients=ALL)
    draft.use_slots(draft.slots[::-1])
    ok("recipients-order-swapped-resealed", "The slots are not sorted, and the body was sealed "
       "under that header. A writer sorts; a reader tries all slots.", draft.blob(), HELLO,
       recipients=3)

    draft = Draft("recipients-slot-added", recipients=[ALICE])
    added = draft.header | {"w": encode(draft.slots[0] + slot(draft.key, draft.e, BOB))}
    late = Draft("recipients-slot-added", recipients=[ALICE], header=added)
    fault("recipients-slot-added", "A recipient added a slot for somebody else and kept the body.",
          "auth", late.blob()[: -len(_body(draft))] + _body(draft), identities=[BOB])

    many = [person(f"many/{i}") for i in range(1024)]
    draft = Draft("ok-recipients-1024", recipients=many)
    last = max(many, key=lambda p: p.public_key)
    ok("ok-recipients-1024", "1024 recipients, the most there can be; the reader's slot is the "
       "last.", draft.blob(), HELLO, identities=[last], recipients=1024)
    fault("recipients-no-match-in-1024", "None of 1024 slots opens.", "no-match", draft.blob(),
          identities=[ALICE, BOB, CAROL])
    draft = Draft("ok-recipients-noise-then-match")
    draft.use_slots([noise(f"slot/{i}", 48) for i in range(5)] + draft.slots)
    ok("ok-recipients-noise-then-match", "Five slots of noise before the one that opens.",
       draft.blob(), HELLO, recipients=6)


def _body(draft: Draft) -> bytes:
    return draft.blob()[6 + len(draft.header_bytes()):]
