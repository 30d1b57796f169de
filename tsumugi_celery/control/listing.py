"""The list of schedules (section 7 of the contract)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from tsumugi_celery.control.recent import recent_of
from tsumugi_celery.control.times import local, offset, timing_of, zone_of
from tsumugi_celery.control.views import SchedulePage, ScheduleView
from tsumugi_celery.core import states
from tsumugi_celery.ledger import schedules
from tsumugi_celery.ledger.schema import occurrence as o

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    matches = _matcher(search, paused=paused, kind=kind, failing=failing)
    with source.read() as connection:
        found: dict[str, Row[Any] | None] = {
            row.name: row for row in schedules.active_index(connection, source.namespace)
        }
        missing = [name for name in source.defined if name not in found]
        if missing:
            # Either no beat has registered them yet, or they were removed by newer code.
            rows = schedules.of_namespace(connection, source.namespace)
            found |= {name: None for name in missing if name not in rows}
        names = sorted(
            name
            for name, row in found.items()
            if (matches(row) if row is not None else matches(_as_row(source.defined[name])))
        )
        wanted = names[offset:] if limit is None else names[offset : offset + limit]
        ids = [row.id for name in wanted if (row := found[name]) is not None]
        views = {each.name: each for each in views_of(source, connection, ids, recent=recent)}
    listed = [views[name] if name in views else unregistered(source, name) for name in wanted]
    return SchedulePage(tuple(listed), len(names), limit, offset)


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
    last = _last_states(connection, list(rows.values()))
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


def _last_states(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, str]:
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


class _AsRow:
    """A definition that is not registered yet, in the eyes of a filter."""

    paused = False
    last_error_at = None

    def __init__(self, definition: Definition) -> None:
        self.name, self.target, self.kind = definition.name, definition.target, definition.kind


_as_row = _AsRow


def _matcher(
    search: str | None, *, paused: bool | None, kind: str | None, failing: bool | None
) -> Callable[[Any], bool]:
    words = (search or "").casefold().split()

    def matches(row: Any) -> bool:
        text = f"{row.name} {row.target}".casefold()
        return (
            all(word in text for word in words)
            and (paused is None or row.paused == paused)
            and (kind is None or row.kind == kind)
            and (failing is None or (row.last_error_at is not None) == failing)
        )

    return matches
