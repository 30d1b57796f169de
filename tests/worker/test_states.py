"""What a worker reports is what happened, in every pool.

One project for each pool: every schedule is made due once by hand, all at the same time, and the
tests look at what has become of each.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from tests.e2e.book import Book
from tests.processes import Project
from tests.servers import Broker
from tsumugi_celery.core import states
from tsumugi_celery.ledger import attempts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

SOURCE = """
    import os, time
    from pathlib import Path
    from celery import Celery
    from celery.exceptions import Ignore, Reject, SoftTimeLimitExceeded
    import tsumugi_celery

    HERE = Path(__file__).parent
    app = Celery("proj")
    app.conf.update({settings!r})
    app.conf.update(
        tsumugi_database_url="sqlite:///" + str(HERE / "ledger.sqlite3"),
        tsumugi_timeout_grace=1,
        tsumugi_bindings={{"Remote": {{"task": "proj.nowhere"}}}},
        result_backend="db+sqlite:///" + str(HERE / "results.sqlite3"),
        result_expires=5,  # C153
        worker_send_task_events=False,  # C156
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
    )

    def first(name):
        path = HERE / (name + ".seen")
        if path.exists():
            return False
        path.touch()
        return True

    @app.task
    def good(): return "fine"

    @app.task
    def bad(): raise ValueError("no such luck")

    @app.task(bind=True, max_retries=3)
    def again(self):
        if first("again"):
            raise self.retry(countdown=0.1, exc=RuntimeError("not yet"))

    @app.task(bind=True, max_retries=1)
    def never(self): raise self.retry(countdown=0.1, exc=RuntimeError("never"))

    @app.task(autoretry_for=(OSError,), retry_backoff=False, default_retry_delay=0.1, max_retries=2)
    def auto():
        if first("auto"):
            raise OSError("once")

    @app.task
    def ignored(): raise Ignore()

    @app.task(acks_late=True)
    def rejected(): raise Reject("no", requeue=False)

    @app.task(acks_late=True)
    def requeued():
        if first("requeued"):
            raise Reject("later", requeue=True)

    @app.task
    def unwanted(): (HERE / "unwanted.ran").touch()

    @app.task
    def soft(): time.sleep(60)

    @app.task
    def hard():
        if not first("hard"):
            return
        while True:
            try:
                time.sleep(60)
            except SoftTimeLimitExceeded:
                pass

    @app.task
    def long(): time.sleep(90 if first("long") else 0)

    @app.task
    def killed(name):
        if first(name):
            os.kill(os.getpid(), 9)

    @app.task
    def own_type():
        class Odd(Exception):
            def __reduce__(self): raise TypeError("cannot be pickled")
            def __str__(self): raise TypeError("cannot be shown")
        raise Odd()

    @app.task
    def exits(): raise SystemExit(3)

    def job(task, **more):
        return {{"binding": "proj." + task, "payload": {{}}, "everyMs": 3_600_000_000, **more}}

    app.conf.beat_schedule = {{
        **{{name: job(name) for name in {names!r}}},
        "nowhere": {{**job("good"), "binding": "Remote"}},
        "expired": job("unwanted", expiresMs=1),
        "unwanted": job("unwanted"),
        "as_celery": {{"task": "proj.good", "schedule": 3_600_000}},
        {more}
    }}
"""

#: Schedules whose outcome is the same in all pools: name -> (state, attempt, error contains).
EVERYWHERE: dict[str, tuple[str, int, str | None]] = {
    "good": (states.COMPLETED, 1, None),
    "as_celery": (states.COMPLETED, 1, None),
    "bad": (states.FAILED, 1, "ValueError: no such luck"),
    "again": (states.COMPLETED, 2, None),
    "never": (states.FAILED, 2, "never"),
    "auto": (states.COMPLETED, 2, None),
    "ignored": (states.COMPLETED, 1, None),
    "rejected": (states.FAILED, 1, "no"),
    "requeued": (states.COMPLETED, 1, None),
    "own_type": (states.FAILED, 1, "Odd"),
    "nowhere": (states.FAILED, 0, "proj.nowhere"),
    "expired": (states.CANCELLED, 0, "expired"),
    "unwanted": (states.CANCELLED, 0, "revoked"),
}
NAMES = ["good", "bad", "again", "never", "auto", "ignored", "rejected", "requeued", "own_type"]
PREFORK = """
    "soft": job("soft", timeoutMs=700),
    "hard": job("hard", timeoutMs=700),
    "long": job("long"),
    "killed_last": {**job("killed", maxAttempts=1), "payload": ["killed_last"]},
    "killed_again": {**job("killed", maxAttempts=2,
                           backoff={"kind": "fixed", "delayMs": 100}), "payload": ["killed_again"]},
    "killed_once": {**job("killed", guarantee="at-most-once"), "payload": ["killed_once"]},
"""


class Stage:
    """A project with a beat and a worker of one pool, all its schedules fired once."""

    def __init__(self, project: Project, broker: Broker, pool: str) -> None:
        self.project, self.pool = project, pool
        more = PREFORK if pool == "prefork" else ""
        project.write(SOURCE.format(settings=broker.settings, names=NAMES, more=more))
        self.book = Book(project)
        self.names = [*EVERYWHERE, *(["soft", "hard", "long"] if more else [])]
        self.names += ["killed_last", "killed_again", "killed_once"] if more else []
        self.beat = project.beat()
        self.worker = project.worker("-P", pool, "-c", "4")
        project.wait_for(lambda: len(self.book.schedules()) >= len(self.names), 60)
        self.control = Celery(set_as_current=False)
        self.control.conf.update(broker.settings)
        at = int(time.time() * 1000) + 4000
        self.order("revoke", f"proj.unwanted-{at}")
        self.book.fire(*self.names, at=at)
        self.at = at

    def order(self, what: str, identifier: str) -> None:
        """Have the worker revoke or terminate a job, and wait until it says it did."""
        send = getattr(self.control.control, what)
        more = {"signal": "KILL"} if what == "terminate" else {}
        assert send(identifier, reply=True, limit=1, timeout=20, **more)


@pytest.fixture(scope="module", params=["prefork", "threads", "solo"])
def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    folder: Path = tmp_path_factory.mktemp(f"stage-{request.param}")
    messages, control = folder / "messages", folder / "control"
    messages.mkdir()
    control.mkdir()
    options = {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.1,
    }
    (folder / "project").mkdir()
    project = Project(folder / "project")
    try:
        yield Stage(project, Broker("filesystem", "filesystem://", options), request.param)
    finally:
        project.close()


def test_every_outcome_is_told_truly(stage: Stage):
    """C151 (revoked before it starts), C153, C156, among the others."""
    wrong = {}
    for name, (state, attempt, error) in EVERYWHERE.items():
        row = stage.book.wait(name, *states.FINISHED)
        found = (row.state, row.attempt, row.error)
        if found[:2] != (state, attempt) or (error or "") not in (row.error or ""):
            wrong[name] = found
        assert row.id == f"proj.{name}-{stage.at}"
        assert row.ended_at is not None
        if row.attempt:
            assert row.worker.startswith("worker")
    assert wrong == {}
    assert not (stage.project.folder / "unwanted.ran").exists()


def test_attempts_that_failed_are_kept(stage: Stage):
    row = stage.book.wait("never", states.FAILED)
    with stage.book.ledger.read() as connection:
        kept = attempts.of_occurrence(connection, row.id)
    assert [(one.attempt, one.state) for one in kept] == [(1, "FAILED"), (2, "FAILED")]
    assert all(one.started_at <= one.ended_at for one in kept)


#: Celery ends running tasks in the prefork pool only.
prefork_only = pytest.mark.parametrize("stage", ["prefork"], indirect=True)


@prefork_only
def test_a_soft_limit_fails_the_job(stage: Stage):
    row = stage.book.wait("soft", *states.FINISHED)
    assert (row.state, row.attempt) == (states.FAILED, 1)
    assert "SoftTimeLimitExceeded" in row.error


@prefork_only
def test_a_hard_limit_fails_the_job_and_holds_nothing_back(stage: Stage):
    """C149, C156."""
    row = stage.book.wait("hard", *states.FINISHED)
    assert (row.state, row.attempt) == (states.FAILED, 1)
    assert "TimeLimitExceeded" in row.error
    stage.book.fire("hard")
    assert stage.book.wait("hard", *states.FINISHED, number=2).state == states.COMPLETED


@prefork_only
def test_a_job_terminated_while_it_runs_is_cancelled_and_holds_nothing_back(stage: Stage):
    """C151."""
    row = stage.book.wait("long", states.RUNNING)
    stage.order("terminate", row.id)
    row = stage.book.wait("long", *states.FINISHED)
    assert row.state == states.CANCELLED
    stage.book.fire("long")
    assert stage.book.wait("long", *states.FINISHED, number=2).state == states.COMPLETED


@prefork_only
def test_a_killed_child_is_settled_by_guarantee(stage: Stage):
    found = {}
    for name in ("killed_last", "killed_again", "killed_once"):
        row = stage.book.wait(name, *states.FINISHED)
        found[name] = (row.state, row.attempt)
    assert found == {
        "killed_last": (states.FAILED, 1),
        "killed_again": (states.COMPLETED, 2),
        "killed_once": (states.STALLED, 1),
    }


def test_the_worker_ends_in_good_order_and_says_so(stage: Stage):
    (worker,) = stage.book.nodes("worker")
    assert worker.hostname.startswith("worker")
    os.kill(stage.worker.pid, signal.SIGTERM)
    stage.worker.wait(60)
    assert stage.book.nodes("worker") == []
    text: Any = stage.worker.text()
    assert "Traceback" not in text.split("Warm shutdown")[-1]
