"""A world for repeats: an app, its ledger, a clock that stands still, and a beat on it."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from sqlalchemy import select
from sqlalchemy.engine import Row

from tests.beat.bench import FakeClock, iso, ms
from tests.rows import occurrences_of
from tsumugi_celery import Tsumugi, define_tsumugi
from tsumugi_celery.app import state_of
from tsumugi_celery.core import states
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.ledger import occurrences
from tsumugi_celery.ledger.schema import occurrence, schedule

_numbers = itertools.count(1)


class World:
    """One project; `app` has the task proj.probe, which takes anything by name."""

    def __init__(self, url: str, at: str, **settings: Any) -> None:
        self.url = url
        self.clock = FakeClock(ms(at))
        self.settings = settings
        self.cycle: Cycle | None = None
        self.new_process()

    def new_process(self) -> Tsumugi:
        """Begin anew with nothing but the ledger."""
        self.stop()
        self.app = Celery("proj", broker="memory://", set_as_current=False)
        self.app.conf.update(task_default_queue=f"repeats-{next(_numbers)}", result_expires=None)
        self.app.conf.update(self.settings)

        @self.app.task(name="proj.probe", shared=False)
        def probe(**kwargs: Any) -> Any:
            return kwargs

        self.tsumugi = define_tsumugi(self.app, database_url=self.url)
        state_of(self.app).clock = self.clock
        return self.tsumugi

    @property
    def ledger(self) -> Any:
        return state_of(self.app).ledger

    def start(self) -> Cycle:
        """Start a beat."""
        self.stop()
        state = state_of(self.app)
        found = state.check()
        self.cycle = Cycle(
            self.app,
            state.ledger,
            found.schedules,
            state.namespace,
            state.settings,
            state.clock,
            repeats=found.repeats,
            stopped=state.stopped,
        )
        self.cycle.start()
        return self.cycle

    def stop(self) -> None:
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.stop()

    def at(self, text: str, *, finish: bool = True) -> None:
        """Let time pass until then and tick."""
        assert self.cycle is not None
        self.clock.to(ms(text))
        self.cycle.tick()
        if finish:
            self.finish()

    def run_until(self, text: str, *, step: int = 1000, finish: bool = True) -> None:
        """Tick every second until then."""
        assert self.cycle is not None
        end = ms(text)
        while self.clock.now() < end:
            self.clock.to(min(end, self.clock.now() + step))
            self.cycle.tick()
            if finish:
                self.finish()

    def finish(self, state: str = states.COMPLETED) -> None:
        """Let every job that was sent come to its end."""
        with self.ledger.begin() as connection:
            for row in connection.execute(select(occurrence)).all():
                if row.state in (states.QUEUED, states.RUNNING):
                    occurrences.move(connection, row.id, state, ended_at=self.clock.now())

    def occurrences(self, name: str) -> list[Row[Any]]:
        return occurrences_of(self.ledger, name)

    def times(self, name: str) -> list[str]:
        return [iso(row.scheduled_at) for row in self.occurrences(name)]

    def rows(self) -> list[Row[Any]]:
        with self.ledger.read() as connection:
            return list(connection.execute(select(schedule).order_by(schedule.c.name)).all())


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(at: str = "2026-05-01T12:00:00Z", *, url: str | None = None, **settings: Any) -> World:
        made.append(World(url or f"sqlite:///{tmp_path / 'ledger.sqlite3'}", at, **settings))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()
