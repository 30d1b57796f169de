"""The ledger's database is away: nothing lost, nothing twice, nothing of ours started meanwhile.

The outages last some seconds; the mechanism does not depend on the length. `make soak` has one of
30 s with the defaults' proportions.
"""

import time

import pytest

from tests.reliability.stage import Stage
from tests.servers import Broker, Database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(150)]

AWAY = 8.0

#: One job ends and others start while the ledger is away, and beat has something due every second.
BUSY = """{
    "ends": {"binding": "proj.held", "payload": ["ends"], "everyMs": 1000, "maxAttempts": 1},
    "due": {"binding": "proj.job", "payload": [], "everyMs": 1000, "maxAttempts": 1},
    **{f"waits{n}": {"binding": "proj.late", "payload": [], "everyMs": 1000, "maxAttempts": 1}
       for n in range(3)},
}"""
LATE = """
@app.task(bind=True, queue="late")
def late(self):
    started(self)
"""


def starts(stage: Stage) -> int:
    return len(stage.lines("runs"))


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("mariadb_database", "stopped"),
        ("mariadb_database", "frozen"),
        ("postgres_database", "stopped"),
        ("postgres_database", "frozen"),
    ],
)
def test_a_server_that_is_away(
    make_stage, request: pytest.FixtureRequest, redis_broker: Broker, kind: str, how: str
):
    """C141: beat claims, a worker starts and a worker finishes while the database is away."""
    database: Database = request.getfixturevalue(kind)
    server = database.server
    assert server is not None
    stage: Stage = make_stage(database, redis_broker)
    stage.write(BUSY, LATE)
    beat = stage.beat()
    worker = stage.worker("-c", "2", "-Q", "celery")
    stage.wait(lambda: stage.lines("holding") and stage.runs("due"), what="one running")
    stage.wait(lambda: all(stage.first(f"waits{n}") for n in range(3)), what="three waiting")
    server.freeze() if how == "frozen" else server.stop()
    before = starts(stage)
    # These start now, or would.
    late = stage.worker("-c", "2", "-Q", "late", wait=False)
    # And this one ends now.
    stage.go("ends")
    late.wait_log("is put back", timeout=60)
    began = time.monotonic()
    stage.wait(
        lambda: time.monotonic() - began > AWAY or starts(stage) > before + 1, what="a while"
    )
    # At most the one that had won its row at the very moment.
    assert starts(stage) <= before + 1
    server.thaw() if how == "frozen" else server.start()
    back = time.monotonic()
    stage.wait(
        lambda: (row := stage.first("ends")) is not None and row.state == "COMPLETED", timeout=60
    )
    for number in range(3):
        row = stage.wait_for_first(f"waits{number}", "COMPLETED", timeout=60)
        assert row.attempt == 1  # no attempt was counted
    time.monotonic() - back
    count = len(stage.rows("due"))
    stage.wait(lambda: len(stage.rows("due")) >= count + 2, what="the schedule goes on")
    account = stage.settle()
    assert account.problems == []
    assert set(account.states) == {"COMPLETED"}
    assert account.attempts == account.states["COMPLETED"]
    assert stage.schedule("due").n_delay > 0
    assert beat.running
    assert worker.running
