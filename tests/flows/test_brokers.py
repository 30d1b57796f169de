"""RabbitMQ: with results in a database chords work, with rpc:// all that needs none."""

from __future__ import annotations

import pytest

from tests.flows.running import Flows

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture
def flows(project, rabbitmq_broker, sqlite_database) -> Flows:
    return Flows(project, sqlite_database.url, rabbitmq_broker)


def test_results_in_a_database(flows: Flows):
    canvases = {
        "chord": "chord([add.s(1), add.s(2) | add.s(3)], add.s()) | add.s(1)",
        "fails": "chord([add.s(1), boom.s()], add.s())",
        "late": "late_gate.s() | note.s()",
    }
    flows.write(canvases)
    worker = flows.project.worker()
    beat = flows.project.beat()
    ids = flows.start(*canvases)
    assert flows.ended(ids[0]).state == "COMPLETED"
    assert flows.ended(ids[1]).state == "FAILED"
    # With acks_late RabbitMQ delivers the message of a lost worker again: the task runs again.
    flows.started()
    worker.kill()
    (flows.project.folder / "gate.started").unlink()
    flows.project.worker()
    flows.started(timeout=60)
    flows.open()
    row = flows.ended(ids[2], 60)
    assert (row.state, row.error) == ("COMPLETED", None)
    assert flows.notes() == ["note"]
    assert beat.running


def test_results_by_rpc(flows: Flows):
    canvases = {
        "chain": "add.s(1) | group(add.s(1), add.s(2))",
        "chord": "group(add.s(1)) | add.s()",
    }
    canvases["chord"] = "chord([add.s(1), add.s(2)], add.s())"
    flows.write(canvases, result_backend="rpc://")
    flows.project.worker()
    (run,) = flows.start("chain")
    assert flows.ended(run).state == "COMPLETED"
    refused = flows.project.celery("tsumugi", "trigger", "chord")
    seen = flows.rows("SELECT * FROM tsumugi_occurrence WHERE target = 'chord'")
    assert [(row.state, row.cause) for row in seen] == [("NOT_EXECUTED", "failure")], refused
    assert "rpc" in seen[0].error
    assert "result_backend = 'redis://" in seen[0].error
