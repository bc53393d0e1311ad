"""Chains and markers, section 4."""

import re
from dataclasses import dataclass

from .. import keys
from ..cbor_profile import MAX_UINT

SETTINGS, FORGETTING = "", "."  # the two reserved names

HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS

MARKER = re.compile(r"([0-9a-f]{32})/([0-9a-f]{16})-([0-9a-f]{64})\Z")
CONTROL = re.compile(r"[\u0000-\u001f\u007f-\u009f]")


def chain_of(repository: bytes, name: str) -> bytes:
    return keys.sha256(b"idk/v1/chain" + repository + name.encode("utf-8"))[:16]


def is_ordinary_name(name: str) -> bool:
    """Whether a chain of snapshots may have this name."""
    length = len(name.encode("utf-8"))
    return 1 <= length <= 255 and not name.startswith(".") and not CONTROL.search(name)


@dataclass(frozen=True)
class Marker:
    chain: bytes
    generation: int
    address: str

    @property
    def inverted(self) -> int:
        """What orders the names: the newest comes first."""
        return 2**64 - 1 - self.generation

    @property
    def order(self) -> tuple[int, str]:
        """Within a chain, markers in this order are in the order of their names."""
        return self.inverted, self.address

    def __str__(self) -> str:
        return f"{self.chain.hex()}/{self.inverted:016x}-{self.address}"

    def __bytes__(self) -> bytes:
        """As the item of a head's `o`, 56 bytes."""
        return self.chain + self.inverted.to_bytes(8, "big") + bytes.fromhex(self.address)


def parse_marker(name: str) -> Marker | None:
    """The marker of a name below `heads/`, or None: every other name is to be ignored."""
    match = MARKER.match(name)
    if not match:
        return None
    generation = 2**64 - 1 - int(match[2], 16)
    return Marker(bytes.fromhex(match[1]), generation, match[3]) if generation <= MAX_UINT else None


def marker_of_bytes(item: bytes) -> Marker | None:
    return parse_marker(f"{item[:16].hex()}/{item[16:24].hex()}-{item[24:].hex()}")


def is_too_far_ahead(marker: Marker, stored: int, now: int) -> bool:
    """`stored`: the store's time for the marker; `now`: the store's clock; both in milliseconds."""
    return marker.generation > min(stored, now) + DAY_MS
