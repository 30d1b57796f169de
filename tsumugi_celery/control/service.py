"""The service: what can be asked and changed, whatever face it is asked through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsumugi_celery.control import bindings, coming, explain, history, listing, pausing, repeats
from tsumugi_celery.control.cancel import cancel
from tsumugi_celery.control.runs import run
from tsumugi_celery.control.source import Source
from tsumugi_celery.control.times import to_ms
from tsumugi_celery.control.trigger import trigger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from tsumugi_celery.control.repeats import CollectionItem, RepeatItem, RepeatPage
    from tsumugi_celery.control.runs import RunView
    from tsumugi_celery.control.source import State
    from tsumugi_celery.control.views import (
        BindingView,
        ComingTime,
        Explanation,
        OccurrencePage,
        OccurrenceView,
        SchedulePage,
        ScheduleView,
    )


class Control:
    """Lists, explains and changes the schedules of one app, from any process that has the app.

    Nothing is read or connected before the first call. All times are epoch ms. Every method may
    raise LedgerError when the ledger cannot be used, and LedgerAway (one of them) when it does not
    answer.

    Args:
        state: what is known of the app; `tsumugi_celery.app.state_of(app)`.
    """

    def __init__(self, state: State) -> None:
        """Remember the state."""
        self.source = Source(state)

    def list(
        self,
        *,
        search: str | None = None,
        paused: bool | None = None,
        kind: str | None = None,
        failing: bool | None = None,
        limit: int | None = None,
        offset: int = 0,
        recent: int = 0,
    ) -> SchedulePage:
        """Return the schedules that are defined, ordered by name.

        Args:
            search: words that all stand in the name or target, whatever their case.
            paused: only those that are paused, or that are not.
            kind: only 'job' or 'flow'.
            failing: only those with a last error, or without one.
            limit: how many at the most; None for all.
            offset: how many to leave out before them.
            recent: how many of the last occurrences to tell of each.
        """
        return listing.page(
            self.source,
            search=search,
            paused=paused,
            kind=kind,
            failing=failing,
            limit=limit,
            offset=offset,
            recent=recent,
        )

    def get(self, name: str, *, recent: int = 0) -> ScheduleView:
        """Return one schedule.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        with self.source.read() as connection:
            return listing.one(self.source, connection, name, recent=recent)

    def time_zone(self, name: str) -> str | None:
        """Return the zone that the times of a schedule are read in; also of one that was removed.

        Returns:
            Its name; None for an interval.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        with self.source.read() as connection:
            row = self.source.row(connection, name, removed=True)
        if row is None:
            return self.source.defined[name].time_zone
        zone: str | None = row.time_zone
        return zone

    def pause(self, name: str) -> ScheduleView:
        """Suppress the executions of a schedule; jobs already enqueued go on. Idempotent.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        pausing.pause(self.source, name)
        return self.get(name)

    def resume(self, name: str) -> ScheduleView:
        """Let a schedule run again, from its first time after now. Idempotent.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        pausing.resume(self.source, name)
        return self.get(name)

    def trigger(self, name: str) -> str:
        """Run a schedule once now, also when it is paused, and return the occurrence's id.

        Raises:
            UnknownSchedule: no schedule has this name.
            NotDefinedHere: the code of this process does not define it.
            DispatchError: it could not be enqueued; recorded, and it will not run later.
        """
        return trigger(self.source, name)

    def occurrences(
        self,
        name: str,
        *,
        states: Sequence[str] = (),
        causes: Sequence[str] = (),
        since: int | None = None,
        until: int | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> OccurrencePage:
        """Return the history of a schedule, newest first; stretches of times not executed are one.

        Args:
            name: the schedule.
            states: only these states; NOT_EXECUTED includes the stretches.
            causes: only times not executed for these causes.
            since: only times from here on, epoch ms.
            until: only times before this one, epoch ms.
            limit: how many at the most.
            cursor: `next` of the page before.

        Raises:
            UnknownSchedule: no schedule has this name.
            ValueError: the cursor is none.
        """
        return history.page(
            self.source,
            name,
            states_wanted=states,
            causes=causes,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )

    def occurrence(self, occurrence_id: str, *, payload: bool = False) -> OccurrenceView:
        """Return one occurrence with its attempts, and its arguments where they are asked for.

        Raises:
            UnknownOccurrence: no occurrence has this id.
        """
        with self.source.read() as connection:
            return history.one(self.source, connection, occurrence_id, payload=payload)

    def run(self, run_id: str) -> RunView:
        """Return a Run with the tree of its tasks.

        Raises:
            UnknownOccurrence: no occurrence has this id, or it is a job.
        """
        return run(self.source, run_id)

    def cancel(self, occurrence_id: str) -> OccurrenceView:
        """Cancel an occurrence: at once before it has started; a running one is terminated.

        Raises:
            UnknownOccurrence: no occurrence has this id.
            AlreadyFinished: it ended otherwise before.
            DispatchError: it runs, and its worker could not be told.
        """
        return cancel(self.source, occurrence_id)

    def collections(self) -> Sequence[CollectionItem]:
        """Return the collections of repeats that are made here or have a repeat set, by name."""
        return repeats.collections(self.source)

    def repeats(
        self,
        collection: str,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int = 100,
        payload: bool = False,
    ) -> RepeatPage:
        """Return repeats that the data owns, in the order of their ids' bytes.

        Args:
            collection: the name given to `Tsumugi.repeats`.
            prefix: only ids that begin so.
            after: only ids behind this one: `next` of the page before.
            limit: how many at the most.
            payload: tell what their runs are called with.

        Raises:
            UnknownSchedule: the code makes no such collection, and the ledger has none.
        """
        return repeats.page(
            self.source, collection, prefix=prefix, after=after, limit=limit, payload=payload
        )

    def pause_repeat(self, collection: str, id: str) -> RepeatItem:  # noqa: A002 - the contract's word
        """Let a repeat rest; a run under way finishes. Idempotent.

        Raises:
            UnknownRepeat: no repeat of this collection has this id.
        """
        return repeats.change(self.source, collection, id, "pause")

    def resume_repeat(self, collection: str, id: str) -> RepeatItem:  # noqa: A002 - the contract's word
        """Let a repeat run again, from its first time after now. Idempotent.

        Raises:
            UnknownRepeat: no repeat of this collection has this id.
        """
        return repeats.change(self.source, collection, id, "resume")

    def cancel_repeat(self, collection: str, id: str) -> RepeatItem:  # noqa: A002 - the contract's word
        """End a repeat and return it as it was; a run under way finishes.

        Raises:
            UnknownRepeat: no repeat of this collection has this id.
        """
        return repeats.change(self.source, collection, id, "cancel")

    def bindings(self) -> Sequence[BindingView]:
        """Return the bindings, by name."""
        return bindings.listed(self.source)

    def pause_binding(self, name: str) -> BindingView:
        """Hold back all jobs enqueued to a binding; running ones finish. Idempotent.

        Raises:
            UnknownBinding: no binding has this name.
        """
        return bindings.set_paused(self.source, name, paused=True)

    def resume_binding(self, name: str) -> BindingView:
        """Let the jobs of a binding run again; a beat sends those that waited. Idempotent.

        Raises:
            UnknownBinding: no binding has this name.
        """
        return bindings.set_paused(self.source, name, paused=False)

    def why(self, name: str, time: int | datetime) -> Explanation:
        """Say what became of one time of a schedule, and why.

        Args:
            name: the schedule.
            time: epoch ms, or an aware datetime.

        Raises:
            UnknownSchedule: no schedule has this name.
            ValueError: a datetime without a zone.
        """
        return explain.explain(self.source, name, to_ms(time))

    def upcoming(
        self, name: str, count: int = 10, *, after: int | datetime | None = None
    ) -> Sequence[ComingTime]:
        """Return the times to come, with the local times that daylight saving skips or repeats.

        Args:
            name: the schedule.
            count: how many at the most, those that do not run included.
            after: from when on; by default now.

        Raises:
            UnknownSchedule: no schedule has this name.
            NotDefinedHere: only the code that defines it knows its times.
        """
        return coming.coming(self.source, name, count, None if after is None else to_ms(after))
