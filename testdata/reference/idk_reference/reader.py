"""From an address to content. Nothing is released before it is verified.

`open_root` reads one blob and returns everything about the content except its
bytes. `Opened.content` is a generator: every piece it yields comes from a chunk
that has passed all checks, in order, so the bytes released before a fault are
well-defined.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from . import encodings, envelope, keys, root as root_plaintext, tree
from .errors import IdkError
from .store import Store, check_address


def fetch(store: Store, address: str, kind: str) -> envelope.Envelope:
    blob = store.get(address, envelope.size_limit(kind))  # limit, not-found
    if envelope.address_of(blob) != address:
        raise IdkError("address", "the bytes do not hash to the address")
    return envelope.parse(blob, kind)  # format


def open_root(store: Store, address: str, identities: list[bytes]) -> "Opened":
    check_address(address)
    sealed = fetch(store, address, "root")
    content_key = _content_key(sealed, identities)  # no-match
    plaintext = sealed.open(content_key, "root")  # commit, auth
    root = root_plaintext.decode(plaintext)  # root
    return Opened(store, root, len(sealed.slots), {address})


def _content_key(sealed: envelope.Envelope, identities: list[bytes]) -> bytes:
    for identity in identities:
        found = keys.unwrap(sealed.slots, sealed.ephemeral, identity)
        if found is not None:
            return found
    raise IdkError("no-match", "no identity opens this blob")


@dataclass
class Opened:
    store: Store
    root: root_plaintext.Root
    recipients: int
    fetched: set[str] = field(default_factory=set)  # addresses

    @property
    def size(self) -> int:
        """The number of bytes that a full read releases."""
        if encodings.is_encoded(self.root.metadata):
            return encodings.decoded_length(self.root.metadata)
        return self.root.size

    def content(self, start: int | None = None, end: int | None = None) -> Iterator[bytes]:
        """Yield the whole content, or the bytes from start to end (exclusive)."""
        whole = start is None and end is None
        start = 0 if start is None else start
        end = self.root.size if end is None else end
        encoded = encodings.is_encoded(self.root.metadata)
        if not 0 <= start <= end <= self.root.size:
            raise IdkError("usage", "not a range of the content")
        if encoded and not whole:
            raise IdkError("usage", "encoded content has no ranges")

        if self.root.depth == 0:
            pieces = iter([self.root.payload[start:end]])
        elif whole:
            # Chunks that hold only padding are read too: a full read verifies
            # the whole stream.
            pieces = self._pieces(0, end, range(self.root.shape.counts[0]))
        else:
            chunk = self.root.shape.chunk
            touched = range(start // chunk, tree.ceil_div(end, chunk) if start < end else 0)
            pieces = self._pieces(start, end, touched)

        yield from encodings.decode(self.root.metadata, pieces) if encoded else pieces

    def _pieces(self, start: int, end: int, leaves: range) -> Iterator[bytes]:
        chunk = self.root.shape.chunk
        top = tree.split_references(self.root.payload)
        for index, leaf in self._leaves(self.root.depth, 0, top, leaves):
            offset = index * chunk
            piece = leaf[max(0, start - offset) : max(0, end - offset)]
            if piece:
                yield piece

    def _leaves(
        self, level: int, first: int, references: list[tree.Reference], wanted: range
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the wanted leaves below these references, with their indices."""
        for index, reference in enumerate(references, first):
            under = self.root.shape.leaves_under(level, index)
            if under.stop <= wanted.start or wanted.stop <= under.start:
                continue
            plaintext = self._child(level, index, reference)
            if level == 1:
                yield index, plaintext
            else:
                below = tree.split_references(plaintext)
                yield from self._leaves(level - 1, index * tree.FANOUT, below, wanted)

    def _child(self, level: int, index: int, reference: tree.Reference) -> bytes:
        kind = "leaf" if level == 1 else "node"
        address = reference.address.hex()
        sealed = fetch(self.store, address, kind)
        self.fetched.add(address)
        plaintext = sealed.open(reference.key, kind)
        self.root.shape.check_child(level, index, plaintext)  # tree
        return plaintext
