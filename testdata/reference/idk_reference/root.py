"""The plaintext of a root: u32 length || CBOR map || zero bytes.

A root holds short content itself (d = 0), or the references to the top level of
the tree that holds the content.
"""

from dataclasses import dataclass

from . import cbor_profile, tree
from .cbor_profile import MAX_UINT
from .envelope import MAX_ROOT_PLAINTEXT
from .errors import IdkError
from .padme import padme

MAX_METADATA = 65_536
MAX_METADATA_KEY = 255
FIELDS = {"b": bytes, "d": int, "k": int, "m": dict, "n": int, "p": int}


@dataclass(frozen=True)
class Root:
    size: int  # n
    padding: int  # p
    depth: int  # d
    chunk_log2: int  # k
    metadata: dict  # m
    payload: bytes  # b: the content, or references

    @property
    def shape(self) -> tree.Shape:
        return tree.Shape(self.size, self.padding, 1 << self.chunk_log2)

    def encode(self, padded: bool) -> bytes:
        check(self)
        cbor = cbor_profile.encode({
            "b": self.payload, "d": self.depth, "k": self.chunk_log2,
            "m": self.metadata, "n": self.size, "p": self.padding,
        })
        plaintext = len(cbor).to_bytes(4, "big") + cbor
        return plaintext.ljust(padme(len(plaintext)), b"\0") if padded else plaintext


def decode(plaintext: bytes) -> Root:
    require(4 <= len(plaintext) <= MAX_ROOT_PLAINTEXT, "the plaintext is too short or too long")
    end = 4 + int.from_bytes(plaintext[:4], "big")
    require(end <= len(plaintext), "the map runs past the end")
    require(plaintext.count(0, end) == len(plaintext) - end, "the padding is not zero")
    try:
        fields = cbor_profile.decode(plaintext[4:end])
    except cbor_profile.CborError as fault:
        raise IdkError("root", str(fault)) from None
    require(isinstance(fields, dict) and fields.keys() == FIELDS.keys(), "not exactly the six keys")
    for name, kind in FIELDS.items():
        require(isinstance(fields[name], kind), f"{name} has the wrong type")
    root = Root(
        size=fields["n"], padding=fields["p"], depth=fields["d"],
        chunk_log2=fields["k"], metadata=fields["m"], payload=fields["b"],
    )
    check(root)
    return root


def check(root: Root) -> None:
    """Check the rules that hold between the fields."""
    check_metadata(root.metadata)
    require(root.padding <= root.size, "there is more padding than content")
    require(root.size + root.padding <= MAX_UINT, "the stream is too long")
    if root.size <= tree.MAX_INLINE:
        require(root.depth == root.chunk_log2 == root.padding == 0, "short content has no tree")
        require(len(root.payload) == root.size, "the content does not have length n")
    else:
        in_range = tree.MIN_CHUNK_LOG2 <= root.chunk_log2 <= tree.MAX_CHUNK_LOG2
        require(in_range, "the chunk size is out of range")
        require(root.depth == root.shape.depth, "the depth does not match n, p and k")
        top = root.shape.counts[-1]
        require(len(root.payload) == top * tree.REFERENCE_LENGTH, "wrong number of references")


def check_metadata(metadata: dict) -> None:
    for key, value in metadata.items():
        # A key that is not valid UTF-8 is rejected when the map is encoded.
        length = len(key.encode("utf-8", "surrogatepass"))
        require(1 <= length <= MAX_METADATA_KEY, "a metadata key is empty or too long")
        require(isinstance(value, (str, bytes, int)), "a metadata value has the wrong type")
    try:
        encoded = cbor_profile.encode(metadata)
    except cbor_profile.CborError as fault:
        raise IdkError("root", f"metadata: {fault}") from None
    require(len(encoded) <= MAX_METADATA, "the metadata is too long")


def require(condition: bool, message: str) -> None:
    if not condition:
        raise IdkError("root", message)
