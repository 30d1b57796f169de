"""The history of a schedule: occurrences and times not executed, in one order of time."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, or_, select

from tsumugi_celery.control.payloads import shown_payload
from tsumugi_celery.control.source import is_key
from tsumugi_celery.control.views import AttemptView, OccurrencePage, OccurrenceView
from tsumugi_celery.core import states
from tsumugi_celery.core.errors import UnknownOccurrence
from tsumugi_celery.ledger import attempts
from tsumugi_celery.ledger.schema import occurrence as o
from tsumugi_celery.ledger.schema import schedule
from tsumugi_celery.ledger.schema import stretch as s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from tsumugi_celery.control.source import Source

#: The place in the order: time, occurrences (1) before stretches (0), manual number or cause.
Place = tuple[int, int, int | str]
CURSOR = re.compile(r"(?P<at>-?[0-9]{1,15})~(1~(?P<manual>[0-9]{1,9})|0~(?P<cause>[a-z]+))")


def page(
    source: Source,
    name: str,
    *,
    states_wanted: Sequence[str] = (),
    causes: Sequence[str] = (),
    since: int | None = None,
    until: int | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> OccurrencePage:
    """Return a part of the history of a schedule; see `Control.occurrences`."""
    place = read_cursor(cursor)
    with source.read() as connection:
        row = source.row(connection, name, removed=True)
        if row is None:
            return OccurrencePage((), None)
        query = select(o).where(o.c.schedule_id == row.id)
        if states_wanted:
            query = query.where(o.c.state.in_(states_wanted))
        if causes:
            query = query.where(o.c.cause.in_(causes))
        if since is not None:
            query = query.where(o.c.scheduled_at >= since)
        if until is not None:
            query = query.where(o.c.scheduled_at < until)
        if place is not None:
            query = query.where(_after_occurrence(place))
        query = query.order_by(o.c.scheduled_at.desc(), o.c.manual.desc()).limit(limit + 1)
        found = [
            ((each.scheduled_at, 1, each.manual), view(each, name))
            for each in connection.execute(query)
        ]
        if not states_wanted or states.NOT_EXECUTED in states_wanted:
            found += _stretches(connection, row.id, name, causes, since, until, place, limit + 1)
    found.sort(key=lambda pair: pair[0], reverse=True)
    more = len(found) > limit
    found = found[:limit]
    following = "~".join(map(str, found[-1][0])) if more and found else None
    return OccurrencePage(tuple(each for _, each in found), following)


def one(
    source: Source, connection: Connection, occurrence_id: str, *, payload: bool = False
) -> OccurrenceView:
    """Return one occurrence with its attempts.

    Raises:
        UnknownOccurrence: no occurrence of the namespace has this id.
    """
    query = (
        select(o, schedule.c.name.label("schedule_name"))
        .join(schedule, schedule.c.id == o.c.schedule_id)
        .where(o.c.id == occurrence_id, o.c.namespace == source.namespace)
    )
    row = connection.execute(query).one_or_none() if is_key(occurrence_id) else None
    if row is None:
        raise UnknownOccurrence(occurrence_id)
    done = [
        AttemptView(
            each.attempt, each.state, each.started_at, each.ended_at, each.worker, each.error
        )
        for each in attempts.of_occurrence(connection, occurrence_id)
    ]
    if row.attempt and all(each.attempt != row.attempt for each in done):
        # The present attempt is on the occurrence itself, and so is a last one that went well.
        state = row.state if row.state in {states.RUNNING, *states.FINISHED} else states.FAILED
        done.append(
            AttemptView(row.attempt, state, row.started_at, row.ended_at, row.worker, row.error)
        )
    text = shown_payload(row.body) if payload else None
    return replace(view(row, row.schedule_name), attempts=tuple(done), payload=text)


def view(row: Row[Any], name: str) -> OccurrenceView:
    """Return an occurrence as it is shown."""
    return OccurrenceView(
        id=row.id,
        schedule=name,
        scheduled_at=row.scheduled_at,
        last_at=row.scheduled_at,
        count=1,
        manual=row.manual > 0,
        state=row.state,
        cause=row.cause,
        error=row.error,
        kind=row.kind,
        target=row.target,
        task=row.task,
        binding=row.binding,
        queue=row.queue,
        wait=row.wait,
        due_at=row.due_at,
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        fired_at=row.fired_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        expires_at=row.expires_at,
        worker=row.worker,
        untracked=row.untracked,
    )


def read_cursor(cursor: str | None) -> Place | None:
    """Return the place that a page ended at.

    Raises:
        ValueError: not what a page gave as `next`.
    """
    if cursor is None:
        return None
    read = CURSOR.fullmatch(cursor)
    if read is not None and read["manual"]:
        return int(read["at"]), 1, int(read["manual"])
    if read is not None and read["cause"] in states.CAUSES:
        return int(read["at"]), 0, read["cause"]
    raise ValueError(f"cursor: got {cursor[:60]!r}; accepted: what an earlier page gave as 'next'")


def _stretches(  # noqa: PLR0917 - the filters of a page
    connection: Connection,
    schedule_id: int,
    name: str,
    causes: Sequence[str],
    since: int | None,
    until: int | None,
    place: Place | None,
    limit: int,
) -> list[tuple[Place, OccurrenceView]]:
    query = select(s, s.c.count.label("times")).where(s.c.schedule_id == schedule_id)
    if causes:
        query = query.where(s.c.cause.in_(causes))
    if since is not None:
        query = query.where(s.c.last_at >= since)
    if until is not None:
        query = query.where(s.c.first_at < until)
    if place is not None:
        query = query.where(_after_stretch(place))
    query = query.order_by(s.c.first_at.desc(), s.c.cause.desc()).limit(limit)
    return [
        (
            (row.first_at, 0, row.cause),
            OccurrenceView(
                id=None,
                schedule=name,
                scheduled_at=row.first_at,
                last_at=row.last_at,
                count=row.times,
                manual=False,
                state=states.NOT_EXECUTED,
                cause=row.cause,
            ),
        )
        for row in connection.execute(query)
    ]


def _after_occurrence(place: Place) -> ColumnElement[bool]:
    at, rank, tie = place
    if rank == 0:
        return o.c.scheduled_at < at
    return or_(o.c.scheduled_at < at, and_(o.c.scheduled_at == at, o.c.manual < tie))


def _after_stretch(place: Place) -> ColumnElement[bool]:
    at, rank, tie = place
    if rank == 1:
        return s.c.first_at <= at
    return or_(s.c.first_at < at, and_(s.c.first_at == at, s.c.cause < tie))
