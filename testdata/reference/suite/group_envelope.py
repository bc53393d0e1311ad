"""envelope-*: faults that are visible before any key is used."""

from idk_reference import envelope

from .forge import ALICE, HELLO, Draft, flip, secret


def add(suite):
    good = Draft("envelope").blob()
    address = envelope.address_of(good)
    fault = suite.fault
    hlen = int.from_bytes(good[4:6], "big")

    def with_hlen(value: int) -> bytes:
        return good[:4] + value.to_bytes(2, "big") + good[6:]

    # Too short or truncated: the address is that of the truncated bytes.
    for name, length in (
        ("empty", 0), ("one-byte", 1), ("magic-only", 4), ("half-a-length", 5),
        ("prefix-only", 6), ("inside-header", 6 + hlen // 2), ("no-body", 6 + hlen),
        ("body-of-15-bytes", 6 + hlen + 15),
    ):
        fault(f"envelope-short-{name}", f"Only the first {length} bytes of a good blob: no "
              "place for a header and a body with its 16-byte tag.", "format", good[:length])

    fault("envelope-magic-wrong", "The first byte of the magic differs.", "format", b"J" + good[1:])
    fault("envelope-magic-lower-case", "The magic is 'idk' in lower case.", "format",
          b"idk" + good[3:])
    fault("envelope-magic-shifted", "A zero byte stands before an otherwise good blob.", "format",
          b"\0" + good)
    fault("envelope-magic-byte-order-mark", "A UTF-8 byte order mark stands before the magic.",
          "format", b"\xef\xbb\xbf" + good)
    fault("envelope-all-zero", "As many zero bytes as a good blob has bytes.", "format",
          bytes(len(good)))
    for version in (0, 2, 255):
        fault(f"envelope-version-{version}", f"Version {version}: a reader must not guess what "
              "another version means.", "format", good[:3] + bytes([version]) + good[4:])

    fault("envelope-hlen-past-end", "The header length runs past the end of the blob.", "format",
          with_hlen(0xFFFF))
    fault("envelope-hlen-to-end", "The header takes all bytes: no body is left.", "format",
          with_hlen(len(good) - 6))
    fault("envelope-hlen-one-more", "The header takes the first byte of the body: a trailing byte "
          "after the map.", "format", with_hlen(hlen + 1))
    fault("envelope-hlen-one-less", "The header loses its last byte to the body.", "format",
          with_hlen(hlen - 1))
    fault("envelope-hlen-zero", "The header is empty: not even a map.", "format", with_hlen(0))
    fault("envelope-hlen-little-endian", "The header length is written little-endian.", "format",
          good[:4] + good[4:6][::-1] + good[6:])

    fault("envelope-byte-appended", "A byte was appended and the blob renamed to match: the tag "
          "covers all of the body.", "auth", good + b"\0")
    fault("envelope-byte-cut", "The last byte was cut and the blob renamed to match.", "auth",
          good[:-1])

    # Bytes that do not hash to the name.
    for name, note, stored in (
        ("bit-flipped", "One bit of the body differs from what the name stands for.",
         flip(good, -1)),
        ("byte-appended", "A byte was appended under the old name.", good + b"\0"),
        ("byte-cut", "The last byte is missing under the old name.", good[:-1]),
        ("empty", "Nothing is stored under the name.", b""),
        ("other-blob", "Another good blob for the same reader is stored under this name: without "
         "the check the store could answer any address with any content.",
         Draft("envelope/other", b"another content").blob()),
    ):
        fault(f"envelope-address-{name}", note, "address", good, stored={address: stored})

    over = envelope.MAX_ROOT_BLOB + 1
    fault("envelope-root-over-limit", "One byte more than any root can have. The limit comes "
          "first: a reader need not download, hash or parse the rest.", "limit",
          good[: 6 + hlen].ljust(over, b"\0"))
    fault("envelope-root-not-found", "The store has no blob of this name.", "not-found", good,
          address=secret("envelope/nowhere").hex())

    # Names that are not addresses; the blob itself is good and present.
    for name, note, asked in (
        ("upper-case", "An address is written in lower case; two names for one blob would split "
         "caches and comparisons.", address.upper()),
        ("one-upper-case-digit", "A single digit of the address is in upper case.",
         next(address[:i] + c.upper() + address[i + 1:] for i, c in enumerate(address)
              if c.isalpha())),
        ("too-short", "63 digits.", address[:-1]),
        ("too-long", "65 digits.", address + "0"),
        ("empty", "No address at all.", ""),
        ("not-hex", "A 'g' among the digits.", "g" + address[1:]),
        ("prefixed", "0x before 62 digits.", "0x" + address[2:]),
        ("newline", "A newline follows the address (a pattern's $ lets it pass).", address + "\n"),
        ("space", "A space before the address.", " " + address),
        ("path", "A path instead of an address must never reach the store.",
         "../" * 21 + "a"),
        ("wide-digits", "64 digits, one of them a full-width digit outside ASCII.",
         "\uff11" + address[1:]),
    ):
        fault(f"envelope-name-{name}", note, "usage", good, address=asked)

    suite.ok("ok-envelope", "The blob from which the envelope faults were made.", good, HELLO,
             identities=[ALICE])
