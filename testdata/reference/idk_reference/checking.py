"""Runs test vectors through this implementation and reports every difference."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

from . import commands, keyfile, keys
from .errors import IdkError
from .padme import padme
from .store import MemoryStore


def check_directory(directory: str | Path, skip_slow: bool) -> Iterator[tuple[str, list[str]]]:
    for path in sorted(Path(directory).glob("*.json")):
        vector = json.loads(path.read_text("utf-8"))
        if not (skip_slow and vector.get("slow")):
            yield path.name, check_vector(vector, path.parent)


def check_vector(vector: dict, directory: Path) -> list[str]:
    """Differences from the expected result; an empty list is a pass."""
    match vector["type"]:
        case "blob":
            return _check_blob(vector, directory)
        case "padme":
            return [f"padme({n}) is not {m}" for n, m in vector["pairs"] if padme(n) != m]
        case "keyfile":
            return _check_key(
                vector,
                "secretKey",
                lambda: keyfile.open_file(bytes.fromhex(vector["hex"]), vector["passphrase"]),
            )
        case "recipient":
            return _check_key(vector, "publicKey", lambda: keys.parse_recipient(vector["text"]))
        case "identity":
            return _check_key(vector, "secretKey", lambda: keys.parse_identity(vector["text"]))
        case other:
            return [f"unknown type {other!r}"]


def _check_blob(vector: dict, directory: Path) -> list[str]:
    store = MemoryStore({name: load(blob, directory) for name, blob in vector["blobs"].items()})
    identities = [keys.parse_identity(text) for text in vector["identities"]]
    result = commands.read_from(store, vector["address"], identities, vector.get("range"))

    expected = {"result": vector["expect"]}
    found = {"result": "ok" if result["ok"] else result["code"]}
    if vector["expect"] == "ok":
        for name in ("size", "metadata", "recipients", "depth"):
            expected[name] = vector[name]
            found[name] = result.get(name)
    if "released" in vector:
        expected["released"] = vector["released"]
        found["released"] = result["released"]
    elif result["released"]["length"] > vector["releasedAtMost"]["length"]:
        return ["released more than releasedAtMost"]
    return _differences(expected, found)


def _check_key(vector: dict, name: str, parse) -> list[str]:
    try:
        found = {"result": "ok", name: parse().hex()}
    except IdkError as fault:
        found = {"result": fault.code}
    expected = {"result": vector["expect"]}
    if name in vector:
        expected[name] = vector[name]
    return _differences(expected, found)


def _differences(expected: dict, found: dict) -> list[str]:
    return [
        f"{name}: expected {expected[name]}, found {found.get(name)}"
        for name in expected
        if expected[name] != found.get(name)
    ]


def load(blob: dict, directory: Path) -> bytes:
    if "file" in blob:
        return (directory / blob["file"]).read_bytes()
    return base64.b64decode(blob["base64"], validate=True)
