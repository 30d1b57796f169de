"""The real engine, guard and reports over a real ledger, with all else simulated."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from celery import Celery
from celery import states as celery_states
from celery.app.task import Context
from celery.exceptions import Ignore, Retry
from sqlalchemy import Connection, Row, event, select, update

from tests.model.broker import Message, SimBroker
from tests.model.clock import SimClock
from tsumugi_celery.app import AppState, set_state
from tsumugi_celery.definitions.model import Definition
from tsumugi_celery.definitions.read import read_definitions
from tsumugi_celery.engine.claim import Claim
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.engine.dispatch import Dispatcher, Outcome
from tsumugi_celery.engine.heartbeat import WORKER, Heart
from tsumugi_celery.engine.message import HEADER
from tsumugi_celery.engine.settings import Settings
from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import node, occurrence, schedule, stretch
from tsumugi_celery.worker import events, guard
from tsumugi_celery.worker.identity import here

NAMESPACE = "model"
TASK = "model.job"
SETTINGS = Settings()
#: Seconds between two looks at the heartbeats; a watcher that looks less often trusts nothing.
LOOK_EVERY = 4

app = Celery(NAMESPACE, broker="memory://", set_as_current=False)
app.conf.update(tsumugi_namespace=NAMESPACE, task_always_eager=False)


@app.task(name=TASK)
def job() -> None:
    """Stands for any job; what runs is up to the test."""


@cache
def _define(items: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]) -> dict[str, Definition]:
    schedules = {name: {"binding": TASK, "payload": {}, **dict(given)} for name, given in items}
    return read_definitions(app, schedules, bindings=None, flows=None).schedules


def define(schedules: Mapping[str, Mapping[str, Any]]) -> dict[str, Definition]:
    """Read definitions of jobs from what their keys are, the binding and the payload apart."""
    return _define(tuple((name, tuple(given.items())) for name, given in schedules.items()))


_SCHEDULES = select(schedule)
_OCCURRENCES = (
    select(occurrence, schedule.c.name)
    .join(schedule, schedule.c.id == occurrence.c.schedule_id)
    .order_by(occurrence.c.scheduled_at)
)
_STRETCHES = (
    select(stretch, stretch.c.count.label("times"), schedule.c.name)
    .join(schedule, schedule.c.id == stretch.c.schedule_id)
    .order_by(stretch.c.first_at)
)


class Snapshot:
    """All rows of a ledger; those of occurrences and stretches have the schedule's name."""

    def __init__(self, connection: Connection) -> None:
        self.schedules = {row.name: row for row in connection.execute(_SCHEDULES)}
        self.occurrences = connection.execute(_OCCURRENCES).all()
        self.stretches = connection.execute(_STRETCHES).all()


class _Started(BaseException):
    """Raised by the job in place of running: the guard let it in."""


@dataclass
class Running:
    """An attempt that a worker has started."""

    message: Message
    request: Context
    node: Heart
    attempt: int


@dataclass
class Report:
    """What a worker has still to report."""

    running: Running
    state: str
    value: Any = None


class SimBeat(Cycle):
    """A beat that keeps what it claims until it is told to go on."""

    def __init__(self, world: World, definitions: Mapping[str, Definition]) -> None:
        super().__init__(app, world.ledger, definitions, NAMESPACE, SETTINGS, world.clock)
        self.dispatcher.sender = world.broker  # type: ignore[assignment]
        self.unsent: list[Claim] = []
        self.frozen = False

    def send(self, claims: Sequence[Claim]) -> list[Outcome]:
        self.unsent += claims
        return []

    def in_hand(self) -> set[str]:
        return super().in_hand() | {claim.occurrence_id for claim in self.unsent}

    def publish(self, index: int = 0) -> Outcome:
        """Publish one of the claims; it is not settled yet."""
        claim = self.unsent.pop(index % len(self.unsent))
        (outcome,) = self.dispatcher.publish([(claim, (), {})])
        return outcome

    def settle(self) -> None:
        self.dispatcher.settle()

    def finish(self) -> None:
        """Publish and settle all that is claimed."""
        while self.unsent:
            self.publish()
        self.settle()


@dataclass
class Trigger:
    """A process that starts one schedule by hand, and may die half-way."""

    claim: Claim
    dispatcher: Dispatcher


@dataclass
class World:
    """One ledger, one clock, one broker; beats and workers come and go."""

    folder: Path
    clock: SimClock
    ledger: Ledger
    broker: SimBroker = field(default_factory=SimBroker)
    beats: list[SimBeat] = field(default_factory=list)
    workers: list[Heart] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    #: Workers that stand still, and all that ever did: they may have been taken for gone.
    frozen: set[str] = field(default_factory=set)
    suspects: set[str] = field(default_factory=set)
    #: (occurrence id, attempt) of every start, and the state of its row the moment before.
    started: list[tuple[str, int, str | None]] = field(default_factory=list)

    def close(self) -> None:
        self.ledger.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # beats

    def start_beat(self, schedules: Mapping[str, Mapping[str, Any]]) -> SimBeat:
        beat = SimBeat(self, define(schedules))
        beat.register()
        beat.heart.refresh()
        self.beats.append(beat)
        return beat

    def heartbeats(self) -> None:
        """Refresh the rows of all that live, all at once."""
        living = [beat.heart.id for beat in self.beats if not beat.frozen]
        living += [worker.id for worker in self.workers if worker.id not in self.frozen]
        with self.ledger.begin() as connection:
            connection.execute(
                update(node).where(node.c.id.in_(living)).values(beats=node.c.beats + 1)
            )

    def watch(self, beat: SimBeat, seconds: int) -> None:
        """Let a beat watch the heartbeats for a while, then take over and reap."""
        for _ in range(0, seconds, LOOK_EVERY):
            self.clock.advance(LOOK_EVERY * 1000)
            self.look(beat)
        beat.chores.look_after_others()

    def look(self, beat: SimBeat) -> None:
        """Let a beat see who lives."""
        self.heartbeats()
        with self.ledger.read() as connection:
            beat.chores.watch.look(connection, NAMESPACE)

    # workers

    def start_worker(self) -> Heart:
        name = f"worker-{len(self.started)}"
        heart = Heart(self.ledger, NAMESPACE, WORKER, SETTINGS.heartbeat, self.clock, name)
        heart.refresh()
        self.workers.append(heart)
        return heart

    def kill_worker(self, heart: Heart) -> None:
        """Drop a worker with all that it runs and has not reported."""
        self.workers.remove(heart)
        self.running = [each for each in self.running if each.node is not heart]
        self.reports = [each for each in self.reports if each.running.node is not heart]

    def freeze_or_thaw(self, heart: Heart) -> None:
        self.frozen ^= {heart.id}
        self.suspects.add(heart.id)

    def deliver(self, message: Message, worker: Heart) -> Running | None:
        """Let a worker receive a message: the real guard decides whether it starts."""
        attempt = int(message.header["base"]) + message.retries + 1
        request = Context(id=message.id, retries=message.retries, hostname=worker._hostname)
        setattr(request, HEADER, message.header)
        before = self.state_of(message.id)
        here.node_id, here.hostname = worker.id, worker._hostname
        try:
            guard.run_guarded(job, request, message.header, _start)
        except Ignore:
            return None
        except _Started:
            running = Running(message, request, worker, attempt)
            self.running.append(running)
            self.started.append((message.id, attempt, before))
            return running
        raise AssertionError("the guard neither refused nor started the job")

    def succeed(self, running: Running) -> None:
        self.running.remove(running)
        self.reports.append(Report(running, celery_states.SUCCESS))

    def fail(self, running: Running) -> None:
        """Fail; Celery sends the next attempt before it says that this one has ended."""
        self.running.remove(running)
        error = ValueError("the job failed")
        most = running.message.header.get("max_attempts")
        if most is not None and running.attempt < most:
            self.broker.waiting.append(running.message.again())
            retry = Retry(exc=error, when=1.0)
            self.reports.append(Report(running, celery_states.RETRY, retry))
        else:
            self.reports.append(Report(running, celery_states.FAILURE, error))

    def report(self, report: Report) -> None:
        self.reports.remove(report)
        sender = SimpleNamespace(request=report.running.request)
        events._on_postrun(sender=sender, state=report.state, retval=report.value)

    # the ledger

    def state_of(self, identifier: str) -> str | None:
        with self.ledger.read() as connection:
            query = select(occurrence.c.state).where(occurrence.c.id == identifier)
            return connection.execute(query).scalar_one_or_none()

    def read(self) -> Snapshot:
        with self.ledger.read() as connection:
            return Snapshot(connection)

    def schedule(self, name: str) -> Row[Any]:
        return self.read().schedules[name]

    def occurrences(self, name: str | None = None) -> list[Row[Any]]:
        return [row for row in self.read().occurrences if name in {None, row.name}]

    def stretches(self, name: str | None = None) -> list[Row[Any]]:
        return [row for row in self.read().stretches if name in {None, row.name}]


def _start() -> None:
    raise _Started


def make_template(path: Path) -> Path:
    """Make an empty ledger to be copied."""
    ledger = Ledger(f"sqlite:///{path}")
    ledger.open()
    assert ledger.id
    ledger.close()
    return path


def make_world(template: Path, folder: Path, now: int) -> World:
    """Make a world whose ledger is a copy of the template."""
    folder.mkdir(parents=True)
    path = folder / "ledger.sqlite3"
    shutil.copy(template, path)
    ledger = Ledger(f"sqlite:///{path}")
    event.listen(ledger.engine, "connect", _careless)
    state = AppState(app, database_url=f"sqlite:///{path}")
    state._ledger = ledger
    state.clock = clock = SimClock(now)
    set_state(app, state)
    return World(folder, clock, ledger)


def _careless(connection: sqlite3.Connection, _record: object) -> None:
    # The power does not fail here.
    connection.execute("PRAGMA synchronous=OFF")
