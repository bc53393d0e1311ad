"""Stores for blobs: names and bytes, nothing else."""

import os
import re
from pathlib import Path
from typing import Protocol

from .errors import IdkError

ADDRESS = re.compile(r"[0-9a-f]{64}\Z")


class Store(Protocol):
    def get(self, address: str, limit: int) -> bytes: ...
    def put(self, address: str, blob: bytes) -> None: ...


class MemoryStore:
    def __init__(self, blobs: dict[str, bytes] | None = None):
        self.blobs = {} if blobs is None else blobs

    def get(self, address: str, limit: int) -> bytes:
        if address not in self.blobs:
            raise IdkError("not-found", address)
        return within(limit, self.blobs[address])

    def put(self, address: str, blob: bytes) -> None:
        self.blobs[address] = blob


class DirectoryStore:
    """DIR/<first two hex digits>/<address>"""

    def __init__(self, directory: str | Path):
        self.directory = Path(directory)

    def path(self, address: str) -> Path:
        return self.directory / address[:2] / address

    def get(self, address: str, limit: int) -> bytes:
        try:
            with open(self.path(address), "rb") as file:
                return within(limit, file.read(limit + 1))  # never reads more than that
        except FileNotFoundError:
            raise IdkError("not-found", address) from None

    def put(self, address: str, blob: bytes) -> None:
        target = self.path(address)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{address}.{os.getpid()}.partial")
        partial.write_bytes(blob)
        partial.replace(target)  # atomic: readers see a whole blob or none


def within(limit: int, blob: bytes) -> bytes:
    if len(blob) > limit:
        raise IdkError("limit", f"more than {limit} bytes")
    return blob


def check_address(address: str) -> None:
    if not ADDRESS.match(address):
        raise IdkError("usage", "an address must be 64 lower-case hex digits")
