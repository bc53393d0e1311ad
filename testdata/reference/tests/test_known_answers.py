"""Known answers: two earlier, independent programs gave the same bytes."""

import hashlib
import io
import json
from pathlib import Path

import pytest

from idk_reference import armor, keyfile, keys, reader
from idk_reference.store import MemoryStore
from idk_reference.writer import Writer

KNOWN = json.loads((Path(__file__).parents[2] / "known-answers.json").read_text())
IDENTITIES = [bytes.fromhex(entry["secretKey"]) for entry in KNOWN["identities"]]


def known_content(case: dict) -> bytes:
    if case["content"].startswith("byte i = "):
        period = bytes((7 * i + (i >> 8)) & 255 for i in range(2**16))
        return (period * (case["size"] // len(period) + 1))[: case["size"]]
    return b"hello, world"[: case["size"]]


@pytest.mark.parametrize("case", KNOWN["cases"], ids=lambda case: case["name"])
def test_case(case):
    content = known_content(case)
    assert hashlib.sha256(content).hexdigest() == case["contentSha256"]
    store = MemoryStore()
    written = Writer(
        store,
        recipients=[keys.public_key(IDENTITIES[i]) for i in case["recipients"]],
        metadata=case["metadata"],
        chunk_log2=case["chunkSizeLog2"],
        padded=case["padding"] == "padme",
        dedup_secret=bytes.fromhex(KNOWN["dedupSecret"]),
    ).write(io.BytesIO(content), len(content))

    assert written.address == case["address"]
    assert written.content_key.hex() == case["contentKey"]
    assert written.root_bytes == case["rootBytes"]
    assert written.blobs == len(store.blobs) == case["blobs"]
    assert written.padding == case["p"]
    assert written.depth == case["depth"]

    for i in case["recipients"]:
        opened = reader.open_root(store, case["address"], [IDENTITIES[i]])
        assert b"".join(opened.content()) == content
        assert opened.root.metadata == case["metadata"]


@pytest.mark.parametrize("entry", KNOWN["identities"], ids=lambda entry: entry["recipient"][:12])
def test_identity(entry):
    secret_key = bytes.fromhex(entry["secretKey"])
    public_key = keys.public_key(secret_key)
    assert public_key.hex() == entry["publicKey"]
    assert keys.identity_text(secret_key) == entry["identity"]
    assert keys.recipient_text(public_key) == entry["recipient"]
    assert keys.parse_identity(entry["identity"]) == secret_key
    assert keys.parse_recipient(entry["recipient"]) == public_key


def test_keyfile():
    known = KNOWN["keyfile"]
    secret_key, salt = bytes.fromhex(known["secretKey"]), bytes.fromhex(known["salt"])
    made = keyfile.make(secret_key, known["passphrase"], salt, known["logN"])
    assert made.hex() == known["hex"]
    assert keyfile.open_file(made, known["passphrase"]) == secret_key


def test_armored_keyfile_in_the_format():
    known = KNOWN["keyfile"]
    text = (Path(__file__).parents[3] / "docs/format.md").read_text("utf-8")
    begin, end = (f"-----{word} {keyfile.LABEL}-----\n" for word in ("BEGIN", "END"))
    example = begin + text.partition(begin)[2].partition(end)[0] + end
    assert armor.armor(keyfile.LABEL, bytes.fromhex(known["hex"])).decode() == example
    assert keyfile.open_file(example.encode(), known["passphrase"]).hex() == known["secretKey"]
