"""Kill -9 of beat at every step of the protocol: exactly one execution, whoever goes on."""

import pytest

from tests.reliability.stage import Stage
from tests.servers import Broker, Database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

#: Where A dies: source that makes the point reachable, and the payload of the schedule.
POINTS = {
    "in the claim": (
        """
        import sqlalchemy

        @sqlalchemy.event.listens_for(sqlalchemy.Engine, "before_cursor_execute")
        def in_the_claim(connection, cursor, statement, parameters, context, executemany):
            if ROLE == "A" and statement.startswith("INSERT INTO tsumugi_occurrence"):
                note("died", "here")
                die()
        """,
        "[]",
    ),
    "after the claim": (
        """
        @signals.before_task_publish.connect
        def after_the_claim(**kwargs):
            if ROLE == "A":
                note("died", "here")
                die()
        """,
        "[]",
    ),
    "during resolve": (
        """
        def payload(occurrence):
            note("asked", ROLE)
            if ROLE == "A":
                note("died", "here")
                die()
            return [1]
        """,
        "payload",
    ),
    # C130: the message is on the broker, and nothing says so.
    "after publish, before settle": (
        """
        import sqlalchemy

        @sqlalchemy.event.listens_for(sqlalchemy.Engine, "before_cursor_execute")
        def before_settle(connection, cursor, statement, parameters, context, executemany):
            if ROLE == "A" and statement.startswith("UPDATE tsumugi_occurrence SET state=CASE"):
                note("died", "here")
                die()
        """,
        "[]",
    ),
    "in the middle of settle": (
        """
        import sqlalchemy

        @sqlalchemy.event.listens_for(sqlalchemy.Engine, "after_cursor_execute")
        def in_settle(connection, cursor, statement, parameters, context, executemany):
            if ROLE == "A" and statement.startswith("UPDATE tsumugi_occurrence SET state=CASE"):
                note("died", "here")
                die()
        """,
        "[]",
    ),
}


def crash(stage: Stage, point: str, *, other: bool) -> None:
    extra, payload = POINTS[point]
    stage.write(
        f"""{{"s": {{"binding": "proj.job", "payload": {payload}, "everyMs": 1000}}}}""", extra
    )
    stage.worker("-P", "solo")
    doomed = stage.beat("A")
    if other:
        stage.beat("B")
    stage.wait(lambda: stage.lines("died"), what="the crash")
    doomed.wait()
    if not other:
        stage.beat("B")
    stage.wait(lambda: len(stage.runs()) >= 3, what="the schedule goes on")
    account = stage.settle()
    assert account.problems == []
    runs = [identifier for identifier, _ in stage.runs()]
    assert len(runs) == len(set(runs))
    assert {row.state for row in stage.rows()} == {"COMPLETED"}
    assert account.attempts == account.states["COMPLETED"]


@pytest.mark.parametrize("point", POINTS)
def test_a_beat_started_anew_goes_on(make_stage, sqlite_database, redis_broker: Broker, point: str):
    crash(make_stage(sqlite_database, redis_broker), point, other=False)


@pytest.mark.parametrize("point", ["after the claim", "after publish, before settle"])
def test_another_beat_goes_on(
    make_stage, postgres_database: Database, rabbitmq_broker: Broker, point: str
):
    crash(make_stage(postgres_database, rabbitmq_broker), point, other=True)
