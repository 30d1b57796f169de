"""Mend: a next time may be wrong after the clock or the zone data changed (design, invariant).

The next time of a schedule is never later than the one computed from now, over the times that are
not dealt with yet. Times recorded as missed stay missed, unless the clock that recorded them was
more than a day ahead: then what has not come yet cannot have been missed, and a schedule that
would stay silent for a year is worse than a corrected record (decision 0020, decision 0041).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import case, delete, func, or_, select, update

from tsumugi_celery.core import states
from tsumugi_celery.core.decide import first_open
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.core.stretch import Stretch
from tsumugi_celery.ledger import schedules
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.ledger.schema import schedule, stretch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Row

    from tsumugi_celery.core.timing import Timing
    from tsumugi_celery.engine.plan import Plan

#: How far ahead of now a record may lie before it is taken for a wrong clock's, ms.
WRONG_CLOCK = 24 * 3_600_000
#: How far the clocks of two machines may differ, ms.
SKEW = 60_000


def mend(
    connection: Connection, namespace: str, plans: Mapping[str, Plan], *, now: int
) -> list[tuple[str, str]]:
    """Correct next times that lie too late, or that are no scheduled times any more.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: all schedules of this process, by name.
        now: epoch ms.

    Returns:
        (name, what was corrected).
    """
    mended: list[tuple[str, str]] = []
    updates: list[dict[str, Any]] = []
    for name, row in schedules.of_namespace(connection, namespace, lock=True).items():
        plan = plans.get(name)
        if plan is None or not row.active or plan.definition.fingerprint != row.fingerprint:
            continue
        try:
            correct = _correct(connection, row, plan, now)
        except Exception as exc:  # noqa: BLE001 - one definition's fault is that definition's alone
            mended.append((name, f"its next time cannot be computed: {reason(exc)}"))
            continue
        if correct["accounted_until"] != row.accounted_until:
            words = "times recorded by a clock that ran more than a day ahead are open again"
            mended.append((name, words))
        if any(getattr(row, column) != value for column, value in correct.items()):
            words = f"next time {row.next_at} corrected to {correct['next_at']}"
            mended.append((name, words))
            updates.append({"id": row.id} | correct)
    schedules.update_all(connection, updates)
    _bring_back(connection, namespace, now)
    return mended


def _correct(connection: Connection, row: Row[Any], plan: Plan, now: int) -> dict[str, Any]:
    """Return the columns that say when, as they should be."""
    definition = plan.definition
    until, registered, first = row.accounted_until, row.registered_at, row.first_at
    if until > now + WRONG_CLOCK:
        _cut_back(connection, row, definition.timing(first), now)
        until = now
        if registered > now:
            # Registered by that clock: the phase stays, but it begins within one interval.
            registered = now
            first -= (first - now - 1) // (definition.every_ms or 1) * (definition.every_ms or 1)
    timing = definition.timing(first)
    latest = max(now, until)
    if hasattr(timing, "ask"):
        # Such a schedule has no times of its own; only a check far in the future is wrong.
        expected: int | None = min(row.next_at or latest, latest + WRONG_CLOCK)
    else:
        following = timing.next_after(latest)
        expected = first_open(timing, next_at=row.next_at, accounted_until=until)
        if expected is None or (following is not None and following < expected):
            expected = following
    return {
        "next_at": expected,
        "accounted_until": until,
        "registered_at": registered,
        "first_at": first,
    }


def _cut_back(connection: Connection, row: Row[Any], timing: Timing, now: int) -> None:
    """Shorten the stretches that reach into the future, and what the list shows of it."""
    late = select(stretch).where(stretch.c.schedule_id == row.id, stretch.c.last_at > now)
    for each in connection.execute(late).all():
        key = (
            (stretch.c.schedule_id == row.id)
            & (stretch.c.first_at == each.first_at)
            & (stretch.c.cause == each.cause)
        )
        kept = _part_until(now, each, None if each.first_at < row.registered_at else timing)
        if kept is None:
            connection.execute(delete(stretch).where(key))
        else:
            connection.execute(
                update(stretch).where(key).values(last_at=kept.last, count=kept.count)
            )
        counter = schedule.c[f"n_{each.cause}"]
        count = kept.count if kept is not None else 0
        connection.execute(
            update(schedule)
            .where(schedule.c.id == row.id)
            .values({counter: counter - each.count + count, schedule.c.stretch_cause: None})
        )
    _show_what_was(connection, row, now)


def _part_until(now: int, row: Row[Any], timing: Timing | None) -> Stretch | None:
    """Return the part of a stretch up to now.

    Args:
        now: epoch ms.
        row: the stretch.
        timing: the times it was made of; None where the schedule had others then: they are taken
            for evenly spread.
    """
    if row.first_at > now:
        return None
    if timing is not None and not hasattr(timing, "ask"):
        return timing.stretch(row.first_at - 1, now)
    counted: int = row._mapping["count"]  # noqa: SLF001 - `count` is also a method of tuples
    step = max((row.last_at - row.first_at) // max(counted - 1, 1), 1)
    count = min((now - row.first_at) // step + 1, counted)
    return Stretch(count, row.first_at, row.first_at + (count - 1) * step)


def _show_what_was(connection: Connection, row: Row[Any], now: int) -> None:
    """Let the list show the last execution and the last time not executed up to now."""
    mine = (t.c.schedule_id == row.id) & (t.c.scheduled_at <= now)
    failed = select(func.max(t.c.scheduled_at)).where(mine, t.c.state == states.NOT_EXECUTED)
    skipped = select(func.max(stretch.c.last_at)).where(stretch.c.schedule_id == row.id)
    times = [connection.execute(query).scalar() for query in (failed, skipped)]
    values: dict[str, Any] = {"last_skipped_at": max(filter(None, times), default=None)}
    if (row.last_run_at or 0) > now:
        ran = select(t).where(mine, t.c.fired_at.is_not(None), t.c.state != states.NOT_EXECUTED)
        last = connection.execute(ran.order_by(t.c.scheduled_at.desc()).limit(1)).one_or_none()
        values["last_run_at"] = None if last is None else last.scheduled_at
        values["last_fired_at"] = None if last is None else min(last.fired_at, now)
        if last is not None:
            values[f"last_{'job' if last.kind == 'job' else 'run'}_id"] = last.id
    connection.execute(update(schedule).where(schedule.c.id == row.id).values(values))


def _bring_back(connection: Connection, namespace: str, now: int) -> None:
    """Bring unfinished jobs back from the future: nobody would look for them, nor retry them."""
    ahead = now + SKEW
    columns = (t.c.claimed_at, t.c.fired_at, t.c.started_at)
    connection.execute(
        update(t)
        .where(t.c.namespace == namespace, t.c.state.in_(states.UNFINISHED))
        .where(or_(*(column > ahead for column in columns)))
        .values(
            {column: case((column > now, now), else_=column) for column in (*columns, t.c.due_at)}
        )
    )
