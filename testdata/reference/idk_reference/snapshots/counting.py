"""Which heads count, section 9."""

import re

from . import ed25519
from .checks import require
from .names import FORGETTING, SETTINGS, Marker, chain_of, is_ordinary_name, is_too_far_ahead
from .records import (
    FORGET, HEAD_CONTEXT, PART, REPO, SNAP, UNFORGET, Head, Settings, parse_head,
)


def matches(pattern: str, name: str) -> bool:
    """`*` stands for any text, also none; every other character for itself."""
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), name, re.DOTALL) is not None


def verified_head(
    content: bytes, marker: Marker, stored: int, now: int, repository: bytes
) -> tuple[Head, bytes]:
    """Conditions 1 to 5; the head and its payload."""
    require(not is_too_far_ahead(marker, stored, now), "the marker is too far ahead", "head")
    head, payload, signature = parse_head(content)
    require(belongs(head), f"a head of kind {head.kind} is in another chain", "head")
    require(head.repository == repository, "the head is of another repository", "head")
    is_chain = head.chain == chain_of(repository, head.name)
    require(is_chain, "the head's chain is not that of its name", "head")
    agrees = (head.chain, head.generation) == (marker.chain, marker.generation)
    require(agrees, "the head and its marker do not agree", "head")
    is_signed = ed25519.verify(head.writer, HEAD_CONTEXT + payload, signature)
    require(is_signed, "the head's signature is wrong", "head")
    return head, payload


def belongs(head: Head) -> bool:
    """Whether a head of this kind may lie in a chain of this name."""
    if head.kind in (SNAP, PART):
        return is_ordinary_name(head.name)
    return head.name == (SETTINGS if head.kind == REPO else FORGETTING)


def is_settings(head: Head, owner: bytes) -> bool:
    return head.kind == REPO and head.writer == owner


def why_not_allowed(head: Head, settings: Settings, owner: bytes) -> str | None:
    """Condition 6; None if the settings allow the head."""
    is_owner = head.writer == owner
    own = [
        rule for rule in settings.rules
        if rule.key == head.writer and (rule.last is None or head.generation <= rule.last)
    ]
    if head.name == SETTINGS:
        return None if is_owner else "only the owner writes the settings"
    if head.name == FORGETTING:
        may = is_owner or any(rule.may_forget for rule in own)
        return None if may else "its writer may not forget"
    for rule in settings.rules:
        if rule.key is None and matches(rule.pattern, head.name) and head.generation > rule.last:
            return "its chain is closed"
    may = is_owner or any(matches(rule.pattern, head.name) for rule in own)
    return None if may else "its writer may not write this name"


def may_name(forgetting: Head, name: str, settings: Settings, owner: bytes) -> bool:
    """Whether a `forget` or `unforget` affects the heads of a chain of this name."""
    return forgetting.kind in (FORGET, UNFORGET) and (
        forgetting.writer == owner
        or any(
            rule.key == forgetting.writer and rule.may_forget
            and (rule.last is None or forgetting.generation <= rule.last)
            and matches(rule.pattern, name)
            for rule in settings.rules
        )
    )

