"""Single parts, compared with other implementations and published examples."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import cbor2
import nacl.bindings
import pytest

from idk_reference import bech32, cbor_profile, keys
from idk_reference.errors import IdkError
from idk_reference.padme import padme
from suite import salsa
from suite.collision import seal_for_two
from suite.forge import ALICE, HELLO, noise, secret

REFERENCE = Path(__file__).parents[1]


# --- Padmé ---

def test_padme_adds_little_and_is_monotonic():
    for exponent in range(1, 53):
        for length in (2**exponent - 1, 2**exponent, 2**exponent + 1, 2**exponent * 4 // 3):
            padded = padme(length)
            assert length <= padded <= length * 1.12 + 1
            assert padme(padded) == padded
            assert padme(length + 1) >= padded


def test_padme_matches_its_definition():
    from math import floor, log2

    for length in range(2, 5000):
        e = floor(log2(length))
        step = 2 ** (e - floor(log2(e)) - 1)
        assert padme(length) == min(m for m in range(length, length + step) if m % step == 0)
    assert [padme(n) for n in (0, 1, 9, 2**53 - 1)] == [0, 1, 10, 2**53]


# --- CBOR ---

VALUES = (
    0, 23, 24, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 - 1, b"", b"\xff" * 300, "",
    "\u00e9\U0001f600\ufeff\0", {}, {"b": 1, "aa": {"x": b""}, "a": "text"},
    {f"{i}": i for i in range(70)}, {"k" * 24: 0, "k" * 23: 1},
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_cbor_matches_another_implementation(value):
    encoded = cbor_profile.encode(value)
    assert encoded == cbor2.dumps(value, canonical=True)
    assert cbor_profile.decode(encoded) == cbor2.loads(encoded) == value


@pytest.mark.parametrize(
    "value", (True, None, 1.5, -1, 2**53, [], {1: 2}, {"x": [1]}, "\ud800"), ids=repr
)
def test_cbor_rejects_values_outside_the_profile(value):
    with pytest.raises(cbor_profile.CborError):
        cbor_profile.encode(value)


def test_cbor_accepts_one_encoding_of_every_value():
    """Every single-byte change gives an error or another value, never the same."""
    value = {"a": 5, "bb": b"\x01\x02", "c": {"d": "text"}}
    encoded = cbor_profile.encode(value)
    for at in range(len(encoded)):
        for byte in range(256):
            changed = encoded[:at] + bytes([byte]) + encoded[at + 1 :]
            try:
                assert (cbor_profile.decode(changed) == value) == (changed == encoded)
            except cbor_profile.CborError:
                assert changed != encoded


def test_cbor_limits_the_depth():
    cbor_profile.decode(b"\xa1\x61a\xa1\x61b\x00")
    with pytest.raises(cbor_profile.CborError):
        cbor_profile.decode(b"\xa1\x61a\xa1\x61b\xa0")


# --- Bech32, with the examples of BIP 173 ---

@pytest.mark.parametrize(
    "prefix, text",
    [
        ("a", "A12UEL5L"),
        ("a", "a12uel5l"),
        ("abcdef", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"),
        ("?", "?1ezyfcl"),
    ],
)
def test_bech32_accepts_valid_text(prefix, text):
    assert bech32.encode(prefix, bech32.decode(text, prefix)) == text.lower()


@pytest.mark.parametrize(
    "text",
    ["\x201nwldj5", "\x7f1axkwrx", "pzry9x0s0muk", "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3",
     "de1lg7wt\xff", "A1G7SGD8", "10a06t8", "1qzzfhee"],
)
def test_bech32_rejects_invalid_text(text):
    with pytest.raises(IdkError, match="key"):
        bech32.decode(text, text.rpartition("1")[0].lower())


# --- The arithmetic behind the vectors ---

def test_salsa_and_poly1305_match_the_library():
    key = secret("test/salsa")
    for length in (0, 1, 15, 16, 17, 100, 1000):
        message = noise("test/message", length)
        stream = salsa.xsalsa20_stream(key, bytes(24), 32 + length)
        sealed = bytes(a ^ b for a, b in zip(message, stream[32:]))
        sealed = salsa.poly1305(stream[:32], sealed) + sealed
        assert sealed == nacl.bindings.crypto_secretbox(message, bytes(24), key)


def test_a_body_for_two_keys_opens_under_both():
    one, two = secret("test/one"), secret("test/two")
    sealed = seal_for_two(one, two, b"x" * 100, free=16)
    first, second = keys.unseal(one, sealed), keys.unseal(two, sealed)
    assert first is not None and second is not None and first != second
    assert first[:16] == b"x" * 16 and first[48:] == b"x" * 52


# --- The command line ---

def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "idk_reference", *arguments], input=stdin, text=True,
        capture_output=True, env=os.environ | {"PYTHONPATH": str(REFERENCE)}, timeout=60,
    )


def test_command_line(tmp_path):
    source, blobs, out = tmp_path / "source", str(tmp_path / "blobs"), tmp_path / "out"
    source.write_bytes(HELLO)
    recipient = keys.recipient_text(ALICE.public_key)
    written = run(
        "write", "--dir", blobs, "--recipient", recipient,
        "--metadata", '{"name": {"text": "a"}, "x": {"hex": "00ff"}}', str(source),
    )
    address = json.loads(written.stdout)["address"]
    read = run(
        "read", "--dir", blobs, "--address", address, "--identity", ALICE.identity,
        "--range", "7-12", "--out", str(out),
    )
    answer = json.loads(read.stdout)
    assert answer["ok"] and answer["size"] == 12 and out.read_bytes() == b"world"
    assert answer["metadata"] == {"name": {"text": "a"}, "x": {"hex": "00ff"}}
    missing = run("read", "--dir", blobs, "--address", "0" * 64, "--identity", ALICE.identity)
    assert missing.returncode == 0 and json.loads(missing.stdout)["code"] == "not-found"


def test_batch():
    requests = [
        {"op": "padme", "lengths": [9, 2**53 - 1]},
        {"op": "recipient", "text": keys.recipient_text(ALICE.public_key)},
        {"op": "identity", "text": ALICE.identity},
        {"op": "identity", "text": "nonsense"},
        {"op": "keyfile-make", "secretKey": ALICE.secret_key.hex(), "passphrase": "p", "logN": 14},
        {"op": "nothing"},
        {"op": "write"},
    ]
    done = run("batch", stdin="".join(json.dumps(request) + "\n" for request in requests))
    answers = [json.loads(line) for line in io.StringIO(done.stdout)]
    assert [answer.get("code", "ok") for answer in answers] == [
        "ok", "ok", "ok", "key", "ok", "usage", "crash",
    ]
    assert answers[0]["padded"] == [10, 2**53]
    assert answers[1]["publicKey"] == answers[2]["publicKey"] == ALICE.public_key.hex()
    opened = run("batch", stdin=json.dumps(
        {"op": "keyfile-open", "hex": answers[4]["hex"], "passphrase": "p"}))
    assert json.loads(opened.stdout) == {"ok": True, "secretKey": ALICE.secret_key.hex()}
