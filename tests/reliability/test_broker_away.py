"""The broker is away: failures are recorded, beat neither hangs nor dies nor slows other work."""

import contextlib
import socket
from pathlib import Path

import pytest

from tests.reliability.proxy import Proxy, silent_port
from tests.reliability.stage import Stage
from tests.servers import Broker, Database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

#: One schedule fails at its broker; the callable of the other must be called at its times.
TWO = """{
    "fails": {"binding": "proj.job", "payload": [], "everyMs": 1000},
    "calls": {"binding": "proj.job", "payload": asked, "everyMs": 1000},
}"""
ASKED = """
def asked(occurrence):
    note("asked", occurrence.scheduled_at_ms)
    return []
"""


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize("answer", ["refuses", "never answers"])
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_an_address_that_is_no_broker(
    make_stage, sqlite_database: Database, scheme: str, answer: str
):
    with contextlib.ExitStack() as stack:
        port = closed_port() if answer == "refuses" else stack.enter_context(silent_port())
        broker = Broker(scheme, f"{scheme}://127.0.0.1:{port}/", {})
        stage: Stage = make_stage(sqlite_database, broker, tsumugi_publish_timeout=1)
        stage.write(TWO, ASKED)
        beat = stage.beat()

        def failed(name: str) -> int:
            return sum(row.state == "NOT_EXECUTED" for row in stage.rows(name))

        stage.wait(lambda: failed("fails") >= 3 and failed("calls") >= 3, what="failures recorded")
        row = stage.schedule("fails")
        assert row.last_error
        assert row.n_failure >= 3
        assert beat.running
        assert beat.terminate(20) == 0
        assert not [one for one in stage.rows() if one.state == "CLAIMED"]


def test_a_folder_that_cannot_be_written_to(
    make_stage, sqlite_database: Database, filesystem_broker: Broker
):
    """The file system broker's folder is gone for a while."""
    folder = Path(filesystem_broker.transport_options["data_folder_out"])
    away = folder.with_name("away")
    stage: Stage = make_stage(sqlite_database, filesystem_broker)
    stage.write(TWO, ASKED)
    beat = stage.beat()
    stage.worker("-c", "1")
    stage.wait(lambda: len(stage.runs()) >= 2, what="at work")
    folder.rename(away)
    folder.write_text("not a folder")
    stage.wait(lambda: stage.schedule("fails").n_failure >= 2, what="failures recorded")
    folder.unlink()
    away.rename(folder)
    # Celery's own worker ends when it cannot list the folder; its supervisor starts another.
    stage.worker("-c", "1")
    known = len(stage.runs())
    stage.wait(lambda: len(stage.runs()) >= known + 2, what="at work again")
    assert beat.running
    assert stage.schedule("fails").last_error is None


@pytest.mark.parametrize("how", ["cut", "frozen"])
@pytest.mark.parametrize("kind", ["redis_broker", "rabbitmq_broker"])
def test_a_broker_that_goes_and_comes(
    make_stage, request: pytest.FixtureRequest, sqlite_database: Database, kind: str, how: str
):
    """C137: down at the start of beat, up, away, and back."""
    broker: Broker = request.getfixturevalue(kind)
    assert broker.server is not None
    proxy = Proxy(broker.server.port)
    url = broker.url.replace(f":{broker.server.port}/", f":{proxy.port}/")
    proxy.cut()
    stage: Stage = make_stage(
        sqlite_database, Broker(broker.kind, url, {}), tsumugi_publish_timeout=1
    )
    stage.write(TWO, ASKED)
    beat = stage.beat()
    stage.wait(lambda: stage.rows("fails") and stage.schedule("fails").n_failure >= 1, what="down")
    proxy.mend()
    stage.worker("-P", "threads")
    stage.wait(lambda: len(stage.runs("fails")) >= 2, what="up")
    if how == "cut":
        proxy.cut()
    else:
        broker.server.freeze()
    known = stage.schedule("fails").n_failure
    stage.wait(lambda: stage.schedule("fails").n_failure >= known + 2, what="away")
    asked = len(stage.lines("asked"))
    stage.wait(lambda: len(stage.lines("asked")) >= asked + 2, what="callables go on")
    if how == "cut":
        proxy.mend()
    else:
        broker.server.thaw()
    runs = len(stage.runs("fails"))
    stage.wait(lambda: len(stage.runs("fails")) >= runs + 2, what="back", timeout=60)
    assert beat.running
    # What a broker took although it did not say so is refused by the guard: it failed for good.
    assert stage.settle().problems == []
    proxy.close()


def test_a_result_backend_that_is_away(
    make_stage, sqlite_database: Database, filesystem_broker: Broker
):
    """C139: the broker is there, the result backend is not: jobs are sent all the same."""
    backend = f"redis://127.0.0.1:{closed_port()}/0"
    stage: Stage = make_stage(sqlite_database, filesystem_broker, result_backend=backend)
    stage.write(TWO, ASKED)
    beat = stage.beat()
    stage.wait(lambda: len(stage.rows("fails")) >= 1, what="claimed")
    stage.wait_for_first("fails", "QUEUED")
    assert stage.schedule("fails").n_failure == 0
    assert beat.running
