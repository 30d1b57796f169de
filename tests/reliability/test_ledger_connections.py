"""Connections to the ledger that are cut, locked out, or closed by the server."""

import sqlite3

import pytest

from tests.reliability.proxy import Proxy
from tests.reliability.stage import Stage
from tests.servers import Broker, Database
from tsumugi_celery.ledger.connect import read_url

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(150)]


def test_one_beat_is_cut_off_from_the_database(
    make_stage, postgres_database: Database, redis_broker: Broker
):
    """C124: A still has the broker, and must not publish what it cannot record."""
    assert postgres_database.server is not None
    proxy = Proxy(postgres_database.server.port)
    stage: Stage = make_stage(postgres_database, redis_broker)
    stage.write(
        """{f"s{n}": {"binding": "proj.job", "payload": [], "everyMs": 1000} for n in range(10)}""",
        f"""
        if ROLE == "A":
            app.conf.tsumugi_database_url = app.conf.tsumugi_database_url.replace(
                ":{postgres_database.server.port}/", ":{proxy.port}/")

        @signals.before_task_publish.connect
        def published(**kwargs):
            note("published", ROLE)
        """,
    )
    stage.worker("-P", "threads", role="worker")
    first = stage.beat("A")
    stage.beat("B")

    def published(role: str) -> int:
        return stage.lines("published").count([role])

    stage.wait(lambda: published("A") > 5 and published("B") > 5, what="both at work")
    proxy.cut()
    first.wait_log("The ledger is away", timeout=30)
    cut = published("A"), published("B")
    stage.wait(lambda: published("B") > cut[1] + 60, what="B goes on")
    assert published("A") == cut[0]
    proxy.mend()
    stage.wait(lambda: published("A") > cut[0], what="A is back")
    assert stage.settle().problems == []
    proxy.close()


def test_sqlite_locked_by_another_process(
    make_stage, sqlite_database: Database, filesystem_broker: Broker
):
    stage: Stage = make_stage(sqlite_database, filesystem_broker)
    stage.write("""{"s": {"binding": "proj.job", "payload": [], "everyMs": 1000}}""")
    beat = stage.beat()
    stage.worker("-c", "1")
    stage.wait(stage.runs, what="at work")
    other = sqlite3.connect(sqlite_database.url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    beat.wait_log("The ledger is away", timeout=40)
    known = len(stage.runs())
    other.execute("ROLLBACK")
    other.close()
    beat.wait_log("The ledger is back", timeout=40)
    stage.wait(lambda: len(stage.runs()) > known + 2, what="at work again")
    assert stage.settle().problems == []


@pytest.mark.parametrize("kind", ["postgres_database", "mariadb_database"])
def test_connections_that_the_server_closed(
    make_stage, request: pytest.FixtureRequest, redis_broker: Broker, kind: str
):
    """C142: the server ends idle connections after a second; the schedule is slower than that."""
    database: Database = request.getfixturevalue(kind)
    server = database.server
    assert server is not None
    name = read_url(database.url).database
    if kind == "postgres_database":
        server.execute(f"ALTER DATABASE {name} SET idle_session_timeout = '1s'")  # type: ignore[attr-defined]
    else:
        server.execute("SET GLOBAL wait_timeout = 1")  # type: ignore[attr-defined]
    try:
        stage: Stage = make_stage(database, redis_broker)
        stage.write(
            """{"s": {"binding": "proj.job", "payload": [], "everyMs": 3000}}""",
            tsumugi_poll_interval=30,
            tsumugi_heartbeat=10,
            tsumugi_presumed_gone=30,
            tsumugi_republish_after=60,
        )
        beat = stage.beat()
        worker = stage.worker("-c", "1")
        stage.wait(lambda: len(stage.runs()) >= 3, what="three runs")
        assert stage.schedule("s").n_delay == 0
        for process in (beat, worker):
            assert "is away" not in process.text()
            assert "put back" not in process.text()
        assert {row.state for row in stage.rows()[:3]} == {"COMPLETED"}
    finally:
        if kind == "mariadb_database":
            server.execute("SET GLOBAL wait_timeout = 28800")  # type: ignore[attr-defined]
