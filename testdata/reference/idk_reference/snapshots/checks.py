"""Checks of the shape of decoded CBOR-T. What is malformed has the code of its kind."""

from ..errors import IdkError

ADDRESS_LENGTH = 32


def require(condition: bool, message: str, code: str = "tree") -> None:
    if not condition:
        raise IdkError(code, message)


def fields(value, what: str, keys: set[str], code: str = "tree") -> dict:
    """A map with exactly these keys."""
    require(isinstance(value, dict), f"{what} is not a map", code)
    require(value.keys() == keys, f"{what} has other keys than {sorted(keys)}", code)
    return value


def array(value, what: str, most: int | None = None, code: str = "tree") -> list:
    require(isinstance(value, list), f"{what} is not an array", code)
    require(most is None or len(value) <= most, f"{what} has more than {most} items", code)
    return value


def uint(value, what: str, most: int | None = None, code: str = "tree") -> int:
    require(isinstance(value, int) and value >= 0, f"{what} is not an unsigned integer", code)
    require(most is None or value <= most, f"{what} is more than {most}", code)
    return value


def text(value, what: str, code: str = "tree") -> str:
    require(isinstance(value, str), f"{what} is not text", code)
    return value


def octets(value, what: str, length: int | None = None, code: str = "tree") -> bytes:
    require(isinstance(value, bytes), f"{what} is not bytes", code)
    require(length is None or len(value) == length, f"{what} is not {length} bytes", code)
    return value


def ascending(names: list[bytes], message: str) -> None:
    """Bytewise, so that no two are equal."""
    require(all(a < b for a, b in zip(names, names[1:])), message)
