"""Hostile repositories end in an error that names the fault, and good ones do not."""

import os

import pytest

from idk_reference.snapshots import commands
from idk_reference.snapshots.location import Location
from suite.snapshots import CASES, IDENTITY, Forge


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, tmp_path):
    case.build(Forge(Location(tmp_path / "store")))
    request = {"store": tmp_path / "store", "identities": [IDENTITY]}
    op = "restore" if case.restores else "tree"
    result = commands.answer({"op": op, "target": str(tmp_path / "target"), **request})
    found = "ok" if result["ok"] else result["code"]
    if case.code in ("refused", "unlisted"):
        assert found == "not-found"
        refused = commands.answer({"op": "list", **request})["refused"]
        assert {one["code"] for one in refused} == {"head"}
    else:
        assert found == case.code, result.get("message")


@pytest.mark.parametrize("name", ["hash-of-a-file", "name-dots", "cycle"])
def test_a_restore_ends_too(name, tmp_path):
    (case,) = [one for one in CASES if one.name == name]
    case.build(Forge(Location(tmp_path / "store")))
    target = tmp_path / "target"
    result = commands.answer({
        "op": "restore", "store": tmp_path / "store", "identities": [IDENTITY],
        "target": str(target),
    })
    assert result["code"] == "tree"
    # Nothing is left that could be taken for a whole file.
    assert os.listdir(target) == []
