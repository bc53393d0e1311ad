"""The hostile repositories detect a reader that leaves out a check.

Every test removes one check from this implementation and expects that the
repositories made for it are read as if nothing were wrong.
"""

import pytest

from idk_reference.snapshots import commands, content, ed25519, entries, frames, tree
from idk_reference.snapshots.location import Location
from suite.snapshots import CASES, IDENTITY, Forge


def read_all(prefix: str, tmp_path) -> dict[str, str]:
    """What reading the repositories ends with whose names begin so."""
    results = {}
    for case in CASES:
        if case.name.startswith(prefix) and case.code not in ("ok", "unlisted"):
            store = tmp_path / case.name
            case.build(Forge(Location(store)))
            answer = commands.answer({"op": "tree", "store": store, "identities": [IDENTITY]})
            results[case.name] = "ok" if answer["ok"] else answer["code"]
    return results


def nothing(*_, **__):
    return None


@pytest.mark.parametrize(
    "module, name, value, prefix, read",
    [
        (entries, "check_name", nothing, "name-",
         {"name-slash", "name-dot", "name-dots", "name-nul"}),
        (entries, "ascending", nothing, "names-", {"names-twice", "names-descend"}),
        (entries, "check_extra", nothing, "extra-", {"extra-unknown", "extra-i-2", "extra-owner"}),
        (tree.Totals, "end", nothing, "totals-fewer",
         {"totals-fewer-files", "totals-fewer-dirs", "totals-fewer-bytes"}),
        (tree.Tree, "check_tree_id", nothing, "tree-id", {
            "tree-id-of-the-root", "tree-id-of-a-directory", "tree-id-of-an-empty-directory"}),
        (content.Where, "metadata", lambda self, row, *_: self._row(row), "forward-list",
         {"forward-list"}),
        (tree, "MAX_DEPTH", 5000, "too-deep", {"too-deep"}),
        (frames, "MAX_WINDOW", 2**27, "zstd-window", {"zstd-window"}),
        (content, "MAX_ITEMS", 5000, "content-4097", {"content-4097"}),
        (ed25519, "verify", lambda *_: True, "head-signature",
         {"head-signature", "head-signature-plus-l"}),
    ],
)
def test_detects_a_removed_check(monkeypatch, tmp_path, module, name, value, prefix, read):
    monkeypatch.setattr(module, name, value)
    results = read_all(prefix, tmp_path)
    assert {case for case, result in results.items() if result == "ok"} >= read
