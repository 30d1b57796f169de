"""One beat in this process: a real ledger, a broker in memory, a clock of the test's own."""

from __future__ import annotations

import itertools
from typing import Any

from celery import Celery
from kombu import Connection

from tests.rows import occurrences_of
from tsumugi_celery.app import AppState, set_state
from tsumugi_celery.engine.clock import Clock
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.ledger import nodes
from tsumugi_celery.ledger.schema import occurrence

_numbers = itertools.count(1)
#: 2026-11-30T00:00:00Z, so that no test depends on the day it runs on.
START = 1_795_996_800_000
MINUTE = 60_000


class StoppedClock(Clock):
    """Stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.at = START
        self.set_by = 0

    def now(self) -> int:
        return self.at

    def set(self, ms: int) -> None:
        """Set the clock, ahead or back, with no time passing."""
        self.set_by += ms
        self.at += ms

    def monotonic(self) -> float:
        return (self.at - self.set_by) / 1000


class Bench:
    """One beat and what it can be asked."""

    def __init__(
        self,
        url: str,
        schedules: dict[str, Any],
        bindings: dict[str, Any] | None = None,
        clock: StoppedClock | None = None,
        **settings: Any,
    ) -> None:
        self.queue = f"jobs-{next(_numbers)}"
        self.app = Celery("bench", broker="memory://", set_as_current=False)
        # No worker reports here; that is not what these tests are about.
        self.app.conf.update(task_default_queue=self.queue, tsumugi_republish_after=1e9)
        self.app.conf.update(settings)
        self.state = AppState(self.app, schedules, bindings, None, url)
        self.clock = self.state.clock = clock or StoppedClock()
        set_state(self.app, self.state)
        read = self.state.read()
        self.cycle = Cycle(
            self.app,
            self.state.ledger,
            read.schedules,
            self.state.namespace,
            self.state.settings,
            self.clock,
        )
        self.cycle.start()
        self.ledger = self.state.ledger
        self._pretend_a_worker()

    def _pretend_a_worker(self) -> None:
        values = {"role": "worker", "hostname": "w", "pid": 1, "started_at": 0, "seen_at": 0}
        with self.ledger.begin() as connection:
            nodes.register(connection, id=self.queue, namespace="bench", info="{}", **values)

    def close(self) -> None:
        """End the beat."""
        self.cycle.stop()

    def pass_time(self, ms: int) -> None:
        """Let time pass and do what is due."""
        self.clock.at += ms
        self.cycle.tick()

    def messages(self, queue: str | None = None) -> list[Any]:
        """Take the messages that were sent to a queue, oldest first."""
        found = []
        with Connection("memory://") as connection:
            simple = connection.SimpleQueue(queue or self.queue)
            while simple.qsize():
                message = simple.get(block=False)
                message.ack()
                found.append(message)
        return found

    def rows(self, name: str) -> list[Any]:
        """The occurrences of a schedule, oldest first."""
        return occurrences_of(self.ledger, name)

    def set(self, identifier: str, **values: Any) -> None:
        """Change the row of an occurrence, as a worker would."""
        with self.ledger.begin() as connection:
            connection.execute(
                occurrence.update().where(occurrence.c.id == identifier).values(**values)
            )
