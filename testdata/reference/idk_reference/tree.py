"""The shape of a tree, which follows from n, p and k.

The stream is the content and p zero bytes, cut into leaves of 2^k bytes. A node
holds references to up to 4096 consecutive blobs of the level below. Levels are
added until the top level has at most 4096 blobs; the root refers to those.
Level 1 is the leaves.
"""

from dataclasses import dataclass
from functools import cached_property

from .errors import IdkError

FANOUT = 4096
REFERENCE_LENGTH = 64  # address(32) || content key(32)
MAX_INLINE = 2**20
MIN_CHUNK_LOG2, DEFAULT_CHUNK_LOG2, MAX_CHUNK_LOG2 = 18, 22, 24


@dataclass(frozen=True)
class Reference:
    address: bytes
    key: bytes

    def __bytes__(self) -> bytes:
        return self.address + self.key


def split_references(data: bytes) -> list[Reference]:
    step = REFERENCE_LENGTH
    return [Reference(data[i : i + 32], data[i + 32 : i + step]) for i in range(0, len(data), step)]


@dataclass(frozen=True)
class Shape:
    content: int  # n
    padding: int  # p
    chunk: int  # C = 2^k

    @property
    def stream(self) -> int:
        return self.content + self.padding

    @cached_property
    def counts(self) -> list[int]:
        """The number of blobs in each level; counts[0] is the number of leaves."""
        counts = [ceil_div(self.stream, self.chunk)]
        while counts[-1] > FANOUT:
            counts.append(ceil_div(counts[-1], FANOUT))
        return counts

    @property
    def depth(self) -> int:
        return len(self.counts)

    def plaintext_length(self, level: int, index: int) -> int:
        if level == 1:
            return min(self.chunk, self.stream - index * self.chunk)
        below = self.counts[level - 2]
        return REFERENCE_LENGTH * min(FANOUT, below - index * FANOUT)

    def leaves_under(self, level: int, index: int) -> range:
        width = FANOUT ** (level - 1)
        return range(index * width, min((index + 1) * width, self.counts[0]))

    def check_child(self, level: int, index: int, plaintext: bytes) -> None:
        if len(plaintext) != self.plaintext_length(level, index):
            raise IdkError("tree", "a child does not have the length its position requires")
        if level == 1:
            zeros_from = max(0, min(self.content - index * self.chunk, len(plaintext)))
            if plaintext.count(0, zeros_from) != len(plaintext) - zeros_from:
                raise IdkError("tree", "the padding of the stream is not zero")


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)
