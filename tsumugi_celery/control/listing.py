"""The list of schedules (section 7 of the contract)."""

from __future__ import annotations

from bisect import bisect
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from tsumugi_celery.control.recent import recent_of
from tsumugi_celery.control.times import local, offset, timing_of, zone_of
from tsumugi_celery.control.views import SchedulePage, ScheduleView
from tsumugi_celery.core import states
from tsumugi_celery.ledger import listed, schedules
from tsumugi_celery.ledger.listed import Filter
from tsumugi_celery.ledger.schema import occurrence as o

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from tsumugi_celery.control.source import Source
    from tsumugi_celery.control.views import Outcome
    from tsumugi_celery.definitions.model import Definition


def page(
    source: Source,
    *,
    search: str | None = None,
    paused: bool | None = None,
    kind: str | None = None,
    failing: bool | None = None,
    limit: int | None = None,
    offset: int = 0,
    recent: int = 0,
) -> SchedulePage:
    """Return a part of the list, ordered by name; see `Control.list`."""
    wanted = Filter(search, paused, kind, failing)
    with source.read() as connection:
        counted = listed.count(connection, source.namespace, wanted)
        # Either no beat has registered them yet, or none of this ledger will.
        waiting = [
            name
            for name in source.unregistered(connection, counted.rows)
            if wanted.takes(name, (each := source.defined[name]).target, each.kind)
        ]
        cut = _cut(source, connection, wanted, waiting, limit, offset)
        ids = [row for _, row in cut if row is not None]
        views = {each.name: each for each in views_of(source, connection, ids, recent=recent)}
    shown = [
        views.get(name) or unregistered(source, name)
        for name, row in cut
        if name in views or row is None
    ]
    return SchedulePage(tuple(shown), counted.matching + len(waiting), limit, offset)


def _cut(  # noqa: PLR0917 - a step of `page`
    source: Source,
    connection: Connection,
    wanted: Filter,
    waiting: Sequence[str],
    limit: int | None,
    offset: int,
) -> list[tuple[str, int | None]]:
    """Return name and row number of a part of the list; None for those that have no row.

    Of what comes before the part, at most all of `waiting` have no row, so the rows are read from
    that many earlier on.
    """
    first = max(0, offset - len(waiting))
    rows = listed.page(
        connection,
        source.namespace,
        wanted,
        limit=None if limit is None else offset + limit - first,
        offset=first,
    )
    # Those without a row that come before all that was read.
    before = bisect(waiting, rows[0][0]) if rows and first else 0
    both: list[tuple[str, int | None]] = [*rows, *((name, None) for name in waiting[before:])]
    both.sort(key=itemgetter(0))
    start = offset - first - before
    return both[start:] if limit is None else both[start : start + limit]


def one(source: Source, connection: Connection, name: str, *, recent: int = 0) -> ScheduleView:
    """Return one schedule.

    Raises:
        UnknownSchedule: no schedule has this name.
    """
    row = source.row(connection, name)
    if row is None:
        return unregistered(source, name)
    (view,) = views_of(source, connection, [row.id], recent=recent)
    return view


def views_of(
    source: Source, connection: Connection, ids: Sequence[int], *, recent: int = 0
) -> list[ScheduleView]:
    """Return the schedules of these rows."""
    rows = schedules.by_ids(connection, ids)
    last = last_states(connection, list(rows.values()))
    unfinished = _unfinished(connection, ids)
    outcomes = recent_of(connection, ids, recent) if recent else {}
    defined, now = source.defined, source.now()
    return [
        _view(
            rows[each],
            defined.get(rows[each].name),
            now,
            last.get(each),
            unfinished.get(each, 0),
            tuple(outcomes.get(each, ())),
        )
        for each in ids
        if each in rows
    ]


def unregistered(source: Source, name: str) -> ScheduleView:
    """Return a schedule that is defined here and that no beat has registered yet."""
    definition = source.defined[name]
    return ScheduleView(
        name=name,
        kind=definition.kind,
        target=definition.target,
        every_ms=definition.every_ms,
        cron=definition.cron,
        time_zone=definition.time_zone,
        overlap=definition.overlap,
        form=definition.form,
        schedule_text=definition.schedule_text,
        defined_here=True,
    )


def _view(  # noqa: PLR0917 - what a page reads for many schedules at once
    row: Row[Any],
    definition: Definition | None,
    now: int,
    last_state: str | None,
    unfinished: int,
    recent: tuple[Outcome, ...],
) -> ScheduleView:
    zone = zone_of(row.time_zone)
    coming = _next(row, definition, now)
    counts = {cause: getattr(row, f"n_{cause}") for cause in states.CAUSES}
    return ScheduleView(
        name=row.name,
        kind=row.kind,
        target=row.target,
        every_ms=row.every_ms,
        cron=row.cron,
        time_zone=row.time_zone,
        overlap=row.overlap,
        paused=row.paused,
        paused_at=row.paused_at,
        next_run_at=coming,
        last_run_at=row.last_run_at,
        last_fired_at=row.last_fired_at,
        last_job_id=row.last_job_id,
        last_run_id=row.last_run_id,
        last_skipped_at=row.last_skipped_at,
        skipped_count=sum(counts.values()),
        not_executed=counts,
        last_error=row.last_error,
        last_error_at=row.last_error_at,
        form=row.form,
        schedule_text=row.schedule_text,
        next_run_local=None if coming is None else local(coming, zone),
        utc_offset=None if coming is None else offset(coming, zone),
        last_state=last_state,
        unfinished=unfinished,
        registered_at=row.registered_at,
        defined_here=definition is not None,
        recent=recent,
    )


def _next(row: Row[Any], definition: Definition | None, now: int) -> int | None:
    """Return the next time; of a paused one, what has passed by now is not next any more."""
    coming: int | None = row.next_at
    if not row.paused or coming is None or coming > now:
        return coming
    try:
        timing = timing_of(row, definition)
        return coming if timing is None else timing.next_after(now)
    except Exception:  # noqa: BLE001 - a schedule class of the user's own; its beat says what it raises
        return coming


def last_states(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, str]:
    """Return the state of the last execution, by schedule."""
    at = {row.id: row.last_run_at for row in rows}
    ids = [each for row in rows for each in (row.last_job_id, row.last_run_id) if each is not None]
    found: dict[int, str] = {}
    for start in range(0, len(ids), schedules.CHUNK):
        query = select(o.c.schedule_id, o.c.scheduled_at, o.c.state).where(
            o.c.id.in_(ids[start : start + schedules.CHUNK])
        )
        for row in connection.execute(query):
            # A schedule that was a job once and is a flow now has one of each.
            if at.get(row.schedule_id) == row.scheduled_at:
                found[row.schedule_id] = row.state
    return found


def _unfinished(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for start in range(0, len(ids), schedules.CHUNK):
        query = (
            select(o.c.schedule_id, func.count().label("number"))
            .where(
                o.c.state.in_(states.UNFINISHED),
                o.c.schedule_id.in_(ids[start : start + schedules.CHUNK]),
            )
            .group_by(o.c.schedule_id)
        )
        found |= {row.schedule_id: row.number for row in connection.execute(query)}
    return found
