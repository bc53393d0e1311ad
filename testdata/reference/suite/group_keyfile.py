"""keyfile-*: secret keys protected by a passphrase."""

from idk_reference import armor, keyfile

from .forge import flip, secret

PASSPHRASE = "correct horse battery staple"
ACCENTED = "p\u00e4ssw\u00f6rd \U0001f511"  # composed letters, and one character outside the BMP
DECOMPOSED = "pa\u0308sswo\u0308rd \U0001f511"


def add(suite):
    secret_key, salt = secret("keyfile/secret key"), secret("keyfile/salt")[:16]

    def vector(name, note, data, expect, passphrase=PASSPHRASE, key=None):
        fields = {"secretKey": key.hex()} if key else {}
        suite.other("keyfile", f"keyfile-{name}", note, hex=data.hex(), passphrase=passphrase,
                    expect=expect, **fields)

    good = keyfile.make(secret_key, PASSPHRASE, salt, 14)
    vector("good", "The smallest legal logN, 14.", good, "ok", key=secret_key)
    vector("log-n-15", "logN 15.", keyfile.make(secret_key, PASSPHRASE, salt, 15), "ok",
           key=secret_key)
    unicode = keyfile.make(secret_key, ACCENTED, salt, 14)
    vector("unicode-passphrase", "The passphrase is taken as its UTF-8 bytes.", unicode, "ok",
           ACCENTED, secret_key)
    vector("unicode-decomposed", "The same letters in other code points are another passphrase: "
           "nothing is normalized.", unicode, "passphrase", DECOMPOSED)
    vector("long-passphrase", "A passphrase of 1000 letters.",
           keyfile.make(secret_key, "x" * 1000, salt, 14), "ok", "x" * 1000, secret_key)

    for name, note, passphrase in (
        ("wrong-passphrase", "Another passphrase.", "correct horse battery stable"),
        ("passphrase-newline", "A newline follows the passphrase.", PASSPHRASE + "\n"),
        ("passphrase-space", "A space before the passphrase.", " " + PASSPHRASE),
        ("passphrase-case", "The passphrase in upper case.", PASSPHRASE.upper()),
        ("passphrase-cut", "The passphrase lacks its last letter.", PASSPHRASE[:-1]),
    ):
        vector(name, note, good, "passphrase", passphrase)

    for log_n in (0, 13, 21, 63, 255):
        vector(f"log-n-{log_n}", f"logN {log_n} is not within 14 to 20. That is seen before any "
               "work is done.", good[:5] + bytes([log_n]) + good[6:], "key")
    vector("101-bytes", "The last byte is missing.", good[:-1], "key")
    vector("103-bytes", "A byte too many.", good + b"\0", "key")
    vector("empty", "No bytes.", b"", "key")
    vector("head-only", "Only magic, version, logN and salt.", good[:22], "key")
    vector("no-box", "The box is missing.", good[:54], "key")
    vector("newline", "A newline follows the file.", good + b"\n", "key")
    vector("magic-wrong", "The magic is that of a blob.", b"IDK\x01" + good[4:], "key")
    vector("magic-lower-case", "The magic is in lower case.", good[:4].lower() + good[4:], "key")
    for version in (0, 2):
        vector(f"version-{version}", f"Version {version}.",
               good[:4] + bytes([version]) + good[5:], "key")
    vector("log-n-changed", "logN says 15, the file was made with 14.",
           good[:5] + b"\x0f" + good[6:], "passphrase")
    vector("salt-flipped", "One bit of the salt is flipped.", flip(good, 6), "passphrase")
    vector("commitment-flipped", "One bit of the commitment is flipped.", flip(good, 22),
           "passphrase")
    vector("commitment-last-bit-flipped", "The last bit of the commitment is flipped.",
           flip(good, 53, 0x80), "passphrase")
    vector("box-tag-flipped", "The passphrase is right, one bit of the box's tag is flipped.",
           flip(good, 54), "key")
    vector("box-key-flipped", "The passphrase is right, one bit of the sealed key is flipped.",
           flip(good, -1), "key")
    add_armored(vector, good, secret_key)


def add_armored(vector, good, secret_key):
    """The same file as text."""
    text = armor.armor(keyfile.LABEL, good)
    begin, first, second, third, end = lines = text.splitlines()

    def armored(name, note, data, expect="key", **more):
        data = b"".join(line + b"\n" for line in data) if isinstance(data, list) else data
        vector(f"armor-{name}", note, data, expect, **more)

    for name, note, data in (
        ("good", "The file as text, in the form that writers make.", text),
        ("crlf", "Lines that end with CRLF.", text.replace(b"\n", b"\r\n")),
        ("no-newline", "No newline at the end.", text.rstrip()),
        ("white-space-around", "White space before and after.", b"\r\n \t" + text + b"\n \r\n"),
    ):
        armored(name, note, data, "ok", key=secret_key)
    armored("wrong-passphrase", "Another passphrase.", text, "passphrase", passphrase="a guess")

    armored("text-before", "A comment before it.", [b"# mine", *lines])
    armored("byte-order-mark", "A byte order mark before it.", b"\xef\xbb\xbf" + text)
    armored("text-after", "A comment after it.", [*lines, b"# mine"])
    armored("twice", "Two files, one after the other.", [*lines, *lines])
    armored("label-writer", "The label is that of a writer key.",
            text.replace(b"IDENTITY", b"WRITER KEY"))
    armored("label-lower-case", "The label is in lower case.",
            text.replace(b"IDK PROTECTED IDENTITY", b"idk protected identity"))
    armored("label-end-other", "The labels of the first and the last line differ.",
            [*lines[:-1], b"-----END IDK PROTECTED WRITER KEY-----"])
    armored("begin-space", "A space follows the first line.", [begin + b" ", *lines[1:]])
    armored("begin-dashes", "The first line lacks a dash.", [begin[:-1], *lines[1:]])
    armored("end-missing", "The last line is missing.", lines[:-1])
    armored("no-line-ends", "Spaces in place of line ends.", b" ".join(lines))
    armored("carriage-returns", "CR alone in place of line ends.", b"\r".join(lines))
    armored("blank-line", "A blank line inside.", [begin, first, b"", second, third, end])
    armored("space-inside", "A space at the end of a line.",
            [begin, first, second + b" ", third, end])
    armored("header", "A header, as in other armor.",
            [begin, b"Version: 1", b"", first, second, third, end])
    armored("63-columns", "A line of 63 characters before others.",
            [begin, first[:63], first[63:] + second[:63], second[63:] + third, end])
    armored("76-columns", "Lines of 76 characters, as in MIME.",
            [begin, first + second[:12], second[12:] + third, end])
    armored("one-line", "All characters on one line.", [begin, first + second + third, end])
    armored("base64url", "The alphabet for URLs.",
            text[:39] + text[39:-37].replace(b"+", b"-").replace(b"/", b"_") + text[-37:])
    armored("padding-extra", "Padding that is not needed.",
            [begin, first, second, third + b"====", end])
    armored("padding-missing", "The Base64 ends within a group.",
            [begin, first, second, third[:-1], end])
    cut = armor.armor(keyfile.LABEL, good[:-1]).splitlines()
    armored("101-bytes", "The last byte is missing.", cut)
    loose = bytes([cut[3][-2] + 1]) + b"="
    armored("bits-left-over", "The last byte is missing, and the bits left over are not zero.",
            [*cut[:3], cut[3][:-2] + loose, end])
    armored("103-bytes", "A byte too many.", armor.armor(keyfile.LABEL, good + b"\0"))
    armored("empty", "Nothing between the first and the last line.", [begin, end])
    armored("magic-writer", "The file inside is one of a writer key.",
            armor.armor(keyfile.LABEL, b"IDKW" + good[4:]))
    armored("log-n-21", "logN 21 inside.",
            armor.armor(keyfile.LABEL, good[:5] + b"\x15" + good[6:]))
    armored("within-armor", "Armor within armor.", armor.armor(keyfile.LABEL, text))
