"""text-*: recipients and identities as text."""

from itertools import count

from idk_reference import bech32, keys
from idk_reference.keys import IDENTITY_PREFIX, RECIPIENT_PREFIX

from .forge import ALICE, secret
from .group_header import CANONICAL_LOW_ORDER, TOP_BIT, P, point

BECH32M = 0x2BC830A3


def add(suite):
    good = {
        "recipient": keys.recipient_text(ALICE.public_key),
        "identity": keys.identity_text(ALICE.secret_key),
    }

    def vector(kind, name, note, text, expect="key", **fields):
        suite.other(kind, f"text-{kind}-{name}", note, text=text, expect=expect, **fields)

    public, secret_key = ALICE.public_key.hex(), ALICE.secret_key.hex()
    vector("recipient", "good", "As it is written.", good["recipient"], "ok", publicKey=public)
    vector("recipient", "upper-case", "Bech32 may be written in upper case throughout.",
           good["recipient"].upper(), "ok", publicKey=public)
    vector("identity", "good", "As it is written.", good["identity"], "ok", secretKey=secret_key)
    vector("identity", "lower-case", "Bech32 may be written in lower case throughout.",
           good["identity"].lower(), "ok", secretKey=secret_key)

    for kind, prefix, key in (
        ("recipient", RECIPIENT_PREFIX, ALICE.public_key),
        ("identity", IDENTITY_PREFIX, ALICE.secret_key),
    ):
        text = good[kind]
        recase = str.upper if kind == "identity" else str.lower
        swap = text.swapcase()
        data = bech32._regroup(key, 8, 5, pad=True)

        def write(groups, prefix=prefix, constant=1, recase=recase):
            return recase(_with_checksum(prefix, groups, constant))

        for name, note, bad in (
            ("mixed-case-letter", "A single letter in the other case.",
             text[:-1] + swap[-1] if text[-1].isalpha() else text[:-2] + swap[-2] + text[-1]),
            ("mixed-case-prefix", "The prefix in the other case.",
             swap[: len(prefix)] + text[len(prefix):]),
            ("checksum", "The last character is another one.",
             text[:-1] + recase("q" if text[-1].lower() != "q" else "p")),
            ("character-changed", "A character in the middle is another one.",
             text[:30] + recase("q" if text[30].lower() != "q" else "p") + text[31:]),
            ("characters-swapped", "Two neighbours are swapped.", _swap_neighbours(text)),
            ("bech32m", "The checksum of Bech32m.", write(data, constant=BECH32M)),
            ("cut", "The last character is missing.", text[:-1]),
            ("31-bytes", "31 bytes with a good checksum.",
             write(bech32._regroup(key[:31], 8, 5, pad=True))),
            ("33-bytes", "33 bytes with a good checksum.",
             write(bech32._regroup(key + b"\0", 8, 5, pad=True))),
            ("no-bytes", "No bytes with a good checksum.", write([])),
            ("bits-not-zero", "The left-over bits of the last group are not zero.",
             write([*data[:-1], data[-1] | 1])),
            ("group-more", "A group of zero bits more than the bytes need.", write([*data, 0])),
            ("prefix-other", "The prefix of another program.", write(data, prefix="age")),
            ("prefix-longer", "The prefix has a letter more.", write(data, prefix=prefix + "s")),
            ("prefix-empty", "No prefix before the separator.", write(data, prefix="")),
            ("prefix-with-1", "The prefix contains the separator.",
             write(data, prefix=prefix + "1")),
            ("separator-missing", "The separator is missing.", text.replace("1", "", 1)),
            ("letter-b", "A 'b', which Bech32 does not use.", text[:40] + recase("b") + text[41:]),
            ("letter-1", "A '1' after the separator, where Bech32 does not use it.",
             text[:40] + "1" + text[41:]),
            ("space-before", "A space before it.", " " + text),
            ("space-inside", "A space inside it.", text[:40] + " " + text[40:]),
            ("newline-after", "A newline after it.", text + "\n"),
            ("nul-after", "A zero character after it.", text + "\0"),
            ("empty", "No text.", ""),
            ("prefix-only", "Only the prefix and the separator.", recase(prefix + "1")),
            ("wide-letter", "A full-width letter outside ASCII.",
             text[:40] + "\uff51" + text[41:]),
        ):
            vector(kind, name, note, bad)

    vector("recipient", "is-identity", "An identity where a recipient belongs.", good["identity"])
    vector("identity", "is-recipient", "A recipient where an identity belongs.",
           good["recipient"])
    vector("identity", "kelvin-sign", "The K of the prefix is the Kelvin sign, whose lower case is "
           "the letter k.", good["identity"].replace("K", "\u212a", 1))
    vector("recipient", "too-long", "91 characters with a good checksum; Bech32 ends at 90.",
           _with_checksum(RECIPIENT_PREFIX, [0] * 81, 1))
    inserted = _ending_in_p()
    vector("recipient", "q-inserted", "A 'q' was inserted before the final 'p': the checksum of "
           "Bech32 does not see that, the length does.", inserted[:-1] + "qp")

    for name, value in CANONICAL_LOW_ORDER.items():
        vector("recipient", f"low-order-{name}", "A point of low order: no secret could be shared.",
               keys.recipient_text(point(value)))
    for name, value in (
        ("p", P), ("p-plus-1", P + 1), ("p-plus-9", P + 9), ("2-255-minus-1", TOP_BIT - 1),
        ("top-bit", int.from_bytes(ALICE.public_key, "little") + TOP_BIT),
    ):
        vector("recipient", f"not-canonical-{name}", "A second encoding of a point.",
               keys.recipient_text(point(value)))


def _with_checksum(prefix: str, groups: list[int], constant: int) -> str:
    expanded = bech32._expand(prefix) + groups
    checksum = bech32._polymod(expanded + [0] * 6) ^ constant
    groups = groups + [(checksum >> 5 * (5 - i)) & 31 for i in range(6)]
    return prefix + "1" + "".join(bech32.CHARSET[g] for g in groups)


def _swap_neighbours(text: str) -> str:
    at = next(i for i in range(30, len(text)) if text[i] != text[i + 1])
    return text[:at] + text[at + 1] + text[at] + text[at + 2:]


def _ending_in_p() -> str:
    for i in count():
        text = keys.recipient_text(keys.public_key(secret(f"ending in p/{i}")))
        if text.endswith("p"):
            return text
