"""Repeats that the data owns, a page at a time (section 7 of the contract, issue of a million)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tsumugi_celery.control.views import View
from tsumugi_celery.core.errors import UnknownCollection
from tsumugi_celery.core.repeat import HELD
from tsumugi_celery.ledger import repeats

if TYPE_CHECKING:
    from sqlalchemy import Row

    from tsumugi_celery.control.source import Source


@dataclass(frozen=True, slots=True)
class RepeatItem(View):
    """One repeat of a collection.

    Attributes:
        id: its id.
        payload: what its runs are called with, as JSON text; None where payloads are not shown.
        every_ms: its interval.
        cron: its five fields.
        time_zone: of cron.
        paused: whether it is.
        paused_at: since when.
        next_run_at: the next time; None while it is paused, or waits for its run to end.
        waits_for_run: whether its next time came while a run was unfinished.
        last_run_at: the scheduled time of the last run.
        last_fired_at: when that was enqueued.
        last_job_id: its id.
        last_error: why the last one could not be enqueued, until the next success.
        last_error_at: when.
    """

    id: str
    payload: str | None
    every_ms: int | None
    cron: str | None
    time_zone: str | None
    paused: bool
    paused_at: int | None
    next_run_at: int | None
    waits_for_run: bool
    last_run_at: int | None
    last_fired_at: int | None
    last_job_id: str | None
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
    if not rows and collection not in source.definitions.repeats:
        raise UnknownCollection(collection, source.definitions.repeats)
    shown = tuple(_item(row, payload=payload) for row in rows[:limit])
    return RepeatPage(shown, total, shown[-1].id if len(rows) > limit else None)


def _item(row: Row[Any], *, payload: bool) -> RepeatItem:
    held = row.next_at == HELD
    return RepeatItem(
        id=row.name,
        payload=row.payload if payload else None,
        every_ms=row.every_ms,
        cron=row.cron,
        time_zone=row.time_zone,
        paused=row.paused,
        paused_at=row.paused_at,
        next_run_at=None if held else row.next_at,
        waits_for_run=held,
        last_run_at=row.last_run_at,
        last_fired_at=row.last_fired_at,
        last_job_id=row.last_job_id,
        last_error=row.last_error,
        last_error_at=row.last_error_at,
    )
