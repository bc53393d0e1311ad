"""Content stored compressed: metadata `enc` and `len`.

`len` is a hard cap, so a small blob cannot make a reader produce more than it
announced. The content is exactly one frame; nothing may follow it.
"""

from collections.abc import Iterator

import lz4.frame
from backports import zstd

from .errors import IdkError

# Both decoders have the same interface: decompress(data, max_length), eof,
# needs_input, unused_data.
DECODERS = {"lz4": lz4.frame.LZ4FrameDecompressor, "zstd": zstd.ZstdDecompressor}
DECODE_ERRORS = (RuntimeError, zstd.ZstdError)
PIECE = 2**20


def is_encoded(metadata: dict) -> bool:
    return "enc" in metadata


def decoded_length(metadata: dict) -> int:
    enc, length = metadata["enc"], metadata.get("len")
    if not isinstance(enc, str) or enc not in DECODERS:
        raise IdkError("encoding", "the encoding is unknown")
    if not isinstance(length, int):
        raise IdkError("encoding", "the decoded length is missing")
    return length


def decode(metadata: dict, pieces: Iterator[bytes]) -> Iterator[bytes]:
    remaining = decoded_length(metadata)
    decoder = DECODERS[metadata["enc"]]()
    for data in pieces:
        if decoder.eof:
            raise IdkError("encoding", "bytes follow the frame")
        while True:
            # One byte beyond the remainder is enough to detect an output longer than `len`.
            out = _step(decoder, data, min(PIECE, remaining + 1))
            if len(out) > remaining:
                raise IdkError("encoding", "the content is longer than announced")
            remaining -= len(out)
            if out:
                yield out
            if decoder.eof or decoder.needs_input:
                break
            data = b""
        if decoder.eof and decoder.unused_data:
            raise IdkError("encoding", "bytes follow the frame")
    if not decoder.eof:
        raise IdkError("encoding", "the frame is truncated")
    if remaining:
        raise IdkError("encoding", "the content is shorter than announced")


def _step(decoder, data: bytes, max_length: int) -> bytes:
    try:
        return decoder.decompress(data, max_length=max_length)
    except DECODE_ERRORS as fault:
        raise IdkError("encoding", str(fault)) from None
