"""keyfile-*: secret keys protected by a passphrase."""

from idk_reference import keyfile

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
