"""Armor: a protected key file as text (docs/format.md, section 16).

    -----BEGIN <label>-----
    Base64 with the standard alphabet, 64 characters on every line but the last
    -----END <label>-----

Lines end with LF or CRLF. White space before and after is ignored; nothing else
may be there, so a file has one armor.
"""

import base64
import re

from .errors import IdkError

COLUMNS = 64
WHITE_SPACE = b" \t\r\n"


def armor(label: str, data: bytes) -> bytes:
    text = base64.b64encode(data).decode("ascii")
    body = [text[at:at + COLUMNS] for at in range(0, len(text), COLUMNS)]
    return "\n".join([f"-----BEGIN {label}-----", *body, f"-----END {label}-----", ""]).encode()


def is_armored(data: bytes) -> bool:
    return data.strip(WHITE_SPACE).startswith(b"-----BEGIN ")


def dearmor(label: str, data: bytes) -> bytes:
    lines = re.split(rb"\r?\n", data.strip(WHITE_SPACE))
    boundaries = [f"-----{word} {label}-----".encode() for word in ("BEGIN", "END")]
    if [lines[0], lines[-1]] != boundaries:
        raise IdkError("key", "the armor does not begin or end as it must")
    body = lines[1:-1]
    if any(len(line) != COLUMNS for line in body[:-1]) or any(len(line) > COLUMNS for line in body):
        raise IdkError("key", "a line of the armor has the wrong length")
    text = b"".join(body)
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        raise IdkError("key", "the armor is not Base64") from None
    # The decoder ignores bits that are left over, and some of what follows the padding.
    if base64.b64encode(decoded) != text or b"" in body:
        raise IdkError("key", "the armor is not canonical")
    return decoded
