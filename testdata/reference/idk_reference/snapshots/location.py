"""The folder `repo/` of a store on a disk, section 4.

    repo/<first two digits of the address>/<address>      blobs
    repo/heads/<chain>/<2^64-1-g>-<address of the head>   markers, empty
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from ..errors import IdkError
from ..store import DirectoryStore
from .names import Marker, parse_marker


@dataclass(frozen=True)
class ListedMarker:
    marker: Marker
    stored: int  # milliseconds since 1970, by the store


class Location(DirectoryStore):
    """A store of blobs that has markers, too."""

    def __init__(self, store: str | Path):
        super().__init__(Path(store) / "repo")
        self.heads = self.directory / "heads"

    def chains(self) -> list[bytes]:
        """The chains that have a marker."""
        names = os.listdir(self.heads) if self.heads.is_dir() else []
        chains = (bytes.fromhex(name) for name in sorted(names) if _is_chain(name))
        return [chain for chain in chains if self.markers(chain)]

    def markers(self, chain: bytes) -> list[ListedMarker]:
        """The markers of a chain in the order of their names: the newest first."""
        folder = self.heads / chain.hex()
        listed = []
        for name in sorted(os.listdir(folder)) if folder.is_dir() else []:
            marker = parse_marker(f"{chain.hex()}/{name}")
            if marker is not None:
                stored = os.stat(folder / name, follow_symlinks=False).st_mtime_ns // 10**6
                listed.append(ListedMarker(marker, stored))
        return listed

    def now(self) -> int:
        """The clock that dates markers: on a disk, this machine's."""
        return time.time_ns() // 10**6

    def put_marker(self, marker: Marker) -> None:
        path = self.heads / str(marker)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            open(path, "xb").close()
        except FileExistsError:
            raise IdkError("usage", f"the marker {marker} exists") from None


def _is_chain(name: str) -> bool:
    return parse_marker(f"{name}/{2**64 - 1:016x}-{'0' * 64}") is not None
