"""A 'skip' schedule is never blocked for good by a message that is gone, refused or too late."""

import pytest

from tests.reliability.stage import Stage, folder_of
from tests.servers import Broker, Database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

SKIP = """{"s": {"binding": "proj.job", "payload": [], "everyMs": 1000}}"""


def goes_on(stage: Stage, name: str = "s") -> None:
    """Two further executions of the schedule end well."""

    def completed() -> int:
        return sum(row.state == "COMPLETED" for row in stage.rows(name))

    known = completed()
    stage.wait(lambda: completed() >= known + 2, what=f"{name} goes on")


def test_celery_purge(make_stage, sqlite_database: Database, broker: Broker):
    stage: Stage = make_stage(sqlite_database, broker)
    stage.write(SKIP)
    # Beat knows that there are workers which report; this one takes nothing yet.
    stage.worker("-c", "1", "-Q", "other")
    stage.beat()
    lost = stage.wait_for_first("s", "QUEUED")
    done = stage.project.celery("purge", "-f")
    assert "Purged 1 message" in done.stdout
    stage.project.celery("control", "add_consumer", "celery")
    stage.wait_for_first("s", "COMPLETED")
    goes_on(stage)
    assert stage.runs()[0] == (lost.id, 1)
    assert stage.settle().problems == []


def test_redis_flushall(make_stage, postgres_database: Database, redis_broker: Broker):
    """The worker holds a job back that Redis no longer knows, and the queue is empty."""
    stage: Stage = make_stage(postgres_database, redis_broker)
    stage.write(
        """{f"s{n}": {"binding": "proj.held", "payload": ["end"], "everyMs": 1000}
            for n in range(4)}"""
    )
    stage.worker("-c", "1", "--prefetch-multiplier", "1")
    stage.beat()
    stage.wait(lambda: len(stage.rows()) == 4 and stage.lines("holding"), what="four jobs")
    assert redis_broker.server is not None
    redis_broker.server.client(0).flushall()  # type: ignore[attr-defined]
    stage.go("end")
    for number in range(4):
        stage.wait_for_first(f"s{number}", "COMPLETED")
    goes_on(stage, "s0")
    assert stage.settle().problems == []


def test_rabbitmq_restart(make_stage, postgres_database: Database, rabbitmq_broker: Broker):
    stage: Stage = make_stage(postgres_database, rabbitmq_broker)
    stage.write(SKIP)
    stage.worker("-c", "1")
    beat = stage.beat()
    stage.wait(lambda: len(stage.runs()) >= 2, what="at work")
    assert rabbitmq_broker.server is not None
    rabbitmq_broker.server.restart()
    goes_on(stage)
    assert beat.running
    assert stage.settle().problems == []


def test_a_worker_killed_with_messages_it_had_not_started(
    make_stage, postgres_database: Database, rabbitmq_broker: Broker
):
    stage: Stage = make_stage(postgres_database, rabbitmq_broker)
    stage.write(
        """{f"s{n}": {"binding": "proj.held", "payload": ["end"], "everyMs": 1000,
                      "maxAttempts": 2} for n in range(4)}"""
    )
    worker = stage.worker("-c", "1")
    stage.beat()
    stage.wait(lambda: len(stage.rows()) == 4 and stage.lines("holding"), what="four jobs")
    worker.kill()
    stage.go("end")
    stage.worker("-c", "2")
    for number in range(4):
        stage.wait_for_first(f"s{number}", "COMPLETED")
    assert stage.settle().problems == []


ENDS = """
    from celery.exceptions import Ignore, Reject

    @app.task(bind=True)
    def ends(self, how):
        started(self)
        if first(how):
            if how == "rejected":
                raise Reject("not mine", requeue=False)
            if how == "requeued":
                raise Reject("not now", requeue=True)
            if how == "ignored":
                raise Ignore()
            if how == "exited":
                sys.exit(3)
            if how == "interrupted":
                raise KeyboardInterrupt
            if how == "terminated":
                note("holding", self.request.id)
                time.sleep(60)
"""
OUTCOME = {
    "rejected": {"FAILED"},
    "requeued": {"COMPLETED"},
    "ignored": {"COMPLETED"},
    "exited": {"COMPLETED", "FAILED"},
    "interrupted": {"COMPLETED", "FAILED"},
    "terminated": {"CANCELLED"},
}


def test_jobs_that_end_otherwise(make_stage, postgres_database: Database, redis_broker: Broker):
    """C151: rejected, given back, ignored, exited, interrupted, terminated: each is an end."""
    stage: Stage = make_stage(postgres_database, redis_broker)
    schedules = {
        how: {"binding": "proj.ends", "payload": [how], "everyMs": 1000} for how in OUTCOME
    }
    stage.write(repr(schedules), ENDS)
    stage.worker("-c", "3")
    stage.beat()
    stage.wait(lambda: stage.lines("holding"), what="one to be terminated")
    stage.project.celery("control", "terminate", "SIGKILL", stage.lines("holding")[0][0])
    ended = ("COMPLETED", "FAILED", "CANCELLED", "STALLED")
    found = {how: stage.wait_for_first(how, *ended, timeout=60).state for how in OUTCOME}
    assert {how: state for how, state in found.items() if state not in OUTCOME[how]} == {}
    for how in OUTCOME:
        goes_on(stage, how)
    # A message given back to the broker starts the same attempt again: it does not count.
    twice = [one for one in stage.settle().problems if "requeued" not in one]
    assert twice == []


def test_revoked_and_expired_before_they_start(
    make_stage, postgres_database: Database, rabbitmq_broker: Broker
):
    """C151: revoked while it waits in the queue, and expired there."""
    stage: Stage = make_stage(postgres_database, rabbitmq_broker)
    stage.write(
        """{
            "revoked": {"binding": "proj.job", "payload": [], "everyMs": 1000,
                        "options": {"queue": "later"}},
            "expired": {"binding": "proj.job", "payload": [], "everyMs": 1000, "expiresMs": 1500,
                        "options": {"queue": "later"}},
        }""",
        tsumugi_republish_after=30,
    )
    stage.worker("-c", "1")
    stage.beat()
    waiting = stage.wait_for_first("revoked", "QUEUED")
    stage.wait_for_first("expired", "QUEUED")
    stage.project.celery("control", "revoke", waiting.id)
    # Read by a worker that got the revocation, once the other one is too old.
    stage.wait(lambda: stage.schedule("expired").n_overlap >= 3, what="the time of the other")
    stage.project.celery("control", "add_consumer", "later")
    assert stage.wait_for_first("revoked", "CANCELLED").error == "revoked"
    assert "expired" in stage.wait_for_first("expired", "CANCELLED").error
    goes_on(stage, "revoked")
    goes_on(stage, "expired")
    assert (folder_of(stage) / "runs.txt").exists()
    assert stage.settle().problems == []
