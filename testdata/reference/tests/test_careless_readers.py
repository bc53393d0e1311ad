"""The vectors detect a reader that leaves out a check.

Every test removes one check from this implementation and expects vectors of the
named group to fail.
"""

import base64
import json
from pathlib import Path

import pytest

from idk_reference import (
    armor, cbor_profile, checking, envelope, keyfile, keys, reader, root, tree,
)
from suite import salsa

VECTORS = Path(__file__).parents[2] / "v1"


def failing(prefix: str) -> set[str]:
    return {path.stem for path in VECTORS.glob(f"{prefix}*.json") if fails(path)}


def fails(path: Path) -> bool:
    vector = json.loads(path.read_text("ascii"))
    if vector.get("slow"):
        return False
    try:
        return checking.check_vector(vector, VECTORS) != []
    except Exception:  # a careless reader may also crash
        return True


def test_detects_a_missing_address_check(monkeypatch):
    def careless(store, address, kind):
        return envelope.parse(store.get(address, 2**30), kind)

    monkeypatch.setattr(reader, "fetch", careless)
    assert "range-leaf-opens-wrong-hash" in failing("range-")
    assert {"envelope-address-other-blob", "envelope-root-over-limit"} <= failing("envelope-")


def test_detects_a_missing_commitment_check(monkeypatch):
    def careless(self, content_key, kind):
        return keys.unseal(keys.body_key(content_key, self.prefix, kind), self.body)

    monkeypatch.setattr(envelope.Envelope, "open", careless)
    # The blob really opens: without the commitment check, it yields other content.
    assert "body-leaf-two-keys-other" in failing("body-leaf-two-keys")
    assert {"body-commitment-flipped", "body-commitment-zero"} <= failing("body-commitment")


def test_detects_trying_more_slots_after_a_wrong_key(monkeypatch):
    def careless(sealed, identities):
        for identity in identities:
            for one in sealed.slots:
                key = keys.unwrap((one,), sealed.ephemeral, identity)
                if key and keys.commitment(key) == sealed.commitment:
                    return key
        raise reader.IdkError("no-match", "")

    monkeypatch.setattr(reader, "_content_key", careless)
    assert "recipients-first-opening-slot-wrong" in failing("recipients-")


def test_detects_a_missing_check_of_the_ephemeral_point(monkeypatch):
    def shared(point, secret):
        try:
            return keys.nacl.crypto_scalarmult(secret, point)
        except keys.CryptoError:
            return bytes(32)

    monkeypatch.setattr(
        keys.nacl, "crypto_box_beforenm",
        lambda point, secret: salsa.hsalsa20(shared(point, secret), bytes(16)),
    )
    assert failing("ok-header-e") == set()
    monkeypatch.setattr(keys, "is_acceptable_point", lambda point: True)
    assert len(failing("header-e-")) >= 15
    assert len(failing("text-recipient-")) >= 10


def test_detects_lenient_cbor(monkeypatch):
    monkeypatch.setattr(cbor_profile, "decode", lambda data: cbor_profile._item(data, 0, 0)[0])
    assert len(failing("cbor-header-")) >= 6
    assert len(failing("cbor-root-")) >= 6
    assert len(failing("cbor-metadata-")) >= 9


@pytest.mark.parametrize(
    "module, name, prefix, at_least",
    [
        (root, "check", "root-inline-", 7),
        (root, "check_metadata", "cbor-metadata-", 4),
        (tree.Shape, "check_child", "tree-", 15),
    ],
)
def test_detects_a_removed_check(monkeypatch, module, name, prefix, at_least):
    monkeypatch.setattr(module, name, lambda *arguments: None)
    assert len(failing(prefix)) >= at_least


def test_detects_unchecked_padding(monkeypatch):
    def careless(self, level, index, plaintext):
        if len(plaintext) != self.plaintext_length(level, index):
            raise tree.IdkError("tree", "")

    monkeypatch.setattr(tree.Shape, "check_child", careless)
    assert failing("tree-padding") == {
        "tree-padding-first-byte", "tree-padding-last-byte", "tree-padding-all-bytes",
        "tree-padding-only-byte", "tree-padding-leaf-not-zero",
    }
    assert "range-padding-not-zero" in failing("range-padding")


def test_detects_one_kind_for_all_blobs(monkeypatch):
    derive = keys.body_key
    monkeypatch.setattr(keys, "body_key", lambda key, prefix, kind: derive(key, prefix, "leaf"))
    assert {"body-root-sealed-as-leaf", "body-leaf-sealed-as-node"} <= failing("body-")


def test_detects_an_unchecked_log_n(monkeypatch):
    monkeypatch.setattr(keyfile, "MIN_LOG_N", 1)
    assert "keyfile-log-n-13" in failing("keyfile-log-n-13")


def test_detects_lenient_armor(monkeypatch):
    def lenient(label, data):
        body = data.partition(b"-----BEGIN %b-----" % label.encode())[2].partition(b"-----END")[0]
        return base64.b64decode(body)

    monkeypatch.setattr(armor, "dearmor", lenient)
    assert failing("keyfile-armor") >= {
        f"keyfile-armor-{name}" for name in (
            "text-after", "twice", "label-end-other", "begin-space", "end-missing", "no-line-ends",
            "carriage-returns", "blank-line", "space-inside", "63-columns", "76-columns", "one-line",
            "padding-extra",
        )
    }
