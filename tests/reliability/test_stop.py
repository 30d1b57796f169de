"""Graceful stop: SIGTERM in the middle of a burst."""

import signal

import pytest

from tests.reliability.stage import Stage
from tests.servers import Broker, Database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

BURST = """{
    **{f"s{n}": {"binding": "proj.job", "payload": [], "everyMs": 3000} for n in range(460)},
    **{f"c{n}": {"binding": "proj.job", "payload": slow, "everyMs": 3000} for n in range(40)},
}"""
SLOW = """
def slow(occurrence):
    note("asked", occurrence.name)
    time.sleep(0.3)
    return []

@signals.before_task_publish.connect
def published(**kwargs):
    note("published", kwargs["headers"]["id"])
"""


@pytest.mark.parametrize("kind", ["sqlite_database", "postgres_database"])
@pytest.mark.parametrize("moment", ["published", "asked"])
def test_sigterm_in_a_burst(
    make_stage, request: pytest.FixtureRequest, redis_broker: Broker, kind: str, moment: str
):
    """500 are due at once; the batch in hand is finished, and no claim is left behind."""
    database: Database = request.getfixturevalue(kind)
    stage: Stage = make_stage(database, redis_broker)
    stage.write(BURST, SLOW, tsumugi_batch_size=100)
    beat = stage.beat()
    stage.wait(lambda: stage.lines(moment), what="the burst")
    beat.send(signal.SIGTERM)
    assert beat.wait(30) == 0
    rows = stage.rows()
    assert rows
    # What was still being asked for is left to the next beat, by name; nothing is merely claimed.
    assert {row.state for row in rows} <= {"QUEUED", "SCHEDULED"}
    assert {row.wait for row in rows if row.state == "SCHEDULED"} <= {"retry"}
    queued = {row.id for row in rows if row.state == "QUEUED"}
    assert queued <= {line[0] for line in stage.lines("published")}
    stage.worker("-P", "threads", "-c", "4")
    stage.beat()
    account = stage.settle()
    assert account.problems == []
    assert {row.state for row in stage.rows()} == {"COMPLETED"}
