"""Several beats at once: none special, nothing twice, no failover delay."""

import os
import signal

import pytest
import sqlalchemy as sa

from tests.reliability.stage import Stage
from tests.servers import Broker, Database
from tsumugi_celery.ledger.schema import node, occurrence

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

MANY = """{f"s{n}": {"binding": "proj.job", "payload": [], "everyMs": 1000} for n in range(30)}"""


def claimers(stage: Stage) -> set[str]:
    with stage.connect() as connection:
        query = sa.select(occurrence.c.claimed_by).distinct()
        return set(connection.execute(query).scalars())


def test_work_is_shared_and_a_killed_beat_is_not_missed(
    make_stage, database: Database, redis_broker: Broker
):
    """One of three beats is killed with -9 in full work; every time still has one record."""
    stage: Stage = make_stage(database, redis_broker)
    stage.write(MANY)
    stage.worker("-P", "threads", "-c", "8")
    beats = [stage.beat(), stage.beat(), stage.beat()]
    stage.wait(lambda: len(stage.rows()) > 90, what="all at work")
    beats[0].kill()
    known = len(stage.rows())
    stage.wait(lambda: len(stage.rows()) >= known + 90, what="the others go on")
    account = stage.settle()
    assert account.problems == []
    if database.kind != "sqlite":
        # One writer at a time there: whoever comes first may well take all that is due.
        assert len(claimers(stage)) > 1
    # Nothing was missed: the others were there at the next due time.
    assert account.not_executed["delay"] <= 30
    assert account.states["COMPLETED"] == account.attempts


def test_rolling_deploy_does_not_fight(
    make_stage, postgres_database: Database, redis_broker: Broker
):
    """An old and a new beat live side by side: what the beat started last defines is kept."""
    stage: Stage = make_stage(postgres_database, redis_broker)
    old = """{
        "changed": {"binding": "proj.word", "payload": ["old"], "everyMs": 1000},
        "removed": {"binding": "proj.word", "payload": ["removed"], "everyMs": 1000},
        "same": {"binding": "proj.word", "payload": ["same"], "everyMs": 1000},
    }"""
    new = """{
        "changed": {"binding": "proj.word", "payload": ["new"], "everyMs": 1000},
        "added": {"binding": "proj.word", "payload": ["added"], "everyMs": 1000},
        "same": {"binding": "proj.word", "payload": ["same"], "everyMs": 1000},
    }"""
    task = """
        @app.task(bind=True)
        def word(self, text):
            started(self)
            note("words", text)
    """
    stage.write(old, task)
    stage.worker("-P", "threads")
    older = stage.beat()

    def words() -> list[str]:
        return [line[0] for line in stage.lines("words")]

    stage.wait(lambda: {"old", "removed", "same"} <= set(words()), what="the old definitions")
    stage.write(new, task)
    stage.beat()
    stage.wait(lambda: {"new", "added"} <= set(words()), what="the new definitions")
    begin = len(words())
    stage.wait(lambda: words()[begin:].count("added") >= 4, what="both beats at work")
    assert older.running
    assert set(words()[begin + 3 :]) == {"new", "added", "same"}
    assert not stage.schedule("removed").active
    assert [one for one in stage.settle().problems if "removed" not in one] == []


def test_a_beat_that_was_frozen_in_the_middle_of_a_tick(
    make_stage, postgres_database: Database, redis_broker: Broker
):
    """C123: A is stopped between claim and publish for three lease times; B takes over; A wakes."""
    stage: Stage = make_stage(postgres_database, redis_broker)
    stage.write(
        """{f"s{n}": {"binding": "proj.job", "payload": [], "everyMs": 1000} for n in range(10)}""",
        """
        @signals.before_task_publish.connect
        def stop_here(**kwargs):
            if ROLE == "A" and first("inside"):
                note("inside", os.getpid())
                hold("resume")
        """,
    )
    stage.worker("-P", "threads")
    slow = stage.beat("A")
    stage.wait(lambda: stage.lines("inside"), what="A between claim and publish")
    claimed = [row.id for row in stage.rows() if row.state == "CLAIMED"]
    assert claimed
    slow.freeze()
    stage.beat("B")
    done = {"COMPLETED"}
    stage.wait(
        lambda: {row.state for row in stage.rows() if row.id in claimed} == done,
        what="B has taken over what A claimed",
    )
    stage.go("resume")
    slow.thaw()
    # A sends what it had claimed, under the ids that exist: nobody runs them again.
    worker = stage.project.processes[0]
    worker.wait_log("does not run", timeout=40)
    assert stage.settle().problems == []
    assert slow.running
    runs = stage.runs()
    assert len(runs) == len(set(runs))


def test_beat_that_outlives_its_guardian(
    make_stage, postgres_database: Database, redis_broker: Broker
):
    """C128: the parent of beat is killed, its child lives on beside the new one."""
    stage: Stage = make_stage(postgres_database, redis_broker)
    stage.write(MANY)
    stage.worker("-P", "threads")
    command = stage.project.command("beat", "-S", "tsumugi_celery.Scheduler", "--pidfile=")
    guardian = stage.project.start("guardian", "/bin/sh", "-c", '"$@" & wait', "sh", *command)
    stage.wait(stage.rows, what="the first beat at work")
    orphan = guardian.children()[0]
    os.kill(guardian.pid, signal.SIGKILL)
    stage.beat()

    def beats() -> int:
        with stage.connect() as connection:
            query = sa.select(sa.func.count()).where(node.c.role == "beat", node.c.beats > 3)
            return int(connection.execute(query).scalar_one())

    stage.wait(lambda: beats() == 2, what="two beats")
    known = len(stage.rows())
    stage.wait(lambda: len(stage.rows()) > known + 60)
    assert orphan.is_running()
    assert stage.settle().problems == []
