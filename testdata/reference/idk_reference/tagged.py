"""Metadata as JSON that keeps types: {"name": {"text": "hello.txt"}}."""

from .errors import IdkError


def from_json(tagged: dict) -> dict:
    metadata = {}
    for key, value in tagged.items():
        match value:
            case {"text": str(text)} if len(value) == 1:
                metadata[key] = text
            case {"uint": int(number)} if len(value) == 1 and not isinstance(number, bool):
                metadata[key] = number
            case {"hex": str(digits)} if len(value) == 1:
                metadata[key] = bytes.fromhex(digits)
            case _:
                raise IdkError("usage", f"metadata {key!r} is not tagged text, uint or hex")
    return metadata


def to_json(metadata: dict) -> dict:
    tags = {str: "text", int: "uint", bytes: "hex"}
    return {
        key: {tags[type(value)]: value.hex() if isinstance(value, bytes) else value}
        for key, value in metadata.items()
    }
