"""The two turns of phrase that every error message here shares."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN_LENGTH = 80


def shown(value: object) -> str:
    """Return ``repr(value)`` shortened to one line of a message.

    Args:
        value: Anything a user may have written; its ``repr`` may be huge, or itself broken.

    Returns:
        At most ``SHOWN_LENGTH`` characters, without line breaks.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a broken repr must not hide the problem being reported
        text = f"<{type(value).__name__} object whose repr fails>"
    text = " ".join(text.split())
    if len(text) <= SHOWN_LENGTH:
        return text
    return f"{text[: SHOWN_LENGTH - 4]}...{text[-1]}"


def nearest(name: object, known: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """Return the known names a user most likely meant, the best one first.

    Args:
        name: What was written; anything but text has no near misses.
        known: The names that exist.
        limit: How many to return at most.

    Returns:
        Near misses, the case of letters ignored; empty when nothing is close.
    """
    if not isinstance(name, str) or len(name) > SHOWN_LENGTH:
        return ()
    spellings: dict[str, list[str]] = {}
    for candidate in known:
        spellings.setdefault(candidate.casefold(), []).append(candidate)
    matches = get_close_matches(name.casefold(), spellings, n=limit, cutoff=0.7)
    return tuple(one for match in matches for one in spellings[match])[:limit]


def did_you_mean(names: Iterable[str]) -> str:
    """Return ``"did you mean 'a' or 'b'?"``, or an empty text when there is nothing to offer."""
    quoted = [repr(name) for name in names]
    return f"did you mean {' or '.join(quoted)}?" if quoted else ""


def printable(text: str) -> str:
    """Return a name as one line that steers no terminal and forges no line of a log.

    Names in Celery's form may hold any character.
    """
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
