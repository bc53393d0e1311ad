"""The reader reads what the writer writes; and limits too large for vectors."""

import hashlib
import io
import random

import pytest

from idk_reference import envelope, keys, reader
from idk_reference.cbor_profile import encode
from idk_reference.errors import IdkError
from idk_reference.padme import padme
from idk_reference.store import DirectoryStore, MemoryStore
from idk_reference.writer import Writer
from suite.forge import ALICE, BOB, HELLO, STRANGER, Draft, leaf, row, tree_draft

MIB = 2**20
SIZES = (
    0, 1, 2, 1000, MIB - 1, MIB, MIB + 1,
    2 * MIB - 1, 2 * MIB, 2 * MIB + 1,  # around one chunk of 2^21
    5 * 2**18 - 1, 5 * 2**18, 5 * 2**18 + 1, 3_333_333,
)


def write(content: bytes, **options):
    store = MemoryStore()
    options = {"recipients": [ALICE.public_key]} | options
    return store, Writer(store, **options).write(io.BytesIO(content), len(content))


@pytest.mark.parametrize("padded", (True, False))
@pytest.mark.parametrize("chunk_log2", (18, 21, 24))
@pytest.mark.parametrize("size", SIZES)
def test_round_trips_at_every_size(size, chunk_log2, padded):
    content = random.Random(size).randbytes(size)
    store, written = write(content, chunk_log2=chunk_log2, padded=padded)
    opened = reader.open_root(store, written.address, [ALICE.secret_key])
    assert b"".join(opened.content()) == content
    assert opened.fetched == set(store.blobs)
    assert written.padding == (padme(size) - size if padded and size > MIB else 0)
    for start, end in ((0, size), (size, size), (size // 2, size // 2 + 5), (size - 1, size)):
        if 0 <= start <= end <= size:
            assert b"".join(opened.content(start, end)) == content[start:end]


def test_random_writing_never_repeats_a_blob():
    content = bytes(2 * MIB)
    (first, one), (second, _) = write(content, chunk_log2=18), write(content, chunk_log2=18)
    assert not set(first.blobs) & set(second.blobs)
    assert one.blobs == 9  # the root and eight leaves, although all leaves are equal


def test_convergent_writing_gives_equal_blobs():
    content, secret = bytes(2 * MIB), bytes(range(32))
    options = {"chunk_log2": 18, "dedup_secret": secret, "padded": False}
    first, one = write(content, **options)
    second, other = write(content, **options)
    assert first.blobs == second.blobs and one.address == other.address
    assert one.blobs == 2  # the root, and one blob for all leaves
    third, another = write(content, **options | {"recipients": [BOB.public_key]})
    assert len(set(first.blobs) & set(third.blobs)) == 1
    assert one.address != another.address


def test_recipients_are_sorted_and_deduplicated():
    one = [ALICE.public_key, BOB.public_key, ALICE.public_key]
    options = {"dedup_secret": bytes(32)}
    store, written = write(HELLO, recipients=one, **options)
    assert written.address == write(HELLO, recipients=one[:0:-1], **options)[1].address
    for person in (ALICE, BOB):
        opened = reader.open_root(store, written.address, [STRANGER.secret_key, person.secret_key])
        assert (opened.recipients, b"".join(opened.content())) == (2, HELLO)


def test_round_trips_in_a_directory(tmp_path):
    store = DirectoryStore(tmp_path)
    written = Writer(store, [ALICE.public_key]).write(io.BytesIO(HELLO), len(HELLO))
    assert (tmp_path / written.address[:2] / written.address).is_file()
    opened = reader.open_root(store, written.address, [ALICE.secret_key])
    assert b"".join(opened.content()) == HELLO


@pytest.mark.parametrize(
    "options, code",
    [
        ({"recipients": []}, "usage"),
        ({"recipients": [bytes(32)]}, "key"),
        ({"recipients": [b"\xff" * 32]}, "key"),
        ({"chunk_log2": 17}, "usage"),
        ({"chunk_log2": 25}, "usage"),
        ({"dedup_secret": b"short"}, "usage"),
        ({"metadata": {"x": 2**53}}, "root"),
        ({"metadata": {"x": True}}, "root"),
        ({"metadata": {"x": 1.5}}, "root"),
        ({"metadata": {"": 1}}, "root"),
        ({"metadata": {"x": "\ud800"}}, "root"),
        ({"metadata": {"x": b"x" * 65_536}}, "root"),
    ],
)
def test_writer_rejects_bad_options(options, code):
    with pytest.raises(IdkError) as caught:
        write(HELLO, **options)
    assert caught.value.code == code


def test_writer_rejects_a_source_that_differs_from_its_size():
    for announced in (len(HELLO) - 1, len(HELLO) + 1):
        with pytest.raises(IdkError, match="usage"):
            Writer(MemoryStore(), [ALICE.public_key]).write(io.BytesIO(HELLO), announced)


# --- Limits that would need large vectors ---

def read(root: bytes, *children: bytes, stored=None, span=()):
    blobs = {envelope.address_of(blob): blob for blob in (root, *children)} | (stored or {})
    opened = reader.open_root(
        MemoryStore(blobs), envelope.address_of(root), [ALICE.secret_key]
    )
    return b"".join(opened.content(*span))


def test_root_plaintext_is_limited_to_2_mib():
    draft = Draft("limits/root")
    draft.zeros = 2**21 - len(draft.plaintext())
    assert read(draft.blob()) == HELLO
    draft.zeros += 1
    with pytest.raises(IdkError, match="root"):
        read(draft.blob())


def test_child_at_the_limit_and_beyond():
    big = leaf(bytes(2**24))
    assert len(big.blob) == envelope.MAX_CHILD_BLOB
    references = row([big, leaf(b"!")])
    draft = tree_draft("limits/child", references, 2**24 + 1, chunk_log2=24)
    assert read(draft.blob(), big.blob, span=(5, 9)) == bytes(4)

    # Up to 2^24 + 59 bytes, a leaf that is too long for its position is `tree`.
    draft = tree_draft("limits/child", references, 2**23 + 1, chunk_log2=23)
    with pytest.raises(IdkError, match="tree"):
        read(draft.blob(), big.blob)

    address = keys.sha256(big.blob).hex()
    with pytest.raises(IdkError, match="limit"):
        read(draft.blob(), stored={address: big.blob + b"\0"})


def test_a_blob_over_the_limit_is_rejected(tmp_path):
    store = DirectoryStore(tmp_path)
    store.put("ab" * 32, b"x" * 1000)
    with pytest.raises(IdkError, match="limit"):
        store.get("ab" * 32, 999)
    assert len(store.get("ab" * 32, 1000)) == 1000


def test_metadata_may_have_65536_bytes():
    largest = {"x": b"x" * (65_536 - 6)}
    assert len(encode(largest)) == 65_536
    store, written = write(bytes(MIB), metadata=largest)
    opened = reader.open_root(store, written.address, [ALICE.secret_key])
    assert opened.root.metadata == largest


@pytest.mark.slow
def test_round_trips_a_gigabyte_and_a_byte(tmp_path):
    size = 2**30 + 1
    path = tmp_path / "content"
    digest, piece = hashlib.sha256(), random.Random(1).randbytes(2**20)
    with open(path, "wb") as file:
        for i in range(1025):
            part = (i.to_bytes(4, "big") + piece[4:])[: size - i * 2**20]
            digest.update(part)
            file.write(part)
    store = DirectoryStore(tmp_path / "blobs")
    with open(path, "rb") as source:
        writer = Writer(store, [ALICE.public_key], chunk_log2=18, padded=False)
        written = writer.write(source, size)
    assert (written.depth, written.blobs) == (2, 4097 + 2 + 1)
    found = hashlib.sha256()
    for part in reader.open_root(store, written.address, [ALICE.secret_key]).content():
        found.update(part)
    assert found.digest() == digest.digest()
