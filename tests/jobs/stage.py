"""A project with a real beat and real workers, whose schedules are due when a test says so."""

from __future__ import annotations

import json
import textwrap
import time
from typing import Any

from sqlalchemy import func, select, update

from tests.processes import Process, Project
from tests.rows import occurrences_of
from tests.servers.kinds import Broker
from tests.waiting import wait_for
from tsumugi_celery.ledger import attempts
from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import schedule

#: An interval that never comes by itself.
NEVER = 300 * 86_400_000

HEAD = """
import os, time
from celery import Celery, Task
from celery.exceptions import Ignore, Reject, SoftTimeLimitExceeded
from tsumugi_celery import define_tsumugi

app = Celery("proj", set_as_current=False)
app.conf.update(SETTINGS)
FOLDER = os.path.dirname(os.path.abspath(__file__))

def say(*words):
    line = " ".join(map(str, (time.time(), *words))) + "\\n"
    fd = os.open(os.path.join(FOLDER, "said"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, line.encode())
    os.close(fd)

def is_there(name):
    return os.path.exists(os.path.join(FOLDER, name))

"""

SETTINGS = {
    "tsumugi_poll_interval": 0.2,
    "tsumugi_heartbeat": 0.3,
    "tsumugi_presumed_gone": 4.0,
    "tsumugi_timeout_grace": 0.4,
    "worker_prefetch_multiplier": 1,
    "worker_cancel_long_running_tasks_on_connection_loss": True,
    "broker_connection_retry_on_startup": True,
}


class Stage:
    """Writes the project, starts its processes, fires its schedules and reads its ledger."""

    def __init__(self, project: Project, broker: Broker, database_url: str) -> None:
        self.project = project
        self.broker = broker
        self.url = database_url
        self.ledger = Ledger(database_url)

    def write(self, tasks: str, **settings: Any) -> None:
        """Write the module: `tasks` is its source, which ends with `define_tsumugi(app, ...)`."""
        conf = {**SETTINGS, **self.broker.settings, "tsumugi_database_url": self.url, **settings}
        options = {**self.broker.transport_options, **settings.get("broker_transport_options", {})}
        conf["broker_transport_options"] = options
        head = f"SETTINGS = {conf!r}\n{HEAD}"
        self.project.write(head + textwrap.dedent(tasks).lstrip("\n"))

    def control(self, source: str) -> str:
        """Run a piece of Python that has the project's `tsumugi`; what it printed."""
        return self.project.python(f"from proj import tsumugi\n{source}").strip()

    def beat(self) -> Process:
        """Start a beat and wait until its schedules are registered."""
        beat = self.project.beat()
        beat.wait_log("beat: Starting")
        wait_for(self._registered, 30, what="the schedules", logs=self.project.processes)
        return beat

    def _registered(self) -> bool:
        try:
            with self.ledger.read() as connection:
                count = connection.execute(select(func.count()).select_from(schedule)).scalar()
        except Exception:  # noqa: BLE001 - the tables are being made
            return False
        return bool(count)

    def fire(self, *names: str) -> None:
        """Make schedules due now: each has one regular occurrence, and then none for long."""
        for name in names:
            at = int(time.time() * 1000)
            with self.ledger.begin() as connection:
                changed = connection.execute(
                    update(schedule).where(schedule.c.name == name).values(first_at=at, next_at=at)
                )
            assert changed.rowcount == 1, f"no schedule {name!r}"

    def rows(self, name: str) -> list[Any]:
        """The occurrences of a schedule, oldest first."""
        return occurrences_of(self.ledger, name)

    def schedule(self, name: str) -> Any:
        """The row of a schedule."""
        with self.ledger.read() as connection:
            return connection.execute(select(schedule).where(schedule.c.name == name)).one()

    def wait_state(self, name: str, *wanted: str, timeout: float = 40, count: int = 1) -> Any:
        """Wait until the schedule's `count`-th occurrence is in one of the states; its row."""

        def look() -> Any:
            rows = self.rows(name)
            return rows[count - 1] if len(rows) >= count else None

        def reached() -> Any:
            row = look()
            return row if row is not None and row.state in wanted else None

        what = f"{name} to be {' or '.join(wanted)}"
        try:
            return wait_for(reached, timeout, what=what, logs=self.project.processes)
        except AssertionError as exc:
            raise AssertionError(f"{exc}\nrow: {look()}") from None

    def attempts(self, occurrence_id: str) -> list[Any]:
        """The recorded attempts of an occurrence."""
        with self.ledger.read() as connection:
            return list(attempts.of_occurrence(connection, occurrence_id))

    def said(self, *words: str) -> list[tuple[float, list[str]]]:
        """What tasks said: (when, words), those alone that begin with `words`."""
        path = self.project.folder / "said"
        if not path.exists():
            return []
        lines = [line.split(" ") for line in path.read_text().splitlines()]
        told = [(float(first), rest) for first, *rest in lines]
        return [(at, rest) for at, rest in told if rest[: len(words)] == list(words)]

    def wait_said(self, *words: str, count: int = 1, timeout: float = 40) -> None:
        """Wait until a task has said this."""
        what = f"{count} times {words}"
        wait_for(
            lambda: len(self.said(*words)) >= count,
            timeout,
            what=what,
            logs=self.project.processes,
        )

    def touch(self, name: str) -> None:
        """Make a file that tasks wait for."""
        (self.project.folder / name).write_text("")


def options_of(row: Any) -> dict[str, Any]:
    """What the row of an occurrence keeps of its options."""
    found: dict[str, Any] = json.loads(row.options)
    return found
