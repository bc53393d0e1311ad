"""The operations behind the command line: request in, response out, both JSON.

A fault in a repository is a response ({"ok": false}) and not a crash.
"""

import hashlib
import os
import sys
import traceback

from .. import keys
from ..errors import IdkError
from .backup import Backup, Sizes, create_repository
from .content import Hole
from .entries import FILE, Entry
from .identities import read_identity_file
from .location import Location
from .repository import FoundHead, Repository, open_repository
from .restore import Restore
from .tree import ZEROS, Tree
from .writer_keys import owner_seed


def answer(request: dict) -> dict:
    try:
        return {"ok": True, **OPERATIONS[request["op"]](request)}
    except IdkError as fault:
        return {"ok": False, "code": fault.code, "message": str(fault)}
    except Exception as crash:  # the caller still needs a response
        traceback.print_exc(file=sys.stderr)
        return {"ok": False, "code": "crash", "message": repr(crash)}


def list_snapshots(request: dict) -> dict:
    repository = _open(request)
    forgotten = repository.forgotten()
    return {
        "repository": repository.uuid.hex(),
        "snapshots": [
            {**_shown(repository, found), "forgotten": found.payload in forgotten}
            for found in repository.snapshots()
        ],
        "refused": _refused(repository),
    }


def tree(request: dict) -> dict:
    """Every entry of a snapshot, with the contents of all files read and verified."""
    repository, found, opened = _tree(request)
    entries, path = [], []
    for step in opened.walk():
        if step.entry is None:
            path.pop()
            continue
        entry = step.entry
        path.append(entry.name)
        entries.append(_shown_entry(opened, b"/".join(path), entry))
        if entry.hash is None or entry.type == FILE:
            path.pop()
    packs = repository.packs(found)
    missing = [one.hex() for one in packs if not opened.store.path(one.hex()).exists()]
    shown = {"entries": entries, "packs": len(packs), "missing": missing}
    return {**_shown(repository, found), **shown}


def restore(request: dict) -> dict:
    repository, found, opened = _tree(request)
    work = Restore(opened, request["target"], bool(request.get("as_root")))
    work.run()
    return {**_shown(repository, found), "leftOut": work.left_out}


def backup(request: dict) -> dict:
    location, identities = Location(request["store"]), _identities(request)
    if location.chains():
        repository = open_repository(location, identities)
    else:
        repository = create_repository(location, identities)
    work = Backup(
        repository,
        recipients=[keys.public_key(one) for one in identities],
        seed=owner_seed(identities[0]),
        name=request["name"],
        compression=request.get("compress", "zstd"),
        sizes=Sizes(**request.get("sizes", {})),
        message=request.get("message"),
        tags=request.get("tags", []),
    )
    marker = work.run([os.fsencode(path) for path in request["paths"]])
    return {"address": marker.address, "totals": work.totals, "leftOut": work.left_out}


def _identities(request: dict) -> list[bytes]:
    if "identities" in request:
        return request["identities"]
    return read_identity_file(request["identityFile"], request.get("passphrase"))


def _open(request: dict) -> Repository:
    return open_repository(Location(request["store"]), _identities(request))


def _tree(request: dict) -> tuple[Repository, FoundHead, Tree]:
    repository = _open(request)
    found = repository.resolve(request.get("snapshot", "latest"))
    snapshot = repository.open(found)
    secret_of = lambda session: repository.secret_of(session, snapshot)  # noqa: E731
    return repository, found, Tree(repository.location, snapshot, secret_of)


def _shown(repository: Repository, found: FoundHead) -> dict:
    snapshot = repository.open(found)
    return {
        "address": found.marker.address, "name": found.head.name, "time": found.head.time,
        "generation": found.marker.generation, "message": found.head.message,
        "tags": found.head.tags, "host": snapshot.host, "user": snapshot.user,
        "paths": [path.hex() for path in snapshot.paths], "totals": snapshot.totals,
        "treeId": snapshot.tree_id.hex(),
    }


def _shown_entry(opened: Tree, path: bytes, entry: Entry) -> dict:
    shown = {
        "path": path.hex(), "type": entry.type, "mode": entry.mode, "uid": entry.uid,
        "gid": entry.gid, "mtime": [entry.seconds, entry.nanoseconds], "size": entry.size,
        "hash": entry.hash.hex() if entry.hash else None, "extra": _hexed(entry.extra),
    }
    if entry.type == FILE:
        digest, holes = hashlib.sha256(), 0
        for part in opened.content(entry):
            if isinstance(part, Hole):
                holes += part.length
                for at in range(0, part.length, len(ZEROS)):
                    digest.update(ZEROS[: part.length - at])
            else:
                digest.update(part)
        shown |= {"sha256": digest.hexdigest(), "holes": holes}
    elif entry.hash is None:
        content = entry.content
        shown["content"] = content.hex() if isinstance(content, bytes) else content
    return shown


def _hexed(extra: dict) -> dict:
    attributes = {name: value.hex() for name, value in extra.get("x", {}).items()}
    return {**extra, **({"x": attributes} if attributes else {})}


def _refused(repository: Repository) -> list[dict]:
    return [
        {"marker": str(marker), "code": fault.code, "message": str(fault)}
        for marker, fault in repository.refused
    ]


OPERATIONS = {"list": list_snapshots, "tree": tree, "restore": restore, "backup": backup}
