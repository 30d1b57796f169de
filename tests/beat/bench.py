"""A beat on a clock that stands still until it is told otherwise.

Real definitions, a real SQLite ledger and a real (in-memory) broker; only the time is made up.
"""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from celery import Celery
from sqlalchemy import delete, select, update
from sqlalchemy.engine import Row

from tests.rows import occurrences_of
from tsumugi_celery.app import AppState, set_state, state_of
from tsumugi_celery.core import states
from tsumugi_celery.engine.clock import Clock
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.ledger import occurrences
from tsumugi_celery.ledger.schema import occurrence, schedule, stretch

_numbers = itertools.count(1)


def ms(text: str) -> int:
    """Epoch milliseconds of an ISO time in UTC, such as 2026-05-01T12:00:00Z."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(moment.astimezone(timezone.utc).timestamp() * 1000)


def iso(value: int) -> str:
    """The inverse of `ms`, without the fraction where it is zero."""
    moment = datetime.fromtimestamp(value / 1000, tz=timezone.utc)
    return moment.isoformat(timespec="auto").replace("+00:00", "Z")


class FakeClock(Clock):
    """A wall clock and a monotonic clock that advance together, unless `set` is used."""

    def __init__(self, at: int) -> None:
        self.wall = at
        self.steady = 1000.0

    def now(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    def to(self, at: int) -> None:
        """Let time pass until `at`."""
        self.steady += max(at - self.wall, 0) / 1000
        self.wall = at

    def set(self, at: int) -> None:
        """Set the wall clock; the monotonic one does not move."""
        self.wall = at


class Bench:
    """One project whose beat may be started, stopped and changed.

    Args:
        folder: where the ledger's file is.
        at: the time it begins, as an ISO text.
        settings: Celery and tsumugi_ settings.
    """

    def __init__(self, folder: Path, at: str = "2026-05-01T12:00:00Z", **settings: Any) -> None:
        self.url = f"sqlite:///{folder / 'ledger.sqlite3'}"
        self.clock = FakeClock(ms(at))
        self.settings = settings
        self.queue = f"bench-{next(_numbers)}"
        self.cycle: Cycle | None = None
        self.app = Celery("unused", set_as_current=False)

    def start(self, schedules: Mapping[str, Any], *, check: bool = True) -> Cycle:
        """Start a beat with these definitions, as a new process would."""
        self.stop()
        self.app = self.new_app()
        state = AppState(self.app, schedules, database_url=self.url)
        state.clock = self.clock
        set_state(self.app, state)
        definitions = state.check() if check else state.read()
        self.cycle = Cycle(
            self.app,
            state.ledger,
            definitions.schedules,
            state.namespace,
            state.settings,
            state.clock,
        )
        self.cycle.start()
        return self.cycle

    def new_app(self) -> Celery:
        """An app of the project, with a task that takes anything."""
        app = Celery("proj", broker="memory://", set_as_current=False)
        app.conf.update(task_default_queue=self.queue, result_expires=None)
        # Months pass here in a moment, and what has been executed is looked at afterwards.
        app.conf.tsumugi_retention = {"completed": None, "not_executed": None}
        app.conf.update(self.settings)

        @app.task(name="proj.work", typing=False, shared=False)
        def work(*args: Any, **kwargs: Any) -> None:
            """Stand for any task."""

        return app

    def stop(self) -> None:
        """End the beat in good order."""
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.stop()

    def crash(self) -> None:
        """End the beat as `kill -9` does: nothing is written any more."""
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.heart._stopped.set()
            cycle.ledger.close()

    def at(self, text: str, *, finish: bool = True) -> float:
        """Let time pass until then without a tick in between, and tick once."""
        self.clock.to(ms(text))
        return self.tick(finish=finish)

    def tick(self, *, finish: bool = True) -> float:
        """Tick, and wait for payload callables; `finish` completes what was sent."""
        assert self.cycle is not None
        delay = self.cycle.tick()
        deadline = time.monotonic() + 5
        while len(self.cycle.resolver) and delay > 0 and time.monotonic() < deadline:
            if not self.cycle.woken.wait(0.3):
                break
            delay = self.cycle.tick()
        if finish:
            self.finish_all()
        return delay

    def run_until(self, text: str, *, finish: bool = True) -> None:
        """Tick at every time that is due until then, and at the end."""
        assert self.cycle is not None
        end = ms(text)
        while True:
            due = [row.next_at for row in self.rows() if row.next_at is not None]
            following = min(due, default=end + 1)
            if following > end:
                break
            self.clock.to(max(following, self.clock.now() + 1))
            self.tick(finish=finish)
        self.clock.to(end)
        self.tick(finish=finish)

    def finish_all(self) -> None:
        """Complete everything that was sent."""
        with self.ledger.begin() as connection:
            for row in connection.execute(select(occurrence)).all():
                if row.state in (states.QUEUED, states.RUNNING):
                    occurrences.move(
                        connection, row.id, states.COMPLETED, ended_at=self.clock.now()
                    )

    @property
    def ledger(self) -> Any:
        """The ledger of the present app."""
        return state_of(self.app).ledger

    def rows(self) -> list[Row[Any]]:
        """All schedules, by name."""
        with self.ledger.read() as connection:
            return list(connection.execute(select(schedule).order_by(schedule.c.name)).all())

    def row(self, name: str = "one") -> Row[Any]:
        """One schedule."""
        return next(row for row in self.rows() if row.name == name)

    def change(self, name: str, **values: Any) -> None:
        """Change a schedule's row by hand."""
        with self.ledger.begin() as connection:
            connection.execute(update(schedule).where(schedule.c.name == name).values(**values))

    def remove_row(self, name: str) -> None:
        """Delete a schedule's row by hand."""
        with self.ledger.begin() as connection:
            connection.execute(delete(schedule).where(schedule.c.name == name))

    def occurrences(self, name: str = "one") -> list[Row[Any]]:
        """The occurrences of a schedule, oldest first."""
        return occurrences_of(self.ledger, name)

    def times(self, name: str = "one") -> list[str]:
        """The scheduled times that were executed."""
        return [
            iso(row.scheduled_at)
            for row in self.occurrences(name)
            if row.state != states.NOT_EXECUTED
        ]

    def not_executed(self, name: str = "one") -> dict[str, int]:
        """The counters of the list, without those that are zero."""
        row = self.row(name)
        counts = {cause: getattr(row, f"n_{cause}") for cause in states.CAUSES}
        return {cause: count for cause, count in counts.items() if count}

    def stretches(self, name: str = "one") -> list[tuple[str, str, str, int]]:
        """Each stretch of times not executed: cause, first, last, count."""
        query = (
            select(stretch)
            .join(schedule, schedule.c.id == stretch.c.schedule_id)
            .where(schedule.c.name == name)
            .order_by(stretch.c.first_at)
        )
        with self.ledger.read() as connection:
            return [
                (row.cause, iso(row.first_at), iso(row.last_at), row.count)
                for row in connection.execute(query)
            ]

    def messages(self) -> list[Any]:
        """Take what is on the broker."""
        found = []
        with self.app.connection_for_read() as connection:
            queue = self.app.amqp.queues[self.queue].bind(connection.default_channel)
            queue.declare()
            while (message := queue.get(no_ack=True)) is not None:
                found.append(message)
        return found

    def explained(self, name: str, times: Callable[[int, int], int], since: int) -> None:
        """Check that every time since then is executed or not executed, exactly once."""
        row = self.row(name)
        kept = len([one for one in self.occurrences(name) if one.scheduled_at > since])
        kept += sum(count for *_, count in self.stretches(name))
        assert kept == times(since, row.accounted_until)


@contextlib.contextmanager
def bench(folder: Path, at: str = "2026-05-01T12:00:00Z", **settings: Any) -> Iterator[Bench]:
    """A bench whose beat is ended afterwards."""
    made = Bench(folder, at, **settings)
    try:
        yield made
    finally:
        made.stop()


def job(**more: Any) -> dict[str, Any]:
    """A definition in Tsumugi's form."""
    return {"binding": "proj.work", "payload": {}, **more}


def plain(when: Any, **more: Any) -> dict[str, Any]:
    """A definition in Celery's own form."""
    return {"task": "proj.work", "schedule": when, **more}
