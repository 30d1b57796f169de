"""A project with flows, started by hand from the test's own process, run by real workers."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from celery import Celery
from sqlalchemy import create_engine, text

from tests.waiting import wait_for

if TYPE_CHECKING:
    from tests.processes import Project
    from tests.servers.kinds import Broker

ENDED = ("COMPLETED", "FAILED", "CANCELLED", "NOT_EXECUTED", "STALLED")

SOURCE = '''
import os, signal, time, uuid
from celery import Celery, chain, chord, group, signature
from celery.exceptions import Ignore, Reject, SoftTimeLimitExceeded
from tsumugi_celery import define_tsumugi


app = Celery("proj")
app.conf.update({settings!r})

@app.task
def add(*numbers): return sum(n if isinstance(n, int) else sum(n) for n in numbers)

@app.task
def boom(*args): raise ValueError("boom")

@app.task
def note(*args, word="note"):
    with open("notes.txt", "a") as file: file.write(word + "\\n")
    return 1

@app.task
def errback(task_id): return note(word="errback")

@app.task(bind=True)
def twice(self, *args):
    if self.request.retries < 2: raise self.retry(countdown=0.1)
    return 1

@app.task(bind=True)
def replaced(self, how, *args):
    raise self.replace({{"task": add.s(1, 2), "group": group(add.s(1), add.s(2)), "boom": boom.s(),
                        "chain": add.s(1) | add.s(2)}}[how])

@app.task
def ignoring(*args): raise Ignore("enough")

@app.task
def rejecting(*args): raise Reject("no", requeue=False)

@app.task
def spawn(*args):
    note.delay(word="spawned")
    return 1

@app.task
def gate(name="gate", *args):
    """Runs until the test makes a file."""
    open(name + ".pid", "w").write(str(os.getpid()))
    os.rename(name + ".pid", name + ".started")
    while not os.path.exists(name + ".open"): time.sleep(0.02)
    return 1

@app.task(acks_late=True)
def late_gate(name="gate", *args): return gate.run(name)

{more}

FLOWS = {{{flows}}}
USUAL = {{"input": 1, "everyMs": 3600000}}
tsumugi = define_tsumugi(app, flows=FLOWS, schedules={{
    name: {{"flow": name, **USUAL, **OPTIONS.get(name, {{}})}} for name in FLOWS
}})
'''


@dataclass
class Flows:
    """A project whose flows a test can start and look at."""

    project: Project
    database: str
    broker: Broker

    def write(
        self,
        flows: dict[str, str],
        *,
        more: str = "",
        options: Any = None,
        **settings: Any,
    ) -> None:
        """Write the project: name of a flow -> the canvas, as an expression of `given`."""
        given = {
            **self.broker.settings,
            "tsumugi_database_url": self.database,
            "result_backend": self.backend,
            "result_chord_retry_interval": 0.2,
            "tsumugi_heartbeat": 0.5,
            "tsumugi_presumed_gone": 2.0,
            "tsumugi_republish_after": 2.0,
            "broker_connection_retry_on_startup": True,
            "worker_prefetch_multiplier": 1,
            **settings,
        }
        lines = ", ".join(f"{name!r}: lambda given: {made}" for name, made in flows.items())
        more = f"OPTIONS = {options or {}!r}\n" + textwrap.dedent(more)
        self.project.write(SOURCE.format(settings=given, flows=lines, more=more))

    @property
    def backend(self) -> str:
        """Redis where the broker is Redis, else an SQLite file, as in the embedded default."""
        if self.broker.kind == "redis":
            return self.broker.url
        return f"db+sqlite:///{self.project.folder / 'results.sqlite3'}"

    def start(self, *names: str) -> list[str]:
        """Start Runs by hand; returns their ids."""
        calls = "; ".join(f"print(tsumugi.trigger({name!r}))" for name in names)
        printed = self.project.python(f"from proj import tsumugi; {calls}")
        return [word for word in printed.split() if word.endswith("-manual")]

    def rows(self, query: str, **values: Any) -> list[Any]:
        engine = create_engine(self.database)
        try:
            with engine.connect() as connection:
                return list(connection.execute(text(query), values))
        finally:
            engine.dispose()

    def run(self, run_id: str) -> Any:
        (row,) = self.rows("SELECT * FROM tsumugi_occurrence WHERE id = :id", id=run_id)
        return row

    def tasks(self, run_id: str) -> list[Any]:
        return self.rows(
            "SELECT * FROM tsumugi_run_task WHERE run_id = :id ORDER BY position IS NULL, position",
            id=run_id,
        )

    def states(self, run_id: str) -> dict[str, int]:
        """How many of the tasks that people see are in which state."""
        found: dict[str, int] = {}
        for row in self.tasks(run_id):
            if not row.internal:
                found[row.state] = found.get(row.state, 0) + 1
        return found

    def ended(self, run_id: str, timeout: float = 40) -> Any:
        """Wait for the end of a Run; returns its row."""
        wait_for(
            lambda: self.run(run_id).state in ENDED,
            timeout,
            what=f"the end of {run_id}: {[(r.name, r.state, r.error) for r in self.tasks(run_id)]}",
            logs=self.project.processes,
            interval=0.05,
        )
        return self.run(run_id)

    def notes(self) -> list[str]:
        path = self.project.folder / "notes.txt"
        return path.read_text().split() if path.exists() else []

    def started(self, name: str = "gate", timeout: float = 30) -> int:
        """Wait until a gate is running; returns its process id."""
        path = self.project.folder / f"{name}.started"
        self.project.wait_for(path.exists, timeout, what=f"{name} running")
        return int(path.read_text())

    def open(self, name: str = "gate") -> None:
        (self.project.folder / f"{name}.open").touch()


def task_row(task_id: str, **values: Any) -> dict[str, Any]:
    """What a message tells of a task as it is sent."""
    return {
        "task_id": task_id,
        "name": "proj.add",
        "parent_id": "parent",
        "internal": False,
        "sent": 1,
        "queue": "celery",
        "queued_at": 3,
        "due_at": None,
        **values,
    }


def small_app(**settings: Any) -> Celery:
    """An app with the one task proj.add."""
    app = Celery("proj", **{"broker": "memory://", "backend": "cache+memory://", **settings})

    @app.task(name="proj.add", shared=False)
    def add(*_numbers):
        """Add nothing."""

    app.finalize()
    return app
