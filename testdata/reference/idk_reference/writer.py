"""From content to an address.

Leaves are written first and the root last, so that every stored root is
complete. Without a dedup secret every key is random, and equal contents give
unrelated addresses.
"""

import os
from dataclasses import dataclass, field
from typing import BinaryIO

from . import envelope, keys, tree
from .errors import IdkError
from .padme import padme
from .root import Root
from .store import Store


@dataclass
class Written:
    address: str
    content_key: bytes
    root_bytes: int
    blobs: int  # distinct blobs, including the root
    padding: int
    depth: int


@dataclass
class Writer:
    store: Store
    recipients: list[bytes]
    metadata: dict = field(default_factory=dict)
    chunk_log2: int = tree.DEFAULT_CHUNK_LOG2
    padded: bool = True
    dedup_secret: bytes | None = None

    def __post_init__(self):
        for recipient in self.recipients:
            keys.check_recipient(recipient)
        self.recipients = sorted(set(self.recipients))
        if not 1 <= len(self.recipients) <= envelope.MAX_RECIPIENTS:
            raise IdkError("usage", "there must be 1 to 1024 recipients")
        if not tree.MIN_CHUNK_LOG2 <= self.chunk_log2 <= tree.MAX_CHUNK_LOG2:
            raise IdkError("usage", "the chunk size must be 2^18 to 2^24")
        if self.dedup_secret is not None and len(self.dedup_secret) != keys.KEY_LENGTH:
            raise IdkError("usage", "a dedup secret must have 32 bytes")
        self._stored: set[str] = set()

    def write(self, source: BinaryIO, size: int) -> Written:
        """Write `size` bytes of content from `source`."""
        if size <= tree.MAX_INLINE:
            root = Root(size, 0, 0, 0, self.metadata, _read_exactly(source, size))
        else:
            root = self._write_tree(source, size)
        if source.read(1):
            raise IdkError("usage", "the source is longer than the given size")
        return self._write_root(root)

    # --- Tree ---

    def _write_tree(self, source: BinaryIO, size: int) -> Root:
        padding = padme(size) - size if self.padded else 0
        shape = tree.Shape(size, padding, 1 << self.chunk_log2)
        row = [self._write_leaf(source, shape, i) for i in range(shape.counts[0])]
        while len(row) > tree.FANOUT:
            row = [
                self._write_child("node", b"".join(map(bytes, row[i : i + tree.FANOUT])))
                for i in range(0, len(row), tree.FANOUT)
            ]
        references = b"".join(map(bytes, row))
        return Root(size, padding, shape.depth, self.chunk_log2, self.metadata, references)

    def _write_leaf(self, source: BinaryIO, shape: tree.Shape, index: int) -> tree.Reference:
        content = max(0, min(shape.chunk, shape.content - index * shape.chunk))
        plaintext = _read_exactly(source, content)
        return self._write_child("leaf", plaintext.ljust(shape.plaintext_length(1, index), b"\0"))

    def _write_child(self, kind: str, plaintext: bytes) -> tree.Reference:
        if self.dedup_secret is None:
            key = os.urandom(keys.KEY_LENGTH)
        else:
            key = keys.convergent_child_key(self.dedup_secret, kind, plaintext)
        address = self._put(envelope.seal_blob(kind, key, {}, plaintext))
        return tree.Reference(bytes.fromhex(address), key)

    # --- Root ---

    def _write_root(self, root: Root) -> Written:
        plaintext = root.encode(self.padded)
        if self.dedup_secret is None:
            key, ephemeral = os.urandom(keys.KEY_LENGTH), os.urandom(keys.KEY_LENGTH)
        else:
            key, ephemeral = keys.convergent_root_keys(
                self.dedup_secret, self.recipients, plaintext
            )
        header = {
            "e": keys.public_key(ephemeral),
            "w": b"".join(keys.wrap(key, recipient, ephemeral) for recipient in self.recipients),
        }
        blob = envelope.seal_blob("root", key, header, plaintext)
        address = self._put(blob)
        return Written(address, key, len(blob), len(self._stored), root.padding, root.depth)

    def _put(self, blob: bytes) -> str:
        address = envelope.address_of(blob)
        # Skipping is safe only for blobs that this writer has just stored itself.
        # The existence of a name in the store proves nothing.
        if address not in self._stored:
            self.store.put(address, blob)
            self._stored.add(address)
        return address


def _read_exactly(source: BinaryIO, length: int) -> bytes:
    data = source.read(length)
    if len(data) != length:
        raise IdkError("usage", "the source is shorter than the given size")
    return data
