"""Which keys belong to which form, and so which form a definition has.

Source: section 1 of the contract: Tsumugi's own form and Celery's stand side by side in one
mapping, but not in one definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celery.beat import ScheduleEntry

from tsumugi_celery.core.keys import Report, snake
from tsumugi_celery.core.options import JOB_OPTION_KEYS

TSUMUGI = "tsumugi"
CELERY = "celery"

TSUMUGI_ONLY = frozenset(
    {"binding", "flow", "payload", "input", "everyMs", "cron", "timeZone", "deadlineMs"}
)
CELERY_ONLY = frozenset({"task", "schedule", "args", "kwargs", "relative"})
SHARED = JOB_OPTION_KEYS | {"overlap", "options"}

TSUMUGI_KEYS = TSUMUGI_ONLY | SHARED
CELERY_KEYS = CELERY_ONLY | SHARED

#: Fields of Celery's own entries that the ledger takes the place of.
CELERY_REFUSED = {
    "last_run_at": "the ledger knows when it last ran",
    "total_run_count": "the ledger counts the runs",
}
#: Celery itself replaces these by the key and the app of the beat.
CELERY_IGNORED = frozenset({"name", "app"})


def as_mapping(entry: object) -> Mapping[Any, Any] | None:
    """Return a definition as a mapping; None for what is no definition at all."""
    if isinstance(entry, ScheduleEntry):
        written = {"task": entry.task, "schedule": entry.schedule, "args": entry.args}
        return {**written, "kwargs": entry.kwargs, "options": entry.options}
    return entry if isinstance(entry, Mapping) else None


def form_of(entry: Mapping[Any, Any], report: Report) -> str | None:
    """Return the form of a definition; None, reported, when it mixes the two."""
    ours = _used(entry, TSUMUGI_ONLY)
    theirs = _used(entry, CELERY_ONLY)
    if ours and theirs:
        report.say(
            "form",
            f"{', '.join(ours)} (Tsumugi's form) with {', '.join(theirs)} (Celery's form)",
            "the keys of one form",
            "write binding, payload and everyMs or cron; or task, args, kwargs and schedule",
        )
        return None
    return CELERY if theirs else TSUMUGI


def _used(entry: Mapping[Any, Any], keys: frozenset[str]) -> list[str]:
    return [key for key in entry if key in keys or key in {snake(one) for one in keys}]
