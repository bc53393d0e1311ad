"""The operations behind the command line: request in, response out.

A response is always JSON. A fault in the data is a response ({"ok": false}), not
a crash, so that a test process can distinguish a rejected blob from a broken
program.
"""

import contextlib
import hashlib
import os

from . import keyfile, keys, reader, tagged
from .errors import IdkError
from .padme import padme
from .store import DirectoryStore, Store
from .writer import Writer


def answer(request: dict) -> dict:
    try:
        operation = OPERATIONS.get(request.get("op"))
        if operation is None:
            raise IdkError("usage", "unknown operation")
        return operation(request)
    except IdkError as fault:
        return {"ok": False, "code": fault.code, "message": str(fault)}


def read(request: dict) -> dict:
    store = DirectoryStore(request["dir"])
    identities = [keys.parse_identity(text) for text in request["identities"]]
    out = open(request["out"], "wb") if request.get("out") else None
    with out or contextlib.nullcontext():
        return read_from(store, request["address"], identities, request.get("range"), out)


def read_from(
    store: Store, address: str, identities: list[bytes], span: dict | None, out=None
) -> dict:
    """Read and digest; a failed response includes what was released before the fault."""
    length, digest = 0, hashlib.sha256()
    try:
        opened = reader.open_root(store, address, identities)
        bounds = (span["start"], span["end"]) if span else ()
        for piece in opened.content(*bounds):
            length += len(piece)
            digest.update(piece)
            if out:
                out.write(piece)
    except IdkError as fault:
        released = {"length": length, "sha256": digest.hexdigest()}
        return {"ok": False, "code": fault.code, "released": released, "message": str(fault)}
    return {
        "ok": True,
        "size": opened.size,
        "sha256": digest.hexdigest(),
        "released": {"length": length, "sha256": digest.hexdigest()},
        "metadata": tagged.to_json(opened.root.metadata),
        "depth": opened.root.depth,
        "chunkSizeLog2": opened.root.chunk_log2,
        "padding": opened.root.padding,
        "recipients": opened.recipients,
        "blobs": len(opened.fetched),
    }


def write(request: dict) -> dict:
    secret = request.get("dedupSecret")
    writer = Writer(
        store=DirectoryStore(request["dir"]),
        recipients=[keys.parse_recipient(text) for text in request["recipients"]],
        metadata=tagged.from_json(request.get("metadata") or {}),
        chunk_log2=request.get("chunkSizeLog2", 22),
        padded=_padding(request.get("padding", "padme")),
        dedup_secret=bytes.fromhex(secret) if secret else None,
    )
    with open(request["file"], "rb") as source:
        written = writer.write(source, os.fstat(source.fileno()).st_size)
    return {
        "ok": True,
        "address": written.address,
        "blobs": written.blobs,
        "p": written.padding,
        "depth": written.depth,
        "rootBytes": written.root_bytes,
    }


def _padding(policy: str) -> bool:
    if policy not in ("padme", "none"):
        raise IdkError("usage", "padding must be padme or none")
    return policy == "padme"


def keyfile_open(request: dict) -> dict:
    data = bytes.fromhex(request["hex"])
    return {"ok": True, "secretKey": keyfile.open_file(data, request["passphrase"]).hex()}


def keyfile_make(request: dict) -> dict:
    data = keyfile.make(
        bytes.fromhex(request["secretKey"]),
        request["passphrase"],
        bytes.fromhex(request["salt"]) if "salt" in request else os.urandom(16),
        request.get("logN", keyfile.DEFAULT_LOG_N),
    )
    return {"ok": True, "hex": data.hex()}


def recipient(request: dict) -> dict:
    return {"ok": True, "publicKey": keys.parse_recipient(request["text"]).hex()}


def identity(request: dict) -> dict:
    secret_key = keys.parse_identity(request["text"])
    public_key = keys.public_key(secret_key)
    return {
        "ok": True,
        "secretKey": secret_key.hex(),
        "publicKey": public_key.hex(),
        "recipient": keys.recipient_text(public_key),
    }


def pad_lengths(request: dict) -> dict:
    return {"ok": True, "padded": [padme(length) for length in request["lengths"]]}


OPERATIONS = {
    "read": read,
    "write": write,
    "keyfile-open": keyfile_open,
    "keyfile-make": keyfile_make,
    "recipient": recipient,
    "identity": identity,
    "padme": pad_lengths,
}
