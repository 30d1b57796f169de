"""A worker's start of a job that the ledger took without saying so, and a clock that is off."""

import pytest

from tests.reliability.stage import Stage
from tests.servers import Broker, Database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


def test_a_start_whose_answer_was_lost(
    make_stage, postgres_database: Database, redis_broker: Broker
):
    """The row says RUNNING, the worker was told that it failed: the same attempt still runs."""
    stage: Stage = make_stage(postgres_database, redis_broker)
    stage.write(
        """{"s": {"binding": "proj.job", "payload": [], "everyMs": 1000, "maxAttempts": 1}}""",
        """
        import sqlalchemy

        @sqlalchemy.event.listens_for(sqlalchemy.Engine, "after_cursor_execute")
        def unheard(connection, cursor, statement, *rest):
            started = statement.startswith("UPDATE tsumugi_occurrence SET state=")
            if started and "attempt <" in statement and first("unheard"):
                note("unheard", os.getpid())
                raise sqlalchemy.exc.OperationalError(statement, {}, Exception("connection lost"))
        """,
    )
    worker = stage.worker("-c", "1")
    stage.beat()
    row = stage.wait_for_first("s", "COMPLETED", "FAILED")
    assert stage.lines("unheard")
    assert (row.state, row.attempt) == ("COMPLETED", 1)
    assert stage.runs()[0] == (row.id, 1)
    assert "is put back" in worker.text()
    assert stage.settle().problems == []


@pytest.mark.parametrize("hours", [1, -1])
def test_a_worker_whose_clock_is_an_hour_off(
    make_stage, sqlite_database: Database, redis_broker: Broker, hours: int
):
    """It works, nobody takes it for gone, and beat says how far it is off."""
    stage: Stage = make_stage(sqlite_database, redis_broker)
    stage.write(
        """{"s": {"binding": "proj.job", "payload": [], "everyMs": 1000, "maxAttempts": 1}}""",
        f"""
        from tsumugi_celery.app import state_of
        from tsumugi_celery.engine.clock import Clock

        class Wrong(Clock):
            def now(self):
                return super().now() + {hours} * 3_600_000

        if ROLE == "wrong":
            state_of(app).clock = Wrong()
        """,
    )
    stage.worker("-c", "1", role="wrong")
    beat = stage.beat()
    # 3600 s, or 3599.9: the heartbeat is a little older than the look at it.
    beat.wait_log("is +3" if hours > 0 else "is -3", timeout=40)
    stage.wait(lambda: len(stage.runs()) >= 8, what="longer than a worker is waited for")
    assert {row.state for row in stage.rows()[:8]} == {"COMPLETED"}
    assert "is gone" not in beat.text()
    assert stage.settle().problems == []
