"""From folders to a snapshot: sections 7 and 8.

The order of storing is that of the protocol: data packs, metadata packs,
snapshot, reach, head, marker; each needs only what is there before it.
"""

import grp
import hashlib
import os
import pwd
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import keys
from . import ed25519, records
from .checks import require
from .content import LZ4, MAX_ITEMS, RAW, ZSTD, Hole, NodeReference, Piece, PieceList
from .content import compress, encode_item
from .cbor_t import ARRAY, encode, head
from .cutting import cut, packs_of
from .entries import (
    BLOCK, CHARACTER, DIRECTORY, FIFO, FILE, LINK, SOCKET, Entry, encode_node, tree_id,
)
from .location import Location
from .names import HOUR_MS, SETTINGS, Marker, chain_of, is_ordinary_name
from .records import REPO, SNAP, Head, Reach, Rule, Settings, Snapshot
from .repository import Repository, open_repository
from .session import Pack, Session
from .writer_keys import owner_seed

TYPES = {
    stat.S_IFREG: FILE, stat.S_IFDIR: DIRECTORY, stat.S_IFLNK: LINK, stat.S_IFIFO: FIFO,
    stat.S_IFSOCK: SOCKET, stat.S_IFCHR: CHARACTER, stat.S_IFBLK: BLOCK,
}
COMPRESSION = {"none": RAW, "lz4": LZ4, "zstd": ZSTD}
MAX_ATTRIBUTES = 2**16
GRACE = 7 * 24 * 60 * 60


@dataclass(frozen=True)
class Sizes:
    """How contents are cut. Readers take any cut, so that tests can choose small ones."""

    piece: int = 2**20
    hole: int = 2**20  # zeros that make a hole
    items: int = MAX_ITEMS  # of an entry or list


def create_repository(
    location: Location, identities: list[bytes], grace: int = GRACE, rules: tuple[Rule, ...] = ()
) -> Repository:
    """A new repository of one person, who is its owner, writer and reader."""
    require(not location.chains(), "there is a repository already", "usage")
    seed, uuid = owner_seed(identities[0]), os.urandom(16)
    settings = Settings(grace, list(rules))
    repository = Repository(location, identities, uuid, ed25519.public_key(seed))
    recipients = [keys.public_key(one) for one in identities]
    put_head(repository, seed, recipients, SETTINGS, REPO, settings=settings)
    return open_repository(location, identities)


def put_head(
    repository: Repository, seed: bytes, recipients: list[bytes], name: str, kind: str, **more
) -> Marker:
    """Signs and stores a head, then its marker, which makes it a part of the chain."""
    location, chain = repository.location, chain_of(repository.uuid, name)
    before = [one.marker for one in location.markers(chain)][:1]
    now = location.now()
    ahead = before and before[0].generation > now + 23 * HOUR_MS
    previous = [] if ahead else before
    generation = max([now, *(marker.generation + 1 for marker in previous)])
    signed = Head(
        repository=repository.uuid, chain=chain, generation=generation,
        previous=[bytes.fromhex(marker.address) for marker in previous], time=now,
        writer=ed25519.public_key(seed), name=name, kind=kind, **more,
    )
    content = records.encode_head(signed, seed)
    address = records.write_record(location, "head", content, recipients)
    marker = Marker(chain, generation, address.hex())
    location.put_marker(marker)
    return marker


@dataclass
class Backup:
    """One session that stores everything it is given, and a head of kind `snap` at its end."""

    repository: Repository
    recipients: list[bytes]
    seed: bytes
    name: str
    compression: str = "zstd"
    sizes: Sizes = Sizes()
    message: str | None = None
    tags: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self):
        require(is_ordinary_name(self.name), f"{self.name!r} is not a name of snapshots", "usage")
        self.session = Session(self.repository.location)
        self.totals = dict.fromkeys(records.TOTALS, 0)
        self._places: dict[bytes, Piece] = {}  # pieces of this session by their hash
        self._groups: dict[tuple[int, int], int] = {}  # hard links

    def run(self, paths: list[bytes]) -> Marker:
        location, start = self.repository.location, self.repository.location.now()
        real = [os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
                for path in map(os.path.abspath, paths)]
        base = self._base()
        root = self._given(b"/", _branches(real))
        references = self._nodes(root)
        self.session.finish()
        self.totals["stored"] = self.session.stored_bytes
        snapshot = Snapshot(
            repository=self.repository.uuid, chain=chain_of(self.repository.uuid, self.name),
            root=[NodeReference(one.place.row, one.offset, one.length, one.name)
                  for one in references],
            tree_id=tree_id(root),
            session_keys={self.session.uuid: self.session.key_blob(self.recipients)}
            if self.session.stored else {},
            host=socket.gethostname(), user=_name(pwd.getpwuid, os.getuid()) or str(os.getuid()),
            paths=paths, excludes=[], start=start, end=location.now(), totals=self.totals,
        )
        return self._publish(snapshot, base)

    def _publish(self, snapshot: Snapshot, base: tuple[bytes, Reach] | None) -> Marker:
        location = self.repository.location
        write = records.write_record
        subject = write(location, "snapshot", records.encode_snapshot(snapshot), self.recipients)
        addresses = base[1].earlier if base else []
        earlier = [(one, self.repository.read_reach(one)) for one in addresses]
        before = records.packs_of(base[1], [one for _, one in earlier]) if base else set()
        reach = records.next_reach(base, earlier, before, self.session.stored)
        reach_address = write(location, "reach", records.encode_reach(reach), self.recipients)
        return put_head(
            self.repository, self.seed, self.recipients, self.name, SNAP, subject=subject,
            reach=reach_address, message=self.message, tags=self.tags,
        )

    def _base(self) -> tuple[bytes, Reach] | None:
        """The reach of the newest head. No pack of it is reused."""
        for found in self.repository.counting(chain_of(self.repository.uuid, self.name)):
            if found.head.reach:
                return found.head.reach, self.repository.read_reach(found.head.reach)
        return None

    # --- Directories ---

    def _given(self, path: bytes, branches: dict) -> list[Entry]:
        """The entries of a directory above the given paths: only what leads to them."""
        entries = []
        for name in sorted(branches):
            inner, below = os.path.join(path, name), branches[name]
            entries.append(self._entry(inner, name, self._given(inner, below) if below else None))
        return entries

    def _directory(self, path: bytes) -> list[Entry]:
        names = sorted(os.listdir(path))
        return [self._entry(os.path.join(path, name), name) for name in names]

    def _nodes(self, entries: list[Entry]) -> list[NodeReference]:
        """Stores a directory's nodes, after those of the directories in it."""
        references = []
        for part in cut(entries):
            packs: set[Pack] = set().union(*(packs_of(entry) for entry in part))
            place, offset, length = self.session.add_metadata(
                lambda number, part=part: encode_node(part, number), packs
            )
            references.append(NodeReference(place, offset, length, part[0].name))
        return references

    def _entry(self, path: bytes, name: bytes, inner: list[Entry] | None = None) -> Entry:
        status = os.lstat(path)
        kind = TYPES[stat.S_IFMT(status.st_mode)]
        content, hash_, size = None, None, 0
        if kind == DIRECTORY:
            inner = self._directory(path) if inner is None else inner
            content, hash_ = self._nodes(inner), tree_id(inner)
        elif kind == FILE:
            content, hash_, size = self._file(path)
        elif kind == LINK:
            content = os.readlink(path)
        elif kind in (CHARACTER, BLOCK):
            content = [os.major(status.st_rdev), os.minor(status.st_rdev)]
        self.totals["dirs" if kind == DIRECTORY else "files"] += 1
        self.totals["bytes"] += size
        seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
        return Entry(
            name, kind, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, seconds,
            nanoseconds, size, content, hash_, self._extra(path, kind, status),
        )

    def _extra(self, path: bytes, kind: int, status: os.stat_result) -> dict:
        extra: dict = {}
        for key, name in ("u", _name(pwd.getpwuid, status.st_uid)), (
            "g", _name(grp.getgrgid, status.st_gid)
        ):
            if name:
                extra[key] = name
        if kind != DIRECTORY and status.st_nlink > 1:
            group = status.st_dev, status.st_ino
            extra["l"] = self._groups.setdefault(group, len(self._groups) + 1)
        attributes = self._attributes(path)
        if attributes:
            extra["x"] = attributes
        return extra

    def _attributes(self, path: bytes) -> dict[str, bytes]:
        attributes, total = {}, 0
        for name in os.listxattr(path, follow_symlinks=False):
            value = os.getxattr(path, name, follow_symlinks=False)
            length = len(os.fsencode(name)) + len(value)
            if total + length > MAX_ATTRIBUTES:
                self.left_out.append(f"{path!r}: the attribute {name!r} is too long")
                continue
            total += length
            attributes[name] = value
        return attributes

    # --- Files ---

    def _file(self, path: bytes) -> tuple[list, bytes, int]:
        digest, size, items = hashlib.sha256(), 0, []
        for part in self._parts(path):
            length = part.length if isinstance(part, Hole) else len(part)
            size += length
            if isinstance(part, Hole):
                _hash_zeros(digest, length)
                items.append(part)
            else:
                digest.update(part)
                items.append(self._piece(part))
        while len(items) > self.sizes.items:
            groups = range(0, len(items), self.sizes.items)
            items = [self._list(items[at : at + self.sizes.items]) for at in groups]
        return items, digest.digest(), size

    def _parts(self, path: bytes) -> Iterator[bytes | Hole]:
        """Pieces, and holes where there are enough zeros; neighbouring holes are one."""
        zeros = 0
        with open(path, "rb") as file:
            while part := file.read(self.sizes.piece):
                if part.count(0) == len(part):
                    zeros += len(part)
                    continue
                yield from self._zeros(zeros)
                zeros = 0
                yield part
        yield from self._zeros(zeros)

    def _zeros(self, length: int) -> Iterator[bytes | Hole]:
        if length >= self.sizes.hole:
            yield Hole(length)
        else:
            for at in range(0, length, self.sizes.piece):
                yield bytes(min(self.sizes.piece, length - at))

    def _piece(self, part: bytes) -> Piece:
        digest = keys.sha256(part)
        if digest not in self._places:
            stored, enc = compress(part, COMPRESSION[self.compression])
            pack, offset = self.session.add_piece(stored)
            self._places[digest] = Piece(pack, offset, len(stored), len(part), enc)
            self.totals["new"] += len(part)
        return self._places[digest]

    def _list(self, items: list) -> PieceList:
        packs = {item.place for item in items if not isinstance(item, Hole)}
        place, offset, stored = self.session.add_metadata(
            lambda number: head(ARRAY, len(items))
            + b"".join(encode(encode_item(item, number)) for item in items),
            packs,
        )
        return PieceList(place, offset, stored, sum(item.length for item in items))


def _branches(paths: list[bytes]) -> dict:
    """The given paths as a tree of names; what is below a given path is a part of it."""
    root: dict = {}
    for path in sorted(paths):
        names = [name for name in path.split(b"/") if name]
        at = root
        for index, name in enumerate(names):
            if at.get(name) == {} and index < len(names):
                break  # given already, with all below
            at = at.setdefault(name, {})
    return root


def _hash_zeros(digest, length: int) -> None:
    block = bytes(2**20)
    for at in range(0, length, len(block)):
        digest.update(block[: length - at])


def _name(look_up, number: int) -> str | None:
    try:
        return look_up(number)[0]
    except KeyError:
        return None
