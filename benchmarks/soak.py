"""Soak: run for long under kills and outages, then account for every scheduled time.

Two beats, two workers, 200 schedules of 1 to 5 s. Every few seconds one process is killed with -9:
a beat, a whole worker, a worker's main process alone, or one process of its pool. A third of the
way in, the database is frozen for 30 s; two thirds in, the broker is restarted. At the end every
schedule is paused, what is under way may finish, and then each scheduled time of each schedule must
have exactly one record, and each attempt must have started at most once.

    MINUTES=10 make soak
    python benchmarks/soak.py --minutes 10 --pair mariadb+rabbitmq
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.accounts import Account, account_for
from tests.processes import Process, Project
from tests.servers.mariadb import MariaDB
from tests.servers.postgresql import PostgreSQL
from tests.servers.rabbitmq import RabbitMQ
from tests.servers.redis_server import Redis
from tests.waiting import wait_for

PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "postgresql+redis": (PostgreSQL, Redis),
    "mariadb+rabbitmq": (MariaDB, RabbitMQ),
}
FREEZE = 30.0
DRAIN = 180.0

SOURCE = """
import os, random, time
from celery import Celery

app = Celery("proj", broker={broker!r})
app.conf.update(
    broker_transport_options={options!r}, tsumugi_database_url={database!r},
    tsumugi_heartbeat=1, tsumugi_presumed_gone=6, tsumugi_republish_after=10,
    worker_hijack_root_logger=True, broker_connection_retry_on_startup=True,
)
import tsumugi_celery

@app.task(bind=True)
def note(self, seconds):
    attempt = self.request.headers["tsumugi"]["base"] + self.request.retries + 1
    line = f"{{self.request.id}} {{attempt}}\\n".encode()
    file = os.open("executions.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line)
    os.close(file)
    time.sleep(seconds)

app.conf.beat_schedule = {{
    f"s{{number}}": {{
        "binding": "proj.note", "payload": {{"seconds": 0.5 if number % 20 == 0 else 0.01}},
        "everyMs": 1000 + (number * 4000) // {schedules},
        "overlap": "overlap" if number % 3 == 0 else "skip",
        "maxAttempts": 3, "backoff": {{"kind": "fixed", "delayMs": 500, "jitter": False}},
        "guarantee": "at-most-once" if number % 7 == 0 else "at-least-once",
    }}
    for number in range({schedules})
}}
"""


class Fleet:
    """Two beats and two workers; whatever is killed is started again."""

    def __init__(self, project: Project, chance: random.Random) -> None:
        self.project = project
        self.chance = chance
        self.killed: Counter[str] = Counter()
        self.members: dict[str, Process] = {}
        for name in ("beat 1", "beat 2", "worker 1", "worker 2"):
            self.start(name)

    def start(self, name: str) -> None:
        """Start one; a worker is not waited for."""
        if name.startswith("beat"):
            self.members[name] = self.project.beat("-l", "WARNING")
        else:
            self.members[name] = self.project.worker("-l", "WARNING", "-c", "3", wait=False)

    def kill_one(self) -> None:
        """Kill one process with -9, and start what is missing again."""
        name = self.chance.choice(sorted(self.members))
        process = self.members[name]
        how = "beat"
        if name.startswith("worker"):
            how = self.chance.choice(["worker", "worker's main process", "pool process"])
        if how == "pool process":
            with suppress(psutil.NoSuchProcess, IndexError):
                self.chance.choice(process.children()).kill()
        elif how == "worker's main process":
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        else:
            process.kill()
        self.killed[how] += 1
        self.revive()

    def revive(self) -> None:
        """Start again whatever does not run."""
        for name, process in list(self.members.items()):
            if not process.running:
                self.start(name)

    def stop(self) -> None:
        """End all in their orderly way, beats first."""
        for name, process in sorted(self.members.items()):
            code = process.terminate(60)
            print(f"  {name} ended with {code}", flush=True)


def soak(pair: str, minutes: float, schedules: int, seed: int) -> bool:
    """Run one pair of database and broker; returns whether all is accounted for."""
    chance = random.Random(seed)
    print(f"{pair}: {minutes:g} minutes, {schedules} schedules, seed {seed}", flush=True)
    make_database, make_broker = PAIRS[pair]
    with ExitStack() as stack:
        database, broker = make_database(), make_broker()
        for server in (database, broker):
            stack.callback(server.close)
            server.start()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tsumugi-soak-")))
        project = Project(folder)
        stack.callback(project.close)
        url = database.create_database("soak")
        options = {"confirm_publish": True} if isinstance(broker, RabbitMQ) else {}
        if isinstance(broker, Redis):
            options = {"visibility_timeout": 30}
        where = broker.database_url(1) if isinstance(broker, Redis) else broker.url
        project.write(
            SOURCE.format(broker=where, options=options, database=url, schedules=schedules)
        )
        fleet = Fleet(project, chance)
        _rage(fleet, database, broker, minutes * 60)
        account = _settle(fleet, url, folder / "executions.txt")
        fleet.stop()
        print(account.text(fleet.killed), flush=True)
        if account.problems:
            for process in fleet.members.values():
                print(f"--- {process.name}\n{process.tail(15)}", flush=True)
        return not account.problems


def _rage(fleet: Fleet, database: Any, broker: Any, seconds: float) -> None:
    began = time.monotonic()
    frozen_at: float | None = None
    thawed = restarted = seconds < 3 * FREEZE
    while (passed := time.monotonic() - began) < seconds:
        time.sleep(fleet.chance.uniform(2, 5))
        fleet.kill_one()
        if not thawed and frozen_at is None and passed > seconds / 3:
            print(f"  {passed:.0f} s: the database is frozen for {FREEZE:g} s", flush=True)
            database.freeze()
            frozen_at = passed
        if not thawed and frozen_at is not None and passed - frozen_at > FREEZE:
            database.thaw()
            thawed = True
        if not restarted and passed > seconds * 2 / 3:
            print(f"  {passed:.0f} s: the broker is restarted", flush=True)
            broker.restart()
            restarted = True
    database.thaw()


def _settle(fleet: Fleet, url: str, executions: Path) -> Account:
    """Pause all schedules, wait until nothing is under way, and account for all."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE tsumugi_schedule SET paused = true"))

    def finished() -> bool:
        fleet.revive()
        with engine.connect() as connection:
            left = connection.execute(
                sa.text(
                    "SELECT count(*) FROM tsumugi_occurrence"
                    " WHERE state IN ('CLAIMED', 'SCHEDULED', 'QUEUED', 'RUNNING')"
                )
            ).scalar_one()
        return bool(left == 0)

    began = time.monotonic()
    with suppress(AssertionError):
        wait_for(finished, DRAIN, interval=0.5, what="nothing under way")
    print(f"  drained after {time.monotonic() - began:.0f} s", flush=True)
    # One moment for all tables: the beats go on recording the pause meanwhile.
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        account = account_for(connection, executions.read_text().splitlines())
    engine.dispose()
    return account


def main() -> int:
    """Read the arguments and soak each pair."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("MINUTES", "10")))
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "1")))
    parser.add_argument("--pair", action="append", choices=sorted(PAIRS))
    given = parser.parse_args()
    results = [
        soak(pair, given.minutes, given.schedules, given.seed) for pair in given.pair or PAIRS
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
