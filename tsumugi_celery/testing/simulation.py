"""Simulation: the real engine on a real SQLite ledger, with only time and workers made up."""

from __future__ import annotations

import copy
import heapq
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import event, update

from tsumugi_celery.control.service import Control
from tsumugi_celery.control.times import zone_of
from tsumugi_celery.core import states
from tsumugi_celery.core.errors import UnknownSchedule
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.engine.message import HEADER
from tsumugi_celery.ledger.schedules import CHUNK
from tsumugi_celery.ledger.schema import occurrence
from tsumugi_celery.repeats.collection import Repeats
from tsumugi_celery.testing.clock import Moment, SimulatedClock, read_moment
from tsumugi_celery.testing.runs import SimulatedRun, SimulatedSender

if TYPE_CHECKING:
    import sqlite3

    from sqlalchemy import Connection

    from tsumugi_celery.app import AppState
    from tsumugi_celery.engine.broker import Sender
    from tsumugi_celery.engine.message import Outgoing

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NOTHING = timedelta()


class Simulation:
    """A project's schedules, from their registration on.

    No task is called and no broker is needed: a run starts at once and takes as long as `takes`
    says. Payload callables are called, since beat calls them.

    Args:
        state: of the project's app; neither it nor its ledger is touched.
        path: where the ledger of the simulation is made.
        start: when the first beat registers the schedules.
    """

    def __init__(self, state: AppState, path: Path, start: Moment) -> None:
        """Register the schedules."""
        self._state = copy.copy(state)
        self._state._ledger = None  # noqa: SLF001 - a copy, to be given a ledger of its own
        self._state._database_url = f"sqlite:///{path}"  # noqa: SLF001 - the same
        self._clock = SimulatedClock(read_moment(start))
        self._state.clock = self._clock
        found = self._state.check()
        event.listen(self._state.ledger.engine, "connect", _careless)
        self._definitions = found
        self._cycle = Cycle(
            self._state.app,
            self._state.ledger,
            found.schedules,
            self._state.namespace,
            self._state.settings,
            self._clock,
            repeats=found.repeats,
        )
        self._cycle.dispatcher.sender = cast("Sender", SimulatedSender(self._start_run))
        self._state.ledger.open()
        self._cycle.register()
        self._control = Control(self._state)
        self._takes: dict[str, timedelta] = {}
        self._down: list[tuple[int, int]] = []
        self._running: list[tuple[int, str]] = []
        self._runs: list[SimulatedRun] = []
        plans = [*self._cycle.plans.values(), *self._cycle.plans.repeats.values()]
        self._limited = any(plan.limited for plan in plans)

    @property
    def now(self) -> datetime:
        """The simulated present, in UTC."""
        return self._moment(self._clock.now(), None)

    def takes(self, name: str, duration: timedelta) -> None:
        """Say how long the jobs of a schedule, or of all repeats of a collection, take.

        Raises:
            UnknownSchedule: nothing has this name.
        """
        known = {*self._definitions.schedules, *self._definitions.repeats}
        if name not in known:
            raise UnknownSchedule(name, known)
        self._takes[name] = duration

    def beat_down(self, start: Moment, end: Moment) -> None:
        """Say that no beat runs from `start` until `end`; jobs that run go on.

        Raises:
            ValueError: `end` is not later than `start`.
        """
        span = read_moment(start), read_moment(end)
        if span[0] >= span[1]:
            raise ValueError(f"the end {end!r} is not later than the start {start!r}")
        self._down = sorted([*self._down, span])

    def run_until(self, end: Moment) -> list[SimulatedRun]:
        """Let time pass until then, and return what started from now on, in that order."""
        until, before = read_moment(end), len(self._runs)
        while (following := self._next_event()) is not None and following <= until:
            self._clock.to(following)
            self._step()
        self._clock.to(until)
        return self._runs[before:]

    def between(self, start: Moment, end: Moment) -> list[SimulatedRun]:
        """Let time pass until `end`, and return what started from `start` on."""
        self.run_until(read_moment(start) - 1)
        return self.run_until(end)

    def pause(self, name: str) -> None:
        """Pause a schedule.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        self._control.pause(name)

    def resume(self, name: str) -> None:
        """Resume a schedule.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        self._control.resume(name)

    def repeats(self, name: str) -> Repeats:
        """Return the repeats of a collection, on the ledger of the simulation.

        Raises:
            UnknownSchedule: the project makes no such collection.
        """
        definition = self._definitions.repeats.get(name)
        if definition is None:
            raise UnknownSchedule(name, self._definitions.repeats)
        return Repeats(self._state, definition)

    def not_executed(self, name: str) -> dict[str, int]:
        """Return how many times of a schedule did not run, by cause; causes without any left out.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        found = self._control.get(name).not_executed
        return {cause: count for cause, count in found.items() if count}

    def close(self) -> None:
        """Give the ledger's connections back."""
        self._state.ledger.close()

    def _next_event(self) -> int | None:
        now = self._clock.now()
        due = self._cycle.next_due()
        if due is not None:
            due = max(due, now)
            for start, end in self._down:
                if start <= due < end:
                    due = end
        ends = self._running[0][0] if self._running else None
        return min((each for each in (due, ends) if each is not None), default=None)

    def _step(self) -> None:
        now, cycle = self._clock.now(), self._cycle
        self._end_runs()
        if any(start <= now < end for start, end in self._down):
            return
        if cycle.plans.repeats:
            cycle.chores.let_go()
        if self._limited:
            cycle.chores.release()
        cycle.claim_all()
        while len(cycle.resolver):
            cycle.woken.wait(cycle.resolver.next_deadline())
            cycle.woken.clear()
            cycle.collect()
        self._end_runs()

    def _start_run(self, each: Outgoing) -> None:
        fields = each.options["headers"][HEADER] if each.kind == "job" else {}
        name = str(fields.get("schedule") or each.target)
        now = self._clock.now()
        definition = self._definitions.schedules.get(name)
        took = self._takes.get(name, _NOTHING)
        zone = definition.time_zone if definition is not None else None
        ends = now + took // timedelta(milliseconds=1)
        heapq.heappush(self._running, (ends, each.occurrence_id))
        self._runs.append(
            SimulatedRun(
                name=name,
                scheduled_at=self._moment(each.scheduled_at, zone),
                started_at=self._moment(now, zone),
                ended_at=self._moment(ends, zone),
                occurrence_id=each.occurrence_id,
            )
        )

    def _end_runs(self) -> None:
        now = self._clock.now()
        ended: list[tuple[int, str]] = []
        while self._running and self._running[0][0] <= now:
            ended.append(heapq.heappop(self._running))
        if not ended:
            return

        def work(connection: Connection) -> None:
            for start in range(0, len(ended), CHUNK):
                ids = [identifier for _, identifier in ended[start : start + CHUNK]]
                done = update(occurrence).where(
                    occurrence.c.id.in_(ids), occurrence.c.state.in_(states.UNFINISHED)
                )
                connection.execute(done.values(state=states.COMPLETED, ended_at=now))

        self._state.ledger.transact(work)

    @staticmethod
    def _moment(ms: int, zone: str | None) -> datetime:
        return (_EPOCH + timedelta(milliseconds=ms)).astimezone(zone_of(zone))


def _careless(connection: sqlite3.Connection, _record: Any) -> None:
    # Nobody needs this ledger after a power cut.
    connection.execute("PRAGMA synchronous=OFF")
