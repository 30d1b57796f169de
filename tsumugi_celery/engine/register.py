"""Register: make the ledger's schedules those of the code (section 2, and definition changes)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core import states
from tsumugi_celery.core.cron import parse_cron
from tsumugi_celery.core.decide import Skipped, first_open, leave_out
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.core.repeat import REPEAT_FORMS
from tsumugi_celery.core.timing import Interval, Rule, Timing, WallClock
from tsumugi_celery.core.zones import load_zone
from tsumugi_celery.ledger import claiming, schedules, stretches
from tsumugi_celery.ledger.listed import search_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.engine.plan import Plan

#: The columns that registering may change besides those that describe the definition.
_CHANGING = (
    "active",
    "registered_at",
    "first_at",
    "next_at",
    "accounted_until",
    "n_delay",
    "n_pause",
    "last_skipped_at",
    "stretch_first",
    "stretch_cause",
)


@dataclass(slots=True)
class Registered:
    """What registering changed, by name."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    uncounted: list[tuple[str, str]] = field(default_factory=list)


def register(
    connection: Connection, namespace: str, plans: Mapping[str, Plan], *, now: int
) -> Registered:
    """Write the definitions of this process into the ledger; the rest is no longer defined.

    A new or changed interval is registered from now. Any other change leaves the phase alone. A
    schedule that was removed and comes back goes on in its old phase; the times in between were
    nobody's.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: all schedules of this process, by name.
        now: epoch ms.
    """
    result = Registered()
    rows = schedules.of_namespace(connection, namespace, lock=True)
    inserts: list[dict[str, Any]] = []
    updates: list[dict[str, Any]] = []
    gone = [row for name, row in rows.items() if row.active and name not in plans]
    changed = [
        row
        for name, row in rows.items()
        if name in plans and _timing_changed(row, plans[name].definition)
    ]
    owed = _owed(connection, [*changed, *gone], now, result)
    for name, plan in plans.items():
        row = rows.get(name)
        values = _described(plan)
        if row is None:
            inserts.append(values | _new(namespace, plan.definition, now, result))
            result.added.append(name)
            continue
        moved = _moved(row, plan.definition, now, owed.get(row.id, []), result)
        if moved is not None or any(getattr(row, key) != value for key, value in values.items()):
            updates.append({"id": row.id} | values | (moved or _as_is(row)))
    result.removed += [row.name for row in gone]
    schedules.insert_all(connection, inserts)
    missed = [(identifier, each) for identifier, parts in owed.items() for each in parts]
    stretches.add(connection, missed, at=now)
    schedules.update_all(connection, updates)
    schedules.update_all(connection, [{"id": row.id} | _counted(row, owed[row.id]) for row in gone])
    schedules.retire(connection, [row.id for row in gone])
    return result


def restore(
    connection: Connection, namespace: str, plans: Mapping[str, Plan], *, now: int
) -> Registered:
    """Register schedules of this process anew whose rows have vanished from the ledger.

    What another process has removed in good order still has its row, and is left alone.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: all schedules of this process, by name.
        now: epoch ms.
    """
    result = Registered()
    found = schedules.names(connection, namespace)
    missing = [name for name in plans if name not in found]
    rows = [
        _described(plans[name]) | _new(namespace, plans[name].definition, now, result)
        for name in missing
    ]
    schedules.insert_all(connection, rows)
    result.added += missing
    return result


def _described(plan: Plan) -> dict[str, Any]:
    definition = plan.definition
    return {
        "kind": definition.kind,
        "form": definition.form,
        "target": definition.target,
        "every_ms": definition.every_ms,
        "cron": definition.cron,
        "time_zone": definition.time_zone,
        "schedule_text": definition.schedule_text,
        "search_text": search_text(definition.name, definition.target),
        "overlap": definition.overlap,
        "options": plan.options_text,
        "fingerprint": definition.fingerprint,
        "timing_fingerprint": definition.timing_fingerprint,
    }


def _new(namespace: str, definition: Definition, now: int, result: Registered) -> dict[str, Any]:
    first = definition.first_after(now)
    return {
        "namespace": namespace,
        "collection": "",
        "name": definition.name,
        "registered_at": now,
        "first_at": first,
        "next_at": _next_after(definition, first, now, result),
        "accounted_until": now,
    }


def _timing_changed(row: Row[Any], definition: Definition) -> bool:
    return bool(row.timing_fingerprint != definition.timing_fingerprint)


def _moved(
    row: Row[Any],
    definition: Definition,
    now: int,
    owed: Sequence[Skipped],
    result: Registered,
) -> dict[str, Any] | None:
    """Return the columns that say when, or None where they stay as they are."""
    if _timing_changed(row, definition):
        result.changed.append(row.name)
        first = definition.first_after(now)
        until = max(now, row.accounted_until)
        return (
            _as_is(row)
            | _counted(row, owed)
            | {
                "active": True,
                "registered_at": now,
                "first_at": first,
                "next_at": _next_after(definition, first, until, result),
                "accounted_until": until,
            }
        )
    if not row.active:
        result.returned.append(row.name)
        until = max(now, row.accounted_until)
        return _as_is(row) | {
            "active": True,
            "next_at": _next_after(definition, row.first_at, until, result),
            "accounted_until": until,
            "stretch_cause": None,
        }
    return None


def _as_is(row: Row[Any]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _CHANGING}


def _counted(row: Row[Any], owed: Sequence[Skipped]) -> dict[str, Any]:
    """Return the columns that say what was not executed; other times begin another stretch."""
    values: dict[str, Any] = {
        "n_delay": row.n_delay,
        "n_pause": row.n_pause,
        "last_skipped_at": row.last_skipped_at,
        "accounted_until": row.accounted_until,
        "stretch_cause": None,
    }
    for each in owed:
        values[f"n_{each.cause}"] += each.count
        values["last_skipped_at"] = max(values["last_skipped_at"] or 0, each.last)
        values["accounted_until"] = max(values["accounted_until"], each.last)
    return values


def _next_after(
    definition: Definition, first_at: int, until: int, result: Registered
) -> int | None:
    try:
        timing = definition.timing(first_at)
        # A schedule class that only answers "is it due?" is asked from now on.
        return until if hasattr(timing, "ask") else timing.next_after(until)
    except Exception as exc:  # noqa: BLE001 - one definition's fault is that definition's alone
        result.failed.append((definition.name, reason(exc)))
        return until + 60_000


def _owed(
    connection: Connection, rows: Sequence[Row[Any]], now: int, result: Registered
) -> dict[int, list[Skipped]]:
    """Return the times that definitions so far still owe, so that they count (decision 0042)."""
    taken = claiming.ahead(connection, [row.id for row in rows])
    owed: dict[int, list[Skipped]] = {}
    for row in rows:
        try:
            owed[row.id] = _as_it_was(row, now, taken.get(row.id, ()))
        except Exception as exc:  # noqa: BLE001 - a row changed by hand must not stop the others
            owed[row.id] = []
            result.uncounted.append((row.name, reason(exc)))
    return owed


def _as_it_was(row: Row[Any], now: int, taken: Collection[int]) -> list[Skipped]:
    if not row.active or row.next_at is None or row.next_at > now:
        return []
    timing: Timing
    if row.cron is not None:
        rule: Rule = "repeat" if row.form in REPEAT_FORMS else "schedule"
        timing = WallClock(parse_cron(row.cron), load_zone(row.time_zone), rule)
    elif row.every_ms is not None:
        timing = Interval(row.first_at, row.every_ms)
    else:
        return []
    first = first_open(timing, next_at=row.next_at, accounted_until=row.accounted_until)
    passed = None if first is None else timing.stretch(first - 1, now)
    if passed is None:
        return []
    cause = states.PAUSE if row.paused else states.DELAY
    return leave_out(timing, Skipped(cause, passed.first, passed.last, passed.count), taken)
