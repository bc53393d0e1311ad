"""A session: packs on their way to the store, section 6.

Packs are sealed in the order in which they have to be stored: all data packs
first, then metadata packs, each after those that it refers to. A pack has no row
before it is sealed, so what refers to one refers to the object until then.
"""

import io
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..store import MemoryStore, Store
from ..writer import Writer
from . import frames
from .packs import DATA, FULL, MAX_FRAME, META, ROW_LENGTH, Row, encode_metadata, fill_up, seal_pack


@dataclass(eq=False)
class Pack:
    row: Row | None = None


@dataclass(eq=False)
class DataPack(Pack):
    content: bytearray = field(default_factory=bytearray)


@dataclass(eq=False)
class MetadataPack(Pack):
    content: bytearray = field(default_factory=bytearray)  # what the frame will decode to
    refers_to: dict[Pack, int] = field(default_factory=dict)  # and their rows, in order

    def number(self, pack: Pack) -> int:
        """The row of a pack; a new row if it has none yet."""
        if pack is self:
            return 0
        return self.refers_to.setdefault(pack, len(self.refers_to) + 1)

    def fits(self, length: int, packs: Iterable[Pack]) -> bool:
        new = {pack for pack in packs if pack not in self.refers_to and pack is not self}
        rows = 1 + len(self.refers_to) + len(new)
        used = 8 + ROW_LENGTH * rows + frame_bound(len(self.content) + length)
        return used <= FULL[META] and len(self.content) + length <= MAX_FRAME


def frame_bound(length: int) -> int:
    """No zstd frame of so many bytes is longer (ZSTD_COMPRESSBOUND)."""
    return length + (length >> 8) + 64 + 18


@dataclass
class Session:
    store: Store
    uuid: bytes = field(default_factory=lambda: os.urandom(16))
    secret: bytes = field(default_factory=lambda: os.urandom(32))  # never leaves memory
    stored: set[bytes] = field(default_factory=set)  # addresses of its packs
    stored_bytes: int = 0
    _data: DataPack = field(default_factory=DataPack)
    _metadata: list[MetadataPack] = field(default_factory=lambda: [MetadataPack()])

    def key_blob(self, recipients: list[bytes]) -> bytes:
        """The session key blob: a whole root whose content is the secret."""
        memory = MemoryStore()
        written = Writer(memory, recipients).write(io.BytesIO(self.secret), len(self.secret))
        return memory.blobs[written.address]

    def add_piece(self, stored: bytes) -> tuple[DataPack, int]:
        """Where a piece lies: it never straddles two packs."""
        if len(self._data.content) + len(stored) > FULL[DATA]:
            self._seal(self._data, DATA, bytes(self._data.content), is_last=False)
            self._data = DataPack()
        offset = len(self._data.content)
        self._data.content += stored
        return self._data, offset

    def add_metadata(
        self, encode: Callable[[Callable[[Pack], int]], bytes], packs: Iterable[Pack]
    ) -> tuple[MetadataPack, int, int]:
        """Where a node or list lies: pack, offset and length. `encode` is given the row numbers."""
        longest = len(encode(lambda _: 2**16 - 1))
        if not self._metadata[-1].fits(longest, packs):
            self._metadata.append(MetadataPack())
        pack = self._metadata[-1]
        encoded = encode(pack.number)
        offset = len(pack.content)
        pack.content += encoded
        return pack, offset, len(encoded)

    def finish(self) -> None:
        """Seals all that is left. Afterwards every pack has its row."""
        if self._data.content:
            self._seal(self._data, DATA, bytes(self._data.content), is_last=True)
        packs = [pack for pack in self._metadata if pack.content]
        for pack in packs:
            rows = [one.row for one in pack.refers_to if one.row]
            assert len(rows) == len(pack.refers_to), "what a pack refers to is stored before it"
            plaintext = encode_metadata(rows, frames.encode_zstd(bytes(pack.content)))
            self._seal(pack, META, plaintext, is_last=pack is packs[-1])

    def _seal(self, pack: Pack, sort: str, used: bytes, is_last: bool) -> None:
        plaintext = fill_up(sort, used, is_last)
        row, blob = seal_pack(self.uuid, self.secret, sort, plaintext, os.urandom(32))
        self.store.put(row.address.hex(), blob)
        self.stored.add(row.address)
        self.stored_bytes += len(blob)
        pack.row = row
