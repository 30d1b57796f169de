"""One app on a ledger, with a clock of its own and a beat that moves when it is told to."""

import itertools
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from celery import Celery
from sqlalchemy import update

from tsumugi_celery import Tsumugi, define_tsumugi
from tsumugi_celery.core import states
from tsumugi_celery.engine.clock import Clock
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.ledger.schema import occurrence

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
TASK = "proj.add"

_numbers = itertools.count(1)


def ms(text: str) -> int:
    """Epoch ms of an ISO time."""
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class StageClock(Clock):
    """A clock that stands still until it is set."""

    def __init__(self, now: int) -> None:
        self.time = now

    def now(self) -> int:
        return self.time


def job(**definition: Any) -> dict[str, Any]:
    """A definition with a binding and a payload."""
    return {"binding": TASK, "payload": {"x": 1}, **definition}


class Stage:
    """An app, its handle, its clock and its beat."""

    def __init__(self, url: str, namespace: str | None = None) -> None:
        self.url = url
        self.namespace = namespace or f"stage{next(_numbers)}"
        self.clock = StageClock(ms("2026-03-01T00:00:00Z"))
        self.tsumugi: Tsumugi

    def define(
        self, schedules: Mapping[str, Any], *, broker: str = "memory://", **settings: Any
    ) -> Tsumugi:
        """Make the app; a second call is another process with other definitions."""
        bindings = settings.pop("bindings", None)
        self.app = Celery(self.namespace, broker=broker, set_as_current=False)
        self.app.conf.update(result_expires=None, **settings)
        # A queue of its own: kombu's memory transport is one for the whole process.
        self.app.conf.task_default_queue = self.namespace

        @self.app.task(name=TASK, shared=False)
        def add(x: Any = 0) -> Any:
            return x

        self.tsumugi = define_tsumugi(
            self.app, schedules=schedules, bindings=bindings, database_url=self.url
        )
        self.tsumugi._state.clock = self.clock
        return self.tsumugi

    def beat(self) -> Cycle:
        """A beat with the definitions at hand; it has registered them."""
        state = self.tsumugi._state
        cycle = Cycle(
            self.app,
            state.ledger,
            state.check().schedules,
            state.namespace,
            state.settings,
            self.clock,
        )
        state.ledger.open()
        cycle.register()
        return cycle

    def finish(self, state: str = states.COMPLETED) -> None:
        """End all that is unfinished."""
        with self.tsumugi._state.ledger.begin() as connection:
            connection.execute(
                update(occurrence)
                .where(
                    occurrence.c.namespace == self.namespace,
                    occurrence.c.state.in_(states.UNFINISHED),
                )
                .values(state=state, ended_at=self.clock.now())
            )

    def messages(self) -> list[Any]:
        """All messages in the queue; they are taken out."""
        with self.app.connection_for_read() as connection:
            queue = connection.SimpleQueue(self.namespace)
            found = []
            while queue.qsize():
                message = queue.get(block=False)
                message.ack()
                found.append(message)
            queue.close()
        return found

    def counts(self, name: str) -> tuple[int, int, int, int]:
        """Times not executed: overlap, delay, pause, failure."""
        found = self.tsumugi.get(name).not_executed
        return found["overlap"], found["delay"], found["pause"], found["failure"]

    def close(self) -> None:
        """Give the connections back."""
        if hasattr(self, "tsumugi"):
            self.tsumugi._state.ledger.close()
            self.app.close()
