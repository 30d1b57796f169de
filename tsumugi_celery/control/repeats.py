"""Repeats that the data owns, a page at a time (section 7 of the contract, issue of a million)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tsumugi_celery.control.listing import last_states
from tsumugi_celery.control.source import is_key
from tsumugi_celery.control.times import local, offset, zone_of
from tsumugi_celery.control.views import View
from tsumugi_celery.core.errors import UnknownCollection, UnknownRepeat
from tsumugi_celery.core.repeat import HELD
from tsumugi_celery.ledger import repeat_changes, repeats

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from tsumugi_celery.control.source import Source

    Action = Literal["pause", "resume", "cancel"]


@dataclass(frozen=True, slots=True)
class RepeatItem(View):
    """One repeat of a collection.

    Attributes:
        id: its id.
        payload: what its runs are called with, as JSON text; None where payloads are not shown.
        every_ms: its interval.
        cron: its five fields.
        time_zone: of cron.
        schedule_text: its times in words.
        paused: whether it is.
        paused_at: since when.
        next_run_at: the next time; None while it is paused, or waits for its run to end.
        next_run_local: the same on the wall clock of its zone (UTC for an interval), ISO 8601.
        utc_offset: the offset at `next_run_at`, such as 'GMT+09:00'.
        waits_for_run: whether its next time came while a run was unfinished.
        last_run_at: the scheduled time of the last run.
        last_fired_at: when that was enqueued.
        last_job_id: its id.
        last_state: its state.
        last_error: why the last one could not be enqueued, until the next success.
        last_error_at: when.
    """

    id: str
    payload: str | None
    every_ms: int | None
    cron: str | None
    time_zone: str | None
    schedule_text: str
    paused: bool
    paused_at: int | None
    next_run_at: int | None
    next_run_local: str | None
    utc_offset: str | None
    waits_for_run: bool
    last_run_at: int | None
    last_fired_at: int | None
    last_job_id: str | None
    last_state: str | None
    last_error: str | None
    last_error_at: int | None


@dataclass(frozen=True, slots=True)
class RepeatPage(View):
    """A part of a collection, in the order of the ids' bytes.

    Attributes:
        repeats: the repeats.
        total: how many there are with this prefix, on whatever page.
        next: the id to give as `after` for the next page; None on the last one.
    """

    repeats: tuple[RepeatItem, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class CollectionItem(View):
    """A collection of repeats.

    Attributes:
        name: given to `Tsumugi.repeats`.
        target: the binding as written; None where this process does not make the collection.
        defined_here: whether the code of this process makes it.
    """

    name: str
    target: str | None
    defined_here: bool


def collections(source: Source) -> tuple[CollectionItem, ...]:
    """Return the collections; see `Control.collections`."""
    defined = source.repeats
    with source.read() as connection:
        names = {*defined, *repeats.collections(connection, source.namespace)}
    return tuple(
        CollectionItem(name, defined[name].target if name in defined else None, name in defined)
        for name in sorted(names)
    )


def page(
    source: Source,
    collection: str,
    *,
    prefix: str = "",
    after: str | None = None,
    limit: int = 100,
    payload: bool = False,
) -> RepeatPage:
    """Return a part of a collection; see `Control.repeats`."""
    space = source.namespace
    with source.read() as connection:
        rows = repeats.page(
            connection, space, collection, prefix=prefix, after=after, limit=limit + 1
        )
        total = repeats.count(connection, space, collection, prefix=prefix)
        states = last_states(connection, rows[:limit])
    if not rows and collection not in source.repeats:
        raise UnknownCollection(collection, source.repeats)
    shown = tuple(_item(row, states.get(row.id), payload=payload) for row in rows[:limit])
    return RepeatPage(shown, total, shown[-1].id if len(rows) > limit else None)


def change(source: Source, collection: str, identifier: str, action: Action) -> RepeatItem:
    """Pause, resume or cancel one; return it as it is then, a cancelled one as it was.

    Raises:
        UnknownRepeat: no repeat of this collection has this id.
    """
    space, now = source.namespace, source.now()

    def work(connection: Connection) -> RepeatItem | None:
        row = None
        if is_key(identifier) and is_key(collection):
            row = repeats.find(connection, space, collection, identifier, lock=True)
        if row is None or not collection:  # '' holds the schedules of the code
            return None
        if action == "cancel":
            repeat_changes.cancel(connection, space, collection, identifier)
        elif action == "pause":
            repeat_changes.pause(connection, space, collection, identifier, now=now)
        else:
            repeat_changes.resume(connection, space, collection, identifier, now=now)
        after = repeats.find(connection, space, collection, identifier) or row
        return _item(after, last_states(connection, [after]).get(after.id), payload=False)

    found = source.transact(work)
    if found is None:
        raise UnknownRepeat(collection, identifier)
    return found


def _item(row: Row[Any], last_state: str | None, *, payload: bool) -> RepeatItem:
    held = row.next_at == HELD
    coming = None if held else row.next_at
    zone = zone_of(row.time_zone)
    return RepeatItem(
        id=row.name,
        payload=row.payload if payload else None,
        every_ms=row.every_ms,
        cron=row.cron,
        time_zone=row.time_zone,
        schedule_text=row.schedule_text,
        paused=row.paused,
        paused_at=row.paused_at,
        next_run_at=coming,
        next_run_local=None if coming is None else local(coming, zone),
        utc_offset=None if coming is None else offset(coming, zone),
        waits_for_run=held,
        last_run_at=row.last_run_at,
        last_fired_at=row.last_fired_at,
        last_job_id=row.last_job_id,
        last_state=last_state,
        last_error=row.last_error,
        last_error_at=row.last_error_at,
    )
