"""This implementation passes every vector, and the vectors match their source."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import make_vectors
from idk_reference import checking

VECTORS = Path(__file__).parents[2] / "v1"
SIZE_BUDGET = 8 * 2**20


def parameters() -> Iterator:
    for path in sorted(VECTORS.glob("*.json")):
        slow = '"slow": true' in path.read_text("ascii")
        yield pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("path", list(parameters()))
def test_vector(path):
    vector = json.loads(path.read_text("ascii"))
    assert vector["name"] == path.stem
    assert checking.check_vector(vector, path.parent) == []


def test_regeneration_gives_identical_files(tmp_path):
    (tmp_path / "stale.json").write_text("{}")
    make_vectors.build().write(tmp_path)
    assert contents(tmp_path) == contents(VECTORS)


def test_the_vectors_stay_small():
    assert sum(len(data) for data in contents(VECTORS).values()) < SIZE_BUDGET


def contents(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}
