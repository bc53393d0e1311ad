"""Finding a repository, its heads and its snapshots: sections 9 and 11."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import reader
from ..envelope import MAX_ROOT_BLOB, address_of
from ..errors import IdkError
from ..store import MemoryStore
from . import ed25519, records
from .checks import require
from .counting import is_settings, may_name, verified_head, why_not_allowed
from .location import ListedMarker, Location
from .names import FORGETTING, SETTINGS, Marker, chain_of
from .records import FORGET, KEYS, SNAP, UNFORGET, Head, Settings, Snapshot
from .writer_keys import owner_seed


@dataclass(frozen=True)
class FoundHead:
    marker: Marker
    head: Head
    payload: bytes


@dataclass
class Repository:
    location: Location
    identities: list[bytes]
    uuid: bytes
    owner: bytes  # public key
    refused: list[tuple[Marker, IdkError]] = field(default_factory=list)

    # --- Heads ---

    def verified(self, chain: bytes) -> Iterator[FoundHead]:
        """The heads of a chain that meet conditions 1 to 5, the newest first.

        One that cannot be read is passed over: one damaged head must not make
        all others unreadable.
        """
        now = self.location.now()
        for listed in self.location.markers(chain):
            found = self._verified(listed, now)
            if found:
                yield found

    def _verified(self, listed: ListedMarker, now: int) -> FoundHead | None:
        marker = listed.marker
        try:
            address = bytes.fromhex(marker.address)
            content = records.read_record(self.location, "head", address, self.identities)
            head, payload = verified_head(content, marker, listed.stored, now, self.uuid)
            return FoundHead(marker, head, payload)
        except IdkError as fault:
            self.refused.append((marker, fault))
            return None

    def settings(self) -> Settings:
        """The newest settings: of the first head of kind `repo` that the owner signed."""
        for found in self.verified(chain_of(self.uuid, SETTINGS)):
            if is_settings(found.head, self.owner) and found.head.settings:
                return found.head.settings
        raise IdkError("head", "the repository has no settings that count")

    def counting(self, chain: bytes) -> Iterator[FoundHead]:
        """The heads of a chain that count, the newest first."""
        settings = self.settings()
        for found in self.verified(chain):
            why = why_not_allowed(found.head, settings, self.owner)
            if why is None:
                yield found
            else:
                self.refused.append((found.marker, IdkError("head", why)))

    # --- Snapshots ---

    def snapshots(self) -> list[FoundHead]:
        """The heads of all snapshots, the newest first, each once however often it was sealed."""
        found = {
            one.payload: one
            for chain in self.location.chains()
            for one in self.counting(chain)
            if one.head.kind == SNAP
        }
        return sorted(found.values(), key=lambda one: one.marker.order)

    def resolve(self, text: str) -> FoundHead:
        """`latest`, the name of a chain, or the address of a head, or at least its first 8 digits."""
        named = [one for one in self.snapshots() if text in ("latest", one.head.name)]
        if named:
            return named[0]
        found = [one for one in self.snapshots() if one.marker.address.startswith(text)]
        if len(text) < 8 or len(found) != 1:
            raise IdkError("not-found", f"there is no snapshot {text!r}, or more than one")
        return found[0]

    def open(self, found: FoundHead) -> Snapshot:
        head = found.head
        assert head.subject is not None
        content = records.read_record(self.location, "snapshot", head.subject, self.identities)
        snapshot = records.parse_snapshot(content)
        same = (snapshot.repository, snapshot.chain) == (head.repository, head.chain)
        require(same, "the snapshot is of another repository or chain than its head")
        return snapshot

    def packs(self, found: FoundHead) -> set[bytes]:
        """The addresses of all packs that a snapshot needs, by its reach (section 8)."""
        assert found.head.reach is not None
        reach = self.read_reach(found.head.reach)
        return records.packs_of(reach, [self.read_reach(one) for one in reach.earlier])

    def read_reach(self, address: bytes) -> records.Reach:
        content = records.read_record(self.location, "reach", address, self.identities)
        return records.parse_reach(content)

    def forgotten(self) -> set[bytes]:
        """The payloads of all heads that a `forget` in force names (section 10)."""
        settings = self.settings()
        decided: dict[bytes, bool] = {}
        heads = [one for chain in self.location.chains() for one in self.counting(chain)]
        by_marker = {bytes(one.marker): one for one in heads}
        for forgetting in self.counting(chain_of(self.uuid, FORGETTING)):
            if forgetting.head.kind not in (FORGET, UNFORGET):
                continue
            for item in forgetting.head.markers:
                named = by_marker.get(item)
                if named and may_name(forgetting.head, named.head.name, settings, self.owner):
                    # Newest first, so what is decided stays.
                    decided.setdefault(named.payload, forgetting.head.kind == FORGET)
        return {payload for payload, is_forgotten in decided.items() if is_forgotten}

    # --- Sessions ---

    def secret_of(self, session: bytes, snapshot: Snapshot) -> bytes:
        """The secret of a session (section 11, "Opening packs")."""
        blob = snapshot.session_keys.get(session)
        require(blob is not None, f"the snapshot has no key of the session {session.hex()}")
        assert blob is not None
        try:
            return open_session_key(blob, self.identities)
        except IdkError as fault:
            if fault.code != "no-match":
                raise
        for found in self.counting(chain_of(self.uuid, FORGETTING)):
            secret = self._given_secrets(found).get(session)
            if secret is not None:
                return secret
        raise IdkError("no-match", f"no identity opens the session {session.hex()}")

    def _given_secrets(self, found: FoundHead) -> dict[bytes, bytes]:
        if found.head.kind != KEYS or found.head.subject is None:
            return {}
        try:
            content = records.read_record(
                self.location, "keys", found.head.subject, self.identities
            )
            uuid, secrets = records.parse_keys(content)
        except IdkError as fault:  # older ones may still have the key
            self.refused.append((found.marker, fault))
            return {}
        return secrets if uuid == self.uuid else {}


def open_session_key(blob: bytes, identities: list[bytes]) -> bytes:
    """The secret in a session key blob, which is a whole root."""
    require(len(blob) <= MAX_ROOT_BLOB, "a session key blob is longer than any root")
    address = address_of(blob)
    opened = reader.open_root(MemoryStore({address: blob}), address, identities)
    require(opened.root.depth == 0 and opened.root.size == records.SECRET, "not a session's key")
    return opened.root.payload


def open_repository(location: Location, identities: list[bytes]) -> Repository:
    """Section 11, "Finding a repository": with nothing but the owner's own identity file."""
    owner = ed25519.public_key(owner_seed(identities[0]))
    found = set()
    for chain in location.chains():
        uuid = _settings_in(location, chain, identities, owner)
        if uuid is not None:
            found.add(uuid)
    if not found:
        raise IdkError("not-found", "no repository here that this identity owns")
    if len(found) > 1:
        raise IdkError("head", "the settings of several repositories of this owner lie here")
    return Repository(location, identities, found.pop(), owner)


def _settings_in(
    location: Location, chain: bytes, identities: list[bytes], owner: bytes
) -> bytes | None:
    """The uuid of a repository if this is its chain of settings, and the owner signed one."""
    now = location.now()
    for listed in location.markers(chain):
        try:
            address = bytes.fromhex(listed.marker.address)
            content = records.read_record(location, "head", address, identities)
            claim, _, _ = records.parse_head(content)
            if chain_of(claim.repository, claim.name) != chain:
                continue
            if claim.name != SETTINGS:
                return None
            head, _ = verified_head(content, listed.marker, listed.stored, now, claim.repository)
        except IdkError:
            continue
        if is_settings(head, owner):
            return head.repository
    return None
