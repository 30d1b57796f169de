"""Register: make the ledger's schedules those of the code (section 2, and definition changes)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core import states
from tsumugi_celery.core.cron import parse_cron
from tsumugi_celery.core.decide import Skipped
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.core.timing import Interval, Timing, WallClock
from tsumugi_celery.core.zones import load_zone
from tsumugi_celery.ledger import schedules, stretches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Row

    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.engine.plan import Plan


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
    missed: list[tuple[int, Skipped]] = []
    for name, plan in plans.items():
        row = rows.get(name)
        values = _described(plan)
        if row is None:
            inserts.append(values | _new(namespace, plan.definition, now, result))
            result.added.append(name)
            continue
        counted = None
        if _timing_changed(row, plan.definition):
            try:
                counted = _as_it_was(row, now)
            except Exception as exc:  # noqa: BLE001 - a row changed by hand must not stop the others
                result.uncounted.append((name, reason(exc)))
        if counted is not None:
            missed.append((row.id, counted))
        moved = _moved(row, plan.definition, now, counted, result)
        if moved is not None or any(getattr(row, key) != value for key, value in values.items()):
            updates.append({"id": row.id} | values | (moved or _as_is(row)))
    gone = [row for name, row in rows.items() if row.active and name not in plans]
    result.removed += [row.name for row in gone]
    schedules.insert_all(connection, inserts)
    stretches.add(connection, missed, at=now)
    schedules.update_all(connection, updates)
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
        "overlap": definition.overlap,
        "options": plan.options_text,
        "fingerprint": definition.fingerprint,
        "timing_fingerprint": definition.timing_fingerprint,
    }


def _new(namespace: str, definition: Definition, now: int, result: Registered) -> dict[str, Any]:
    first = now + (definition.every_ms or 0)
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
    row: Row[Any], definition: Definition, now: int, counted: Skipped | None, result: Registered
) -> dict[str, Any] | None:
    """Return the columns that say when, or None where they stay as they are."""
    if _timing_changed(row, definition):
        result.changed.append(row.name)
        first = now + (definition.every_ms or 0)
        values = _as_is(row) | {
            "active": True,
            "registered_at": now,
            "first_at": first,
            "next_at": _next_after(definition, first, max(now, row.accounted_until), result),
            "accounted_until": max(now, row.accounted_until),
        }
        if counted is not None:
            values |= {
                "n_delay": row.n_delay + counted.count,
                "last_skipped_at": counted.last,
                "stretch_first": counted.first,
                "stretch_cause": counted.cause,
            }
        return values
    if not row.active:
        result.returned.append(row.name)
        until = max(now, row.accounted_until)
        return _as_is(row) | {
            "active": True,
            "next_at": _next_after(definition, row.first_at, until, result),
            "accounted_until": until,
        }
    return None


def _as_is(row: Row[Any]) -> dict[str, Any]:
    when = "active registered_at first_at next_at accounted_until"
    missed = "n_delay last_skipped_at stretch_first stretch_cause"
    return {name: getattr(row, name) for name in f"{when} {missed}".split()}


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


def _as_it_was(row: Row[Any], now: int) -> Skipped | None:
    """Return the times that the old definition still owed, so that they are explained too."""
    if not row.active or row.next_at is None or row.next_at > now:
        return None
    timing: Timing
    if row.cron is not None:
        timing = WallClock(parse_cron(row.cron), load_zone(row.time_zone))
    elif row.every_ms is not None:
        timing = Interval(row.first_at, row.every_ms)
    else:
        return None
    passed = timing.stretch(max(row.next_at - 1, row.accounted_until), now)
    return (
        None if passed is None else Skipped(states.DELAY, passed.first, passed.last, passed.count)
    )
