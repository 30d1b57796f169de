"""Reading a mapping that a person wrote: both spellings of a key, unknown keys, near misses.

Source: section 0 of the contract (camelCase keys, snake_case twins accepted, both at once
refused) and section 1 (an unknown key is refused with the nearest known one as a hint).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.errors import Problem
from tsumugi_celery.core.wording import did_you_mean, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Report:
    """Collects the problems of one definition.

    Attributes:
        where: names the definition, such as ``schedule 'nightly'``.
        problems: where they are put, shared by all definitions of one reading.
        prefix: put before each key, such as ``backoff.``.
        spelled: camelCase key -> the spelling the user chose, which problems then show.
    """

    where: str
    problems: list[Problem] = field(default_factory=list)
    prefix: str = ""
    spelled: dict[str, str] = field(default_factory=dict)

    def add(self, key: str, got: object, accepted: str, hint: str = "") -> None:
        """Record that `key` has the value `got` where `accepted` is asked for."""
        self.say(key, shown(got), accepted, hint)

    def say(self, key: str, got: str, accepted: str, hint: str = "") -> None:
        """Record a problem whose value is described in words rather than by its repr."""
        written = f"{self.prefix}{self.spelled.get(key, key)}"
        self.problems.append(Problem(self.where, written, got, accepted, hint))

    def inside(self, key: str) -> Report:
        """Return a report for what is nested under `key`."""
        return Report(self.where, self.problems, f"{self.prefix}{key}.")


def snake(key: str) -> str:
    """Return the snake_case twin of a camelCase key."""
    return _HUMP.sub("_", key).lower()


def guess(word: object, known: Iterable[str]) -> str:
    """Return a hint naming the known word nearest to `word`; empty when none is near."""
    return did_you_mean(nearest(word, known, limit=1))


def read_keys(
    raw: Mapping[Any, Any],
    known: Collection[str],
    report: Report,
    reasons: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return `raw` with its known keys in camelCase; problems go to `report`.

    Args:
        raw: what the user wrote.
        known: the accepted keys, in camelCase.
        report: where unknown keys and doubled spellings are told.
        reasons: keys that are refused for a reason of their own, camelCase key -> reason.
    """
    reasons = reasons or {}
    spelled = {twin: key for key in (*known, *reasons) for twin in (snake(key), key)}
    read: dict[str, Any] = {}
    for written, value in raw.items():
        key = spelled.get(written) if isinstance(written, str) else None
        if key is None:
            hint = guess(written, [s for s, k in spelled.items() if k not in reasons])
            accepted = f"one of the keys {', '.join(sorted(known))}"
            name = written if isinstance(written, str) else shown(written)
            report.say(name, f"{shown(written)}, an unknown key", accepted, hint)
        elif key in reasons:
            report.add(written, value, f"no {key}", reasons[key])
        elif key in read:
            report.say(key, f"{key!r} and {snake(key)!r}", "one spelling of the key", "delete one")
        else:
            read[key] = value
            report.spelled[key] = written
    return read
