"""Collects vectors and writes each to a JSON file."""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from idk_reference import envelope, tagged

from .forge import ALICE, Person

LARGE = 4096  # bytes; a larger blob becomes a file that vectors can share


@dataclass(frozen=True)
class Zeros:
    """More zero bytes than fit in memory."""

    length: int

    def __len__(self) -> int:
        return self.length


class Suite:
    def __init__(self):
        self.vectors: dict[str, dict] = {}
        self.files: dict[str, bytes] = {}

    def ok(
        self, name: str, note: str, root: bytes, content: bytes | Zeros, *,
        size: int | None = None, metadata: dict | None = None, recipients: int = 1,
        depth: int = 0, **where,
    ) -> None:
        """A read that must succeed and release exactly `content`."""
        self._blob(
            name, note, "ok", root, **where,
            released=digest(content),
            size=len(content) if size is None else size,
            metadata=tagged.to_json(metadata or {}),
            recipients=recipients,
            depth=depth,
        )

    def fault(
        self, name: str, note: str, code: str, root: bytes, *,
        released: bytes | Zeros = b"", at_most: bytes | None = None, **where,
    ) -> None:
        """A read that must fail with `code`, having released exactly `released`."""
        if at_most is None:
            outcome = {"released": digest(released)}
        else:
            outcome = {"releasedAtMost": digest(at_most)}
        self._blob(name, note, code, root, **where, **outcome)

    def other(self, kind: str, name: str, note: str, **fields) -> None:
        self._add({"type": kind, "name": name, "note": note, **fields})

    def _blob(
        self, name: str, note: str, expect: str, root: bytes, *,
        children: Iterable[bytes] = (), stored: dict[str, bytes] | None = None,
        address: str | None = None, identities: Sequence[Person] = (ALICE,),
        span: tuple[int, int] | None = None, slow: bool = False, **outcome,
    ) -> None:
        """`stored` maps names to bytes that need not hash to them."""
        blobs = {envelope.address_of(blob): blob for blob in (root, *children)}
        blobs |= stored or {}
        self._add({
            "type": "blob",
            "name": name,
            "note": note,
            **({"slow": True} if slow else {}),
            "address": envelope.address_of(root) if address is None else address,
            "identities": [person.identity for person in identities],
            **({"range": {"start": span[0], "end": span[1]}} if span else {}),
            "expect": expect,
            **outcome,
            "blobs": {name: self._bytes(blob) for name, blob in sorted(blobs.items())},
        })

    def _bytes(self, blob: bytes) -> dict:
        if len(blob) <= LARGE:
            return {"base64": base64.b64encode(blob).decode()}
        file = f"blobs/{hashlib.sha256(blob).hexdigest()}.bin"
        self.files[file] = blob
        return {"file": file}

    def _add(self, vector: dict) -> None:
        assert vector["name"] not in self.vectors, vector["name"]
        self.vectors[vector["name"]] = vector

    def write(self, directory: Path) -> None:
        """Write all vectors, and remove the files of vectors that no longer exist."""
        files = dict(self.files)
        for name, vector in self.vectors.items():
            files[f"{name}.json"] = json.dumps(vector, indent=1).encode("ascii") + b"\n"
        for path in [*directory.glob("*.json"), *directory.glob("blobs/*.bin")]:
            if path.relative_to(directory).as_posix() not in files:
                path.unlink()
        (directory / "blobs").mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (directory / name).write_bytes(data)


def digest(content: bytes | Zeros) -> dict:
    return {"length": len(content), "sha256": _sha256(content)}


def _sha256(content: bytes | Zeros) -> str:
    if not isinstance(content, Zeros):
        return hashlib.sha256(content).hexdigest()
    hasher, piece = hashlib.sha256(), bytes(2**20)
    for _ in range(content.length // len(piece)):
        hasher.update(piece)
    hasher.update(piece[: content.length % len(piece)])
    return hasher.hexdigest()
