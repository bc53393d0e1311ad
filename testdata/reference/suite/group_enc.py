"""enc-*: content stored compressed. `len` is announced, and a hard cap.

A streaming reader may have released decoded bytes before it finds the fault, so
these vectors limit the released bytes (`releasedAtMost`).
"""

import lz4.frame
from backports import zstd

from idk_reference.cbor_profile import encode

from .forge import CHUNK, HELLO, ZERO_LEAF, Draft, leaf, row, tree_draft

TEXT = b"A sentence that is said again and again. " * 50
OTHER = b"Something else. " * 20


def lz4_frame(content: bytes, checksum: bool = True, size: bool = False) -> bytes:
    return lz4.frame.compress(content, content_checksum=checksum, store_size=size)


def zstd_frame(content: bytes, checksum: bool = True, size: bool = False) -> bytes:
    parameter = zstd.CompressionParameter
    options = {parameter.checksum_flag: int(checksum), parameter.content_size_flag: int(size)}
    return zstd.compress(content, options=options)


FRAMES = {"lz4": lz4_frame, "zstd": zstd_frame}


def add(suite):
    for enc, frame in FRAMES.items():
        _good(suite, enc, frame)
        _lengths(suite, enc, frame)
        _frames(suite, enc, frame)
    _promises(suite)
    _tree(suite)


def _ok(suite, name, note, encoded, content, metadata):
    draft = Draft(f"enc-{name}", encoded, metadata)
    suite.ok(f"enc-{name}", note, draft.blob(), content, metadata=metadata)


def _fault(suite, name, note, encoded, metadata, at_most=b"", code="encoding", **where):
    draft = Draft(f"enc-{name}", encoded, metadata)
    suite.fault(f"enc-{name}", note, code, draft.blob(), at_most=at_most, **where)


def _good(suite, enc, frame):
    def ok(name, note, encoded, content):
        _ok(suite, f"{enc}-{name}", note, encoded, content, {"enc": enc, "len": len(content)})

    ok("good", f"A {enc} frame with a checksum.", frame(TEXT), TEXT)
    ok("no-checksum", f"A {enc} frame without a checksum.", frame(TEXT, checksum=False), TEXT)
    ok("with-size", f"A {enc} frame that states its decoded length.", frame(TEXT, size=True), TEXT)
    ok("nothing", f"A {enc} frame of nothing; `len` is 0.", frame(b""), b"")
    ok("many-blocks", f"A {enc} frame of several blocks that decodes to 1 MiB.",
       frame(bytes(2**20)), bytes(2**20))
    incompressible = Draft("enc/random").blob()
    ok("larger-than-content", "A frame that is larger than what it decodes to.",
       frame(incompressible), incompressible)


def _lengths(suite, enc, frame):
    def length(name, note, value, encoded=frame(TEXT), at_most=TEXT):
        _fault(suite, f"{enc}-{name}", note, encoded, {"enc": enc, "len": value}, at_most)

    size = len(TEXT)
    length("one-byte-over", "The frame decodes to one byte more than `len`.", size - 1,
           at_most=TEXT[:-1])
    length("over-zero", "`len` is 0, and the frame is not empty.", 0, at_most=b"")
    length("one-byte-short", "The frame decodes to one byte less than `len`.", size + 1)
    length("far-short", "`len` is 2^53 - 1: a reader must not make room for it.", 2**53 - 1)
    length("nothing-short", "A frame of nothing, and `len` is 1.", 1, frame(b""), b"")
    length("bomb", "A small frame that decodes to 4 MiB, where `len` says 100 bytes.", 100,
           frame(bytes(2**22)), bytes(100))


def _frames(suite, enc, frame):
    def bad(name, note, encoded, length=len(TEXT), at_most=TEXT):
        _fault(suite, f"{enc}-{name}", note, encoded, {"enc": enc, "len": length}, at_most)

    good = frame(TEXT)
    bad("cut-checksum", "The frame lacks the last byte of its checksum.", good[:-1])
    bad("cut-middle", "The frame is cut in its middle.", good[: len(good) // 2])
    bad("cut-after-magic", "Only the magic number of the frame.", good[:4], at_most=b"")
    bad("cut-to-nothing", "No frame at all.", b"", at_most=b"")
    bad("cut-to-nothing-len-0", "No frame at all, and `len` is 0: not even an empty frame.", b"",
        length=0, at_most=b"")
    bad("checksum-wrong", "One bit of the frame's checksum is flipped.",
        good[:-1] + bytes([good[-1] ^ 1]))
    bad("magic-wrong", "One bit of the frame's magic number is flipped.",
        bytes([good[0] ^ 1]) + good[1:], at_most=b"")
    bad("not-a-frame", "The content is plain text.", HELLO, length=len(HELLO), at_most=b"")
    bad("trailing-zero", "A zero byte follows the frame.", good + b"\0")
    bad("trailing-text", "Text follows the frame.", good + b"more")
    bad("second-frame", "A second frame follows the first, and `len` counts both.",
        good + frame(OTHER), len(TEXT) + len(OTHER), TEXT + OTHER)
    bad("second-empty-frame", "A frame of nothing follows the first.", good + frame(b""))
    bad("skippable-frame", "A skippable frame follows the first.",
        good + b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip")
    other = {"lz4": "zstd", "zstd": "lz4"}[enc]
    bad("other-format", f"The frame is of {other}, the metadata says {enc}.", FRAMES[other](TEXT),
        at_most=b"")


def _promises(suite):
    frame = lz4_frame(TEXT)
    size = len(TEXT)

    def bad(name, note, **metadata):
        _fault(suite, name, note, frame, metadata)

    for name, value in (
        ("gzip", "gzip"), ("upper-case", "LZ4"), ("empty", ""), ("space", "lz4 "),
        ("long", "lz4-frame"), ("none", "none"), ("constructor", "constructor"),
        ("proto", "__proto__"), ("to-string", "toString"),
    ):
        bad(f"name-{name}", f"The encoding {value!r} is unknown: what was stored must not pass "
            "for content.", enc=value, len=size)
    bad("name-bytes", "The encoding's name is a byte string.", enc=b"lz4", len=size)
    bad("name-uint", "The encoding is a number.", enc=4, len=size)
    bad("len-missing", "`len` is missing.", enc="lz4")
    bad("len-text", "`len` is text.", enc="lz4", len=str(size))
    bad("len-bytes", "`len` is a byte string.", enc="lz4", len=size.to_bytes(2, "big"))
    whole = (0, len(frame))
    for name, span in (("range", (0, 5)), ("whole-range", whole), ("empty-range", (0, 0))):
        _fault(suite, name, "Encoded content has no ranges.", frame, {"enc": "lz4", "len": size},
               code="usage", span=span)
    _ok(suite, "len-without-enc", "`len` without `enc` says nothing.", HELLO, HELLO, {"len": 5})


def _tree(suite):
    """An LZ4 frame of one stored block of zeros, large enough for a tree."""
    size = 4 * CHUNK
    settings = {"block_size": lz4.frame.BLOCKSIZE_MAX4MB, "block_linked": False}
    head = lz4.frame.LZ4FrameCompressor(**settings).begin()
    head += (size | 1 << 31).to_bytes(4, "little")  # top bit: stored, not compressed
    end_mark = bytes(4)
    encoded = head + bytes(size) + end_mark
    metadata = {"enc": "lz4", "len": size}

    def tree(name, encoded, last):
        leaves = [leaf(head.ljust(CHUNK, b"\0")), *[ZERO_LEAF] * 3, leaf(last)]
        draft = tree_draft(f"enc-{name}", row(leaves), len(encoded), metadata=metadata)
        assert draft.fields["m"] == encode(metadata)
        return draft.blob(), [c.blob for c in leaves]

    blob, children = tree("tree", encoded, encoded[size:])
    suite.ok("enc-tree", "A frame that is cut into leaves.", blob, bytes(size), size=size,
             metadata=metadata, depth=1, children=children)
    suite.fault("enc-tree-last-leaf-missing", "The last leaf of an encoded content is not in the "
                "store: the frame is not cut short, it was not read.", "not-found", blob,
                at_most=bytes(size), children=children[:-1])
    suite.fault("enc-tree-unknown-leaves-untouched", "`enc` is unknown: that shows in the root, "
                "before any leaf is asked for; none is there.", "encoding",
                _unknown(row([ZERO_LEAF] * 5), 5 * CHUNK), at_most=b"")
    cut = encoded[:-4]
    blob, children = tree("tree-cut", cut, cut[size:])
    suite.fault("enc-tree-cut", "All decoded bytes are there, the frame's end mark is not.",
                "encoding", blob, at_most=bytes(size), children=children)
    longer = encoded + b"\0"
    blob, children = tree("tree-trailing", longer, longer[size:])
    suite.fault("enc-tree-trailing", "A byte follows the frame in the last leaf.", "encoding",
                blob, at_most=bytes(size), children=children)


def _unknown(references: bytes, size: int) -> bytes:
    return tree_draft("enc-unknown", references, size, metadata={"enc": "br", "len": 1}).blob()
