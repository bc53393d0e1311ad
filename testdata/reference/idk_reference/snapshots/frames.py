"""Compressed bytes, section 6, "Frames and blocks": exactly one frame or block.

A decoder stops as soon as there is one byte more than allowed, not once it has
produced all of it.
"""

import lz4.block
from backports import zstd

from ..errors import IdkError

ZSTD_MAGIC = bytes.fromhex("28b52ffd")
MAX_WINDOW = 2**23


def decode_zstd(frame: bytes, most: int, least: int = 0) -> bytes:
    """The content of one zstd frame (RFC 8878), from `least` to `most` bytes long."""
    _check_header(frame)
    decoder = zstd.ZstdDecompressor(
        options={zstd.DecompressionParameter.window_log_max: MAX_WINDOW.bit_length() - 1}
    )
    try:
        content = decoder.decompress(frame, max_length=most + 1)
        while not decoder.eof and not decoder.needs_input and len(content) <= most:
            content += decoder.decompress(b"", max_length=most + 1 - len(content))
    except zstd.ZstdError as fault:
        raise IdkError("tree", f"not a zstd frame: {fault}") from None
    _require(len(content) <= most, f"a frame decodes to more than {most} bytes")
    _require(decoder.eof, "a frame is truncated")
    _require(not decoder.unused_data, "bytes follow a frame")
    _require(len(content) >= least, f"a frame decodes to less than {least} bytes")
    return content


def encode_zstd(content: bytes) -> bytes:
    return zstd.compress(content, level=3)


def decode_lz4(block: bytes, length: int) -> bytes:
    """The content of one LZ4 block that uses up all bytes."""
    try:
        # Never writes beyond this length, and reads a block to its last byte.
        content = lz4.block.decompress(block, uncompressed_size=length)
    except (lz4.block.LZ4BlockError, ValueError, MemoryError) as fault:
        raise IdkError("tree", f"not an LZ4 block of {length} bytes: {fault}") from None
    _require(len(content) == length, f"an LZ4 block does not decode to {length} bytes")
    return content


def encode_lz4(content: bytes) -> bytes:
    return lz4.block.compress(content, store_size=False)


def _check_header(frame: bytes) -> None:
    """RFC 8878, section 3.1.1.1: no skippable frame, no dictionary, and a small window."""
    _require(frame[:4] == ZSTD_MAGIC and len(frame) > 5, "not a zstd frame")
    descriptor = frame[4]
    single_segment, dictionary = descriptor & 0x20, descriptor & 3
    _require(not dictionary, "a frame has a dictionary")
    if single_segment:
        size = (1, 2, 4, 8)[descriptor >> 6]
        window = int.from_bytes(frame[5 : 5 + size], "little") + (256 if size == 2 else 0)
    else:
        base = 1 << 10 + (frame[5] >> 3)
        window = base + base // 8 * (frame[5] & 7)
    _require(window <= MAX_WINDOW, "a frame has too large a window")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise IdkError("tree", message)
