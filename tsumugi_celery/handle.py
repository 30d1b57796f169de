"""The handle that `define_tsumugi` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsumugi_celery.app import AppState, is_defined, set_state
from tsumugi_celery.control.service import Control
from tsumugi_celery.control.times import to_ms
from tsumugi_celery.core.errors import DefinitionError, Problem
from tsumugi_celery.definitions.repeat_form import HandlerEntry, RepeatsEntry
from tsumugi_celery.local import Ran, run_due
from tsumugi_celery.repeats.collection import Repeats
from tsumugi_celery.repeats.handler import Handler, Run, make_task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, timedelta

    from celery import Celery

    from tsumugi_celery.control.runs import RunView
    from tsumugi_celery.control.views import (
        BindingView,
        ComingTime,
        OccurrenceView,
        ScheduleView,
    )
    from tsumugi_celery.typing import BindingDefinition, Schedules


class Tsumugi:
    """The schedules of one Celery app.

    Args:
        state: what was defined for the app.
    """

    def __init__(self, state: AppState) -> None:
        """Hold the state; nothing is connected."""
        self._state = state
        # The state refers to its app weakly; who holds a handle holds the app.
        self._app = state.app
        self._control = Control(state)

    @property
    def app(self) -> Celery:
        """The Celery app."""
        return self._app

    @property
    def control(self) -> Control:
        """The service behind these methods, with paging, filters and explanations."""
        return self._control

    def list(self, **filters: Any) -> Sequence[ScheduleView]:
        """Return the schedules that are defined, ordered by name.

        Args:
            filters: see `Control.list`: search, paused, kind, failing, limit, offset, recent.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        return [*self._control.list(**filters).schedules]

    def get(self, name: str) -> ScheduleView:
        """Return one schedule.

        Raises:
            UnknownSchedule: no schedule has this name; spelled alike are in the message.
            LedgerError: the ledger cannot be used.
        """
        return self._control.get(name)

    def pause(self, name: str) -> ScheduleView:
        """Suppress the executions of a schedule; running beats follow at once. Idempotent.

        Raises:
            UnknownSchedule: no schedule has this name.
            LedgerError: the ledger cannot be used.
        """
        return self._control.pause(name)

    def resume(self, name: str) -> ScheduleView:
        """Let a schedule run again, from its first time after now. Idempotent.

        Raises:
            UnknownSchedule: no schedule has this name.
            LedgerError: the ledger cannot be used.
        """
        return self._control.resume(name)

    def trigger(self, name: str) -> str:
        """Run a schedule once now, also while paused and with no beat running.

        Returns:
            The id of the occurrence: the task id of the job, or the root id of the Run.

        Raises:
            UnknownSchedule: no schedule has this name.
            NotDefinedHere: the ledger has it, but the code of this process does not define it.
            DispatchError: it could not be enqueued; that is recorded, and it will not run later.
            LedgerError: the ledger cannot be used.
        """
        return self._control.trigger(name)

    def occurrences(
        self, name: str, *, limit: int = 50, **filters: Any
    ) -> Sequence[OccurrenceView]:
        """Return the last occurrences of a schedule, newest first.

        Times that were not executed are among them; many in a row are one, with their `count`.

        Args:
            name: the schedule.
            limit: how many at the most.
            filters: see `Control.occurrences`: states, causes, since, until.

        Raises:
            UnknownSchedule: no schedule has this name.
            LedgerError: the ledger cannot be used.
        """
        return [*self._control.occurrences(name, limit=limit, **filters).occurrences]

    def occurrence(self, occurrence_id: str) -> OccurrenceView:
        """Return one occurrence with its attempts.

        Raises:
            UnknownOccurrence: no occurrence has this id.
            LedgerError: the ledger cannot be used.
        """
        return self._control.occurrence(occurrence_id)

    def run(self, run_id: str) -> RunView:
        """Return a Run with the tree of its tasks.

        Raises:
            UnknownOccurrence: no Run has this id.
        """
        return self.control.run(run_id)

    def cancel(self, occurrence_id: str) -> OccurrenceView:
        """Cancel an occurrence: at once before it has started; a running one is terminated.

        Raises:
            UnknownOccurrence: no occurrence has this id.
            AlreadyFinished: it ended otherwise before.
            DispatchError: it runs, and its worker could not be told.
            LedgerError: the ledger cannot be used.
        """
        return self._control.cancel(occurrence_id)

    def bindings(self) -> Sequence[BindingView]:
        """Return the bindings, by name.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        return [*self._control.bindings()]

    def pause_binding(self, name: str) -> BindingView:
        """Hold back all jobs enqueued to a binding; running ones finish. Idempotent.

        Raises:
            UnknownBinding: no binding has this name.
            LedgerError: the ledger cannot be used.
        """
        return self._control.pause_binding(name)

    def resume_binding(self, name: str) -> BindingView:
        """Let the jobs of a binding run again. Idempotent.

        Raises:
            UnknownBinding: no binding has this name.
            LedgerError: the ledger cannot be used.
        """
        return self._control.resume_binding(name)

    def why(self, name: str, time: int | datetime) -> str:
        """Say in one sentence what became of one time of a schedule, and why.

        Args:
            name: the schedule.
            time: an aware datetime, or epoch ms.

        Raises:
            UnknownSchedule: no schedule has this name.
            ValueError: a datetime without a zone.
            LedgerError: the ledger cannot be used.
        """
        return str(self._control.why(name, time))

    def upcoming(self, name: str, count: int = 10) -> Sequence[ComingTime]:
        """Return the times to come, with the local times that daylight saving skips or repeats.

        Raises:
            UnknownSchedule: no schedule has this name.
            NotDefinedHere: only the code that defines it knows its times.
            LedgerError: the ledger cannot be used.
        """
        return [*self._control.upcoming(name, count)]

    def repeats(self, name: str, *, binding: Any, **options: Any) -> Repeats:
        """Return the repeats of a collection, whose rows the data owns.

        Call it when the module is imported: a beat fires the repeats of the collections that it
        knows, and leaves the rows of others alone.

        Args:
            name: of the collection: 1 to 64 letters, digits, `_` and `-`.
            binding: a name in `bindings`, a task's name, or the task itself.
            options: job options for all of them, such as `max_attempts` or `maxAttempts`.

        Raises:
            DefinitionError: naming every problem.
        """
        entry = RepeatsEntry(binding, options)
        return Repeats(self._state, self._state.add_repeats(name, entry))

    def schedule(
        self,
        name: str,
        *,
        cron: str | None = None,
        every: str | timedelta | None = None,
        time_zone: str | None = None,
        **options: Any,
    ) -> Callable[[Callable[[Run], Any]], Handler]:
        """Make a Celery task and its schedule of a function that gets the run alone.

        The rules of repeats are in force: it never overlaps itself, a local time that daylight
        saving skips runs at the first minute after the gap, and `every` has a phase of its own.

        Args:
            name: of the schedule: 1 to 64 letters, digits, `_` and `-`.
            cron: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`.
            every: `"30s"`, `"15m"`, `"1h"`, `"1d"`, or a timedelta; one second or more.
            time_zone: the IANA name of the zone of `cron`; required beside it.
            options: job options, such as `max_attempts` or `maxAttempts`.

        Raises:
            DefinitionError: naming every problem; raised when a function is decorated.
        """

        def decorate(function: Callable[[Run], Any]) -> Handler:
            state = self._state
            task = make_task(state.app, state, name, function, time_zone)
            state.add_handler(
                name, HandlerEntry(function, task.name, every, cron, time_zone, options)
            )
            return Handler(state, name, function, task)

        return decorate

    def run_due(self, now: datetime | int | None = None) -> Sequence[Ran]:
        """Run what is due in this process, without a broker, and return what happened.

        Schedules, repeats and handlers go the way they always go: claimed, guarded and reported
        in the ledger. The tasks are called here, one after the other; a failed one that has
        attempts left waits in the ledger for a later call, or for a beat.

        Args:
            now: pretend that it is this time: epoch ms or an aware datetime.

        Raises:
            DefinitionError: the definitions are wrong.
            LedgerError: the ledger cannot be used.
            ValueError: a datetime without a zone.
        """
        return run_due(self._state, None if now is None else to_ms(now))

    def check(self) -> None:
        """Check all definitions in full, with the tasks imported; nothing is started or connected.

        Raises:
            DefinitionError: naming every problem.
        """
        self._state.check()


def define_tsumugi(
    app: Celery,
    *,
    schedules: Schedules | Mapping[str, Mapping[str, Any]] | None = None,
    bindings: Mapping[str, BindingDefinition | Mapping[str, Any]] | None = None,
    flows: Mapping[str, Callable[[Any], Any]] | None = None,
    database_url: str | None = None,
) -> Tsumugi:
    """Define the schedules of an app; those in its `beat_schedule` count too.

    What needs the task registry is checked for the tasks registered by now, and in full by
    `Tsumugi.check()`, by `celery tsumugi check`, and when beat starts.

    Args:
        app: the Celery app.
        schedules: name -> definition, Tsumugi-style or in Celery's own form; typed in
            `tsumugi_celery.typing`.
        bindings: name -> task, queue, shards, policy and default job options.
        flows: name -> function that builds a canvas from its input.
        database_url: where the ledger is kept; in place of the setting `tsumugi_database_url`.

    Raises:
        DefinitionError: naming every problem of every definition.
        LedgerError: the database URL cannot be read.
    """
    if is_defined(app):
        problem = Problem(
            "define_tsumugi",
            "app",
            "an app that is defined already",
            "one call for each app",
            "join the two calls",
        )
        raise DefinitionError([problem])
    state = AppState(app, schedules, bindings, flows, database_url)
    state.read()
    _ = state.settings, state.namespace, state.ledger
    set_state(app, state)
    return Tsumugi(state)
