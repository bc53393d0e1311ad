"""Identity files: text with one identity a line, or protected (docs/format.md, section 16)."""

from pathlib import Path

from .. import keyfile, keys
from ..errors import IdkError
from .writer_keys import key_lines


def read_identity_file(path: str | Path, passphrase: str | None = None) -> list[bytes]:
    """All identities of a file, in order. The owner's key is derived from the first."""
    data = Path(path).read_bytes()
    if keyfile.is_protected(data):
        if passphrase is None:
            raise IdkError("passphrase", "the identity file is protected: give its passphrase")
        return [keyfile.open_file(data, passphrase)]
    identities = [keys.parse_identity(line) for line in key_lines(data)]
    if not identities:
        raise IdkError("key", f"{path} has no identity")
    return identities
