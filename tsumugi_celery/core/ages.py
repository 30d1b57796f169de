"""The setting `tsumugi_retention`: how long history is kept, by what became of it.

Source: section 0 of the contract (the setting's name) and decision 0065.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.keys import read_keys, snake

if TYPE_CHECKING:
    from tsumugi_celery.core.keys import Report

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
#: Less is a slip: days written where seconds are meant would erase the history.
LEAST_MS = HOUR_MS
MOST_MS = 36_600 * DAY_MS

_KEYS = ("completed", "failed", "cancelled", "stalled", "notExecuted")
_ACCEPTED = (
    "a timedelta or a number of seconds, from 1 hour to 36600 days, or None to keep them for ever"
)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long after its end each kind of row is kept, ms; None for ever.

    Attributes:
        completed: jobs and Runs that went well, and jobs that nobody reports on.
        failed: those that failed.
        cancelled: revoked, expired or cancelled.
        stalled: waiting for a person, so kept until told otherwise.
        not_executed: scheduled times that were not executed, with their reasons.
    """

    completed: int | None = 7 * DAY_MS
    failed: int | None = 30 * DAY_MS
    cancelled: int | None = 30 * DAY_MS
    stalled: int | None = None
    not_executed: int | None = 30 * DAY_MS


def read_retention(raw: object, report: Report) -> Retention:
    """Return the retention that `raw` asks for; problems go to `report`.

    Args:
        raw: None for the defaults, or a mapping of some of the outcomes to ages.
        report: where problems are told.
    """
    if raw is None:
        return Retention()
    if not isinstance(raw, Mapping):
        names = ", ".join(map(snake, _KEYS))
        report.add("tsumugi_retention", raw, f"a dict of ages by outcome: {names}")
        return Retention()
    nested = report.inside("tsumugi_retention")
    values: dict[str, Any] = {}
    for key, value in read_keys(raw, _KEYS, nested).items():
        if value is None:
            values[snake(key)] = None
            continue
        age = _milliseconds(value)
        if age is None or not LEAST_MS <= age <= MOST_MS:
            hint = "seven days are timedelta(days=7)" if age is not None and age < LEAST_MS else ""
            nested.add(key, value, _ACCEPTED, hint)
        else:
            values[snake(key)] = age
    return Retention(**values)


def _milliseconds(value: object) -> int | None:
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return int(value * 1000)
    except (ValueError, OverflowError):  # NaN and infinity
        return None
