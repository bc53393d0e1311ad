"""The vectors bite: a reader that leaves out one check fails some of them.

Every test takes one check out of this implementation and expects vectors of
the named group to notice.
"""

import json
from pathlib import Path

import pytest

from idk_reference import (
    cbor_profile, checking, envelope, keyfile, keys, reader, root, tree,
)
from suite import salsa

VECTORS = Path(__file__).parents[2] / "v1"


def mismatches(prefix: str) -> set[str]:
    return {path.stem for path in VECTORS.glob(f"{prefix}*.json") if notices(path)}


def notices(path: Path) -> bool:
    vector = json.loads(path.read_text("ascii"))
    if vector.get("slow"):
        return False
    try:
        return checking.check_vector(vector, VECTORS) != []
    except Exception:  # a careless reader may as well fall over
        return True


def test_without_the_address(monkeypatch):
    def careless(store, address, kind):
        return envelope.parse(store.get(address, 2**30), kind)

    monkeypatch.setattr(reader, "fetch", careless)
    assert "range-leaf-opens-wrong-hash" in mismatches("range-")
    assert {"envelope-address-other-blob", "envelope-root-over-limit"} <= mismatches("envelope-")


def test_without_the_commitment(monkeypatch):
    def careless(self, content_key, kind):
        return keys.unseal(keys.body_key(content_key, self.prefix, kind), self.body)

    monkeypatch.setattr(envelope.Envelope, "open", careless)
    # The blob really opens: without the commitment another content comes out.
    assert "body-leaf-two-keys-other" in mismatches("body-leaf-two-keys")
    assert {"body-commitment-flipped", "body-commitment-zero"} <= mismatches("body-commitment")


def test_trying_on_after_a_wrong_key(monkeypatch):
    def careless(sealed, identities):
        for identity in identities:
            for one in sealed.slots:
                key = keys.unwrap((one,), sealed.ephemeral, identity)
                if key and keys.commitment(key) == sealed.commitment:
                    return key
        raise reader.IdkError("no-match", "")

    monkeypatch.setattr(reader, "_content_key", careless)
    assert "recipients-first-opening-slot-wrong" in mismatches("recipients-")


def test_without_looking_at_the_ephemeral_point(monkeypatch):
    def shared(point, secret):
        try:
            return keys.nacl.crypto_scalarmult(secret, point)
        except keys.CryptoError:
            return bytes(32)

    monkeypatch.setattr(
        keys.nacl, "crypto_box_beforenm",
        lambda point, secret: salsa.hsalsa20(shared(point, secret), bytes(16)),
    )
    assert mismatches("ok-header-e") == set()
    monkeypatch.setattr(keys, "is_acceptable_point", lambda point: True)
    assert len(mismatches("header-e-")) >= 15
    assert len(mismatches("text-recipient-")) >= 10


def test_lenient_cbor(monkeypatch):
    monkeypatch.setattr(cbor_profile, "decode", lambda data: cbor_profile._item(data, 0, 0)[0])
    assert len(mismatches("cbor-header-")) >= 6
    assert len(mismatches("cbor-root-")) >= 6
    assert len(mismatches("cbor-metadata-")) >= 9


@pytest.mark.parametrize(
    "module, name, prefix, at_least",
    [
        (root, "check", "root-inline-", 7),
        (root, "check_metadata", "cbor-metadata-", 4),
        (tree.Shape, "check_child", "tree-", 15),
    ],
)
def test_without_a_whole_check(monkeypatch, module, name, prefix, at_least):
    monkeypatch.setattr(module, name, lambda *arguments: None)
    assert len(mismatches(prefix)) >= at_least


def test_padding_that_is_not_looked_at(monkeypatch):
    def careless(self, level, index, plaintext):
        if len(plaintext) != self.plaintext_length(level, index):
            raise tree.IdkError("tree", "")

    monkeypatch.setattr(tree.Shape, "check_child", careless)
    assert mismatches("tree-padding") == {
        "tree-padding-first-byte", "tree-padding-last-byte", "tree-padding-all-bytes",
        "tree-padding-only-byte", "tree-padding-leaf-not-zero",
    }
    assert "range-padding-not-zero" in mismatches("range-padding")


def test_one_kind_for_all_blobs(monkeypatch):
    derive = keys.body_key
    monkeypatch.setattr(keys, "body_key", lambda key, prefix, kind: derive(key, prefix, "leaf"))
    assert {"body-root-sealed-as-leaf", "body-leaf-sealed-as-node"} <= mismatches("body-")


def test_any_log_n(monkeypatch):
    monkeypatch.setattr(keyfile, "MIN_LOG_N", 1)
    assert "keyfile-log-n-13" in mismatches("keyfile-log-n-13")
