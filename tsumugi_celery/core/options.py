"""Job options: what is accepted, as one table, and how a binding's defaults are merged in.

Source: sections 1 and 4 of the contract.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from tsumugi_celery.core.backoff_option import DEFAULT_BACKOFF, read_backoff

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tsumugi_celery.core.backoff import Backoff
    from tsumugi_celery.core.keys import Report

AT_LEAST_ONCE = "at-least-once"
AT_MOST_ONCE = "at-most-once"
GUARANTEES = (AT_LEAST_ONCE, AT_MOST_ONCE)

DAY_MS = 86_400_000
MAX_ATTEMPTS = 1000
MAX_TIMEOUT_MS = 30 * DAY_MS
MAX_SPAN_MS = 3660 * DAY_MS
MAX_KEY = 255


@dataclass(frozen=True)
class JobOptions:
    """The options of a job, checked; times in milliseconds, None where not given.

    Attributes:
        max_attempts: attempts in all; None leaves the task's own retry settings in force.
        backoff: the wait between attempts; never None when `max_attempts` is given.
        timeout_ms: how long one attempt may take.
        priority: 0 to 9, larger is sooner.
        concurrency_key: jobs of one key share the binding's `perKeyConcurrency`.
        partition_key: chooses the shard.
        guarantee: ``at-least-once`` or ``at-most-once``.
        expires_ms: how long after its scheduled time a job may still start.
        celery: Celery's routing options as given under `options`.
    """

    max_attempts: int | None = None
    backoff: Backoff | None = None
    timeout_ms: int | None = None
    priority: int | None = None
    concurrency_key: str | None = None
    partition_key: str | None = None
    guarantee: str = AT_LEAST_ONCE
    expires_ms: int | None = None
    celery: Mapping[str, Any] = field(default_factory=dict)


def whole(value: object, low: int, high: int) -> TypeGuard[int]:
    """Return whether `value` is an int (no bool) from `low` to `high`."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


@dataclass(frozen=True)
class _Rule:
    accepted: str
    fits: Callable[[Any], bool]


def _span(high: int) -> _Rule:
    days = high // DAY_MS
    text = f"an integer of milliseconds from 1 to {high} ({days} days)"
    return _Rule(text, lambda v: whole(v, 1, high))


_KEY = _Rule(
    f"a text of 1 to {MAX_KEY} characters",
    lambda v: isinstance(v, str) and 1 <= len(v) <= MAX_KEY,
)

_RULES: dict[str, _Rule] = {
    "maxAttempts": _Rule(
        f"an integer from 1 to {MAX_ATTEMPTS}, the attempts in all",
        lambda v: whole(v, 1, MAX_ATTEMPTS),
    ),
    "timeoutMs": _span(MAX_TIMEOUT_MS),
    "priority": _Rule("an integer from 0 to 9, larger is sooner", lambda v: whole(v, 0, 9)),
    "concurrencyKey": _KEY,
    "partitionKey": _KEY,
    "guarantee": _Rule(
        " or ".join(map(repr, GUARANTEES)), lambda v: isinstance(v, str) and v in GUARANTEES
    ),
    "expiresMs": _span(MAX_SPAN_MS),
}

JOB_OPTION_KEYS = frozenset(_RULES) | {"backoff"}
FLOW_OPTION_KEYS = frozenset({"deadlineMs"})

#: Keys that a schedule cannot have, and why (the Tsumugi page, "Definition").
REFUSED_KEYS = {
    "uniqueKey": "each scheduled time is executed once already; a uniqueKey would make all "
    "occurrences within its window count as the first one",
    "delayMs": "the schedule alone decides when a job starts; shift everyMs or cron instead",
    "runAt": "the schedule alone decides when a job starts; use everyMs or cron",
}


def read_job_options(given: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Return the valid job options among `given` (camelCase keys); problems go to `report`."""
    read = {}
    for key, rule in _RULES.items():
        if key not in given:
            continue
        if rule.fits(given[key]):
            read[key] = given[key]
        else:
            report.add(key, given[key], rule.accepted)
    if "backoff" in given:
        backoff = read_backoff(given["backoff"], report)
        if backoff is not None:
            read["backoff"] = backoff
    return read


def read_deadline(given: Mapping[str, Any], report: Report) -> int | None:
    """Return the `deadlineMs` of a flow; None when it is absent or wrong."""
    if "deadlineMs" not in given:
        return None
    rule = _span(MAX_SPAN_MS)
    if not rule.fits(given["deadlineMs"]):
        report.add("deadlineMs", given["deadlineMs"], rule.accepted)
        return None
    return int(given["deadlineMs"])


def merge_options(
    defaults: JobOptions, own: Mapping[str, Any], celery: Mapping[str, Any]
) -> JobOptions:
    """Return the options of a schedule: its own win over its binding's defaults.

    Args:
        defaults: of the binding.
        own: from `read_job_options`.
        celery: the schedule's own Celery options; they replace the binding's key by key.
    """
    attempts = own.get("maxAttempts", defaults.max_attempts)
    backoff = own.get("backoff", defaults.backoff)
    return JobOptions(
        max_attempts=attempts,
        backoff=None if attempts is None else backoff or DEFAULT_BACKOFF,
        timeout_ms=own.get("timeoutMs", defaults.timeout_ms),
        priority=own.get("priority", defaults.priority),
        concurrency_key=own.get("concurrencyKey", defaults.concurrency_key),
        partition_key=own.get("partitionKey", defaults.partition_key),
        guarantee=own.get("guarantee", defaults.guarantee),
        expires_ms=own.get("expiresMs", defaults.expires_ms),
        celery={**defaults.celery, **celery},
    )
