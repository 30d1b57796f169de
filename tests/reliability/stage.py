"""A small project with real processes, and a look into its ledger while they run."""

import contextlib
import os
import signal
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa
from sqlalchemy.engine import Row

from benchmarks.accounts import Account, account_for
from tests.processes import Process, Project
from tsumugi_celery.core import states
from tsumugi_celery.ledger.connect import make_engine, read_url
from tsumugi_celery.ledger.schema import attempt, occurrence, schedule, stretch

#: Short times, so that a test waits seconds where the defaults take tens of them.
FAST = {
    "tsumugi_heartbeat": 0.5,
    "tsumugi_presumed_gone": 4,
    "tsumugi_republish_after": 3,
    "tsumugi_poll_interval": 0.2,
}

HEAD = """
import os, signal, sys, time
from pathlib import Path
from celery import Celery, signals

app = Celery("proj")
app.conf.update({settings!r})
import tsumugi_celery

ROLE = os.environ.get("ROLE", "")

def note(name, *words):
    # One write of one line: lines of several processes do not mix.
    file = os.open(name + ".txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, (" ".join(map(str, words)) + "\\n").encode())
    os.close(file)

def first(name):
    # True once, whatever process asks.
    try:
        os.close(os.open(name + ".once", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def hold(name, seconds=60):
    deadline = time.monotonic() + seconds
    while not Path(name + ".go").exists() and time.monotonic() < deadline:
        time.sleep(0.02)

def started(task):
    header = task.request.headers["tsumugi"]
    note("runs", task.request.id, header["base"] + task.request.retries + 1, header["schedule"])

@app.task(bind=True)
def job(self, *args):
    started(self)

@app.task(bind=True)
def held(self, name):
    started(self)
    note("holding", self.request.id)
    hold(name)
"""


class Stage:
    """A project on one ledger and one broker.

    Attributes:
        project: its processes.
        url: of the ledger, as this test process reaches it.
    """

    def __init__(
        self, project: Project, url: str, broker: Mapping[str, Any], **settings: Any
    ) -> None:
        self.project = project
        self.url = url
        self.settings = {
            **broker,
            "tsumugi_database_url": url,
            "broker_connection_retry_on_startup": True,
            **FAST,
            **settings,
        }
        self._engine = make_engine(read_url(url))

    def write(self, schedules: str, extra: str = "", **settings: Any) -> None:
        """Write the project: the text of its `beat_schedule`, and more source before it."""
        self.project.write(
            HEAD.format(settings={**self.settings, **settings})
            + textwrap.dedent(extra)
            + f"\napp.conf.beat_schedule = {schedules}\n"
        )

    def beat(self, role: str = "") -> Process:
        """Start a beat and wait until it is at work; `role` is ROLE in its environment."""
        beat = self._as(role, self.project.beat)
        beat.wait_log("beat: Starting...")
        return beat

    def worker(self, *args: str, role: str = "", wait: bool = True) -> Process:
        """Start a worker."""
        return self._as(role, lambda: self.project.worker(*args, wait=wait))

    def _as(self, role: str, start: Callable[[], Process]) -> Process:
        self.project.env["ROLE"] = role
        return start()

    def lines(self, name: str) -> list[list[str]]:
        """What the project's processes noted under a name, split into words."""
        path = self.project.folder / f"{name}.txt"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def runs(self, name: str | None = None) -> list[tuple[str, int]]:
        """The attempts that started: (occurrence id, attempt)."""
        found = self.lines("runs")
        return [(one[0], int(one[1])) for one in found if name is None or one[2] == name]

    def go(self, name: str) -> None:
        """Let what holds go on."""
        (self.project.folder / f"{name}.go").touch()

    @contextlib.contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        """Open a transaction on the ledger."""
        with self._engine.begin() as connection:
            yield connection

    def rows(self, name: str | None = None) -> list[Row[Any]]:
        """The occurrences, oldest first."""
        query = sa.select(occurrence, schedule.c.name).join(
            schedule, schedule.c.id == occurrence.c.schedule_id
        )
        if name is not None:
            query = query.where(schedule.c.name == name)
        try:
            with self.connect() as connection:
                return list(connection.execute(query.order_by(occurrence.c.scheduled_at)))
        except sa.exc.DBAPIError:
            return []  # no tables yet, or locked for the moment

    def schedule(self, name: str) -> Row[Any]:
        """The row of a schedule."""
        with self.connect() as connection:
            return connection.execute(sa.select(schedule).where(schedule.c.name == name)).one()

    def stretches(self, name: str) -> list[Row[Any]]:
        """The times of a schedule that were not executed."""
        query = (
            sa.select(stretch)
            .join(schedule, schedule.c.id == stretch.c.schedule_id)
            .where(schedule.c.name == name)
            .order_by(stretch.c.first_at)
        )
        with self.connect() as connection:
            return list(connection.execute(query))

    def attempts(self, identifier: str) -> list[Row[Any]]:
        """The recorded attempts of an occurrence."""
        query = sa.select(attempt).where(attempt.c.occurrence_id == identifier)
        with self.connect() as connection:
            return list(connection.execute(query.order_by(attempt.c.attempt)))

    def first(self, name: str) -> Row[Any] | None:
        """The first occurrence of a schedule, or None before it."""
        rows = self.rows(name)
        return rows[0] if rows else None

    def wait_for_first(self, name: str, *wanted: str, timeout: float = 40) -> Row[Any]:
        """Wait until the first occurrence of a schedule is in one of these states."""
        self.wait(
            lambda: (row := self.first(name)) is not None and row.state in wanted,
            timeout,
            what=f"{name} {wanted}",
        )
        row = self.first(name)
        assert row is not None
        return row

    def wait(self, predicate: Callable[[], object], timeout: float = 40, *, what: str = "") -> None:
        """Wait for something, with the logs of all processes in the error."""

        def asked() -> object:
            time.sleep(0.08)  # the two cores are for the processes that are watched
            return predicate()

        self.project.wait_for(asked, timeout, what=what)

    def settle(self, timeout: float = 60) -> Account:
        """Pause all schedules, let what is under way finish, and account for every time.

        Beats and workers must be running.
        """
        with self.connect() as connection:
            connection.execute(sa.update(schedule).values(paused=True))
        unfinished = sa.select(sa.func.count()).where(occurrence.c.state.in_(states.UNFINISHED))

        def finished() -> bool:
            with self.connect() as connection:
                return connection.execute(unfinished).scalar_one() == 0

        self.wait(finished, timeout, what="nothing under way")
        path = self.project.folder / "runs.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        # One moment for all tables: the beats go on recording the pause meanwhile.
        moment = self._engine.connect()
        if self._engine.dialect.name != "sqlite":
            moment = moment.execution_options(isolation_level="REPEATABLE READ")
        with moment as connection:
            return account_for(connection, lines)

    def close(self) -> None:
        """Close this process's own connections."""
        self._engine.dispose()


def kill_main(process: Process) -> None:
    """Kill a worker's main process alone; its pool is left to itself."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def child_pids(process: Process) -> list[int]:
    """The pool of a worker."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [one.pid for one in process.children()]
    return []


def folder_of(stage: Stage) -> Path:
    """The project's folder."""
    return stage.project.folder
