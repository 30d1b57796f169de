"""Deadlines, cancelling, workers killed, messages lost, members revoked: a Run ends truly."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.flows.running import Flows
from tests.waiting import wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture(params=["redis"])
def flows(request, project, sqlite_database) -> Flows:
    kind = "redis" if request.param == "redis" else "filesystem"
    return Flows(project, sqlite_database.url, request.getfixturevalue(f"{kind}_broker"))


def write(flows: Flows, canvases: dict[str, str], options=None, **settings: Any) -> None:
    if flows.broker.kind == "redis":
        hidden = {**flows.broker.transport_options, "visibility_timeout": 2}
        settings["broker_transport_options"] = hidden
    flows.write(canvases, options=options, **settings)


def test_at_its_deadline_a_run_fails_and_its_tasks_end(flows: Flows):
    canvas = "group(gate.s('one'), gate.s('two'), gate.s('three')) | note.s()"
    write(flows, {"R": canvas}, {"R": {"deadlineMs": 6000}})
    flows.project.beat()
    worker = flows.project.worker()
    (run,) = flows.start("R")
    pids = {flows.started("one"), flows.started("two")}
    row = flows.ended(run)
    assert row.state == "FAILED"
    assert "deadline" in row.error
    # Running ones are terminated, unstarted ones never start.
    flows.project.wait_for(
        lambda: flows.states(run) == {"CANCELLED": 4}, what=f"ended tasks: {flows.states(run)}"
    )
    wait_for(lambda: not pids & {child.pid for child in worker.children()}, 20)
    worker.wait_log("does not run: its Run is FAILED", 20)
    assert not (flows.project.folder / "three.started").exists()
    assert flows.notes() == []
    assert flows.run(run) == row


def test_a_cancelled_run_is_cancelled_as_a_whole(flows: Flows):
    write(flows, {"R": "gate.s() | note.s()"})
    worker = flows.project.worker()
    (run,) = flows.start("R")
    pid = flows.started()
    shown = flows.project.python(f"from proj import tsumugi; print(tsumugi.cancel({run!r}).state)")
    assert shown.split()[-1] == "CANCELLED"
    wait_for(lambda: pid not in {child.pid for child in worker.children()}, 20)
    flows.project.wait_for(lambda: flows.states(run) == {"CANCELLED": 2})
    assert flows.run(run).state == "CANCELLED"


@pytest.mark.parametrize("flows", ["redis", "embedded"], indirect=True)
def test_a_worker_killed_in_the_middle_of_a_chord(flows: Flows):
    write(flows, {"R": "chord([gate.s('one'), gate.s('two'), add.s(1)], note.s())"})
    flows.project.beat()
    worker = flows.project.worker()
    (run,) = flows.start("R")
    flows.started("one")
    flows.started("two")
    worker.kill()
    flows.project.worker()
    row = flows.ended(run, 60)
    assert row.state == "FAILED"
    assert "vanished" in row.error
    assert "NOT_EXECUTED" in flows.states(run)
    assert flows.notes() == []


def test_a_lost_child_fails_its_task_and_the_rest_ends(flows: Flows):
    write(flows, {"R": "group(gate.s(), add.s(1), add.s(2))"})
    worker = flows.project.worker()
    (run,) = flows.start("R")
    pid = flows.started()
    (child,) = [each for each in worker.children() if each.pid == pid]
    child.send_signal(signal.SIGKILL)
    row = flows.ended(run)
    assert (row.state, flows.states(run)) == ("FAILED", {"FAILED": 1, "COMPLETED": 2})
    assert "proj.gate" in row.error
    assert "WorkerLost" in row.error


def test_c244_a_revoked_member_ends_the_run_and_the_next_occurrence_starts(flows: Flows):
    """C244."""
    canvas = "chord([gate.s(), add.s(1).set(task_id='victim')], note.s())"
    # One process, and room to receive more than it runs: also what revokes one of them.
    write(flows, {"R": canvas}, {"R": {"everyMs": 1000}}, worker_prefetch_multiplier=8)
    worker = flows.project.worker("-c", "1")
    (run,) = flows.start("R")
    flows.started()
    flows.project.python("from proj import app; app.control.revoke('victim')")
    worker.wait_log("flagged as revoked: victim")
    flows.open()
    row = flows.ended(run, 60)
    assert (row.state, flows.states(run)) == (
        "CANCELLED",
        {"COMPLETED": 1, "CANCELLED": 1, "NOT_EXECUTED": 1},
    )
    assert "revoked" in row.error
    flows.project.beat()
    regular = "SELECT id FROM tsumugi_occurrence WHERE manual = 0"
    flows.project.wait_for(lambda: flows.rows(regular), what="the next occurrence")


def test_messages_that_the_broker_lost_end_the_run(flows: Flows):
    write(flows, {"R": "add.s(1) | add.s(2)", "Q": "add.s(1)"})
    (run,) = flows.start("R")
    assert flows.states(run) == {"QUEUED": 1, "SCHEDULED": 1}
    flows.project.python("from proj import app; app.control.purge()")
    flows.project.worker()
    flows.project.beat()
    row = flows.ended(run, 60)
    assert row.state == "FAILED"
    assert "gone from the broker" in row.error
    assert flows.states(run) == {"FAILED": 1, "NOT_EXECUTED": 1}


def test_messages_that_come_twice_run_once(flows: Flows):
    write(flows, {"R": "group(note.s(), note.s()) | add.s()"})
    (run,) = flows.start("R")
    again = f"""
        from proj import app, tsumugi
        from tsumugi_celery.flows.canvas import restore
        from sqlalchemy import create_engine, text
        with create_engine({flows.database!r}).connect() as connection:
            body = connection.execute(text("SELECT body FROM tsumugi_occurrence")).scalar()
        restore(body).signature(app).apply_async(root_id={run!r})
    """
    flows.project.python(again)
    worker = flows.project.worker()
    row = flows.ended(run)
    assert (row.state, flows.states(run)) == ("COMPLETED", {"COMPLETED": 3})
    worker.wait_log("does not run", 20)
    assert flows.notes() == ["note", "note"]


def test_a_child_lost_after_its_result_was_stored(flows: Flows):
    """Celery tells nobody of it; what the task ended in is in the result backend."""
    more = """
        from celery import signals

        @signals.task_success.connect
        def lose(sender=None, **_kwargs):
            if sender.name == "proj.gate": os.kill(os.getpid(), signal.SIGKILL)
    """
    write(flows, {"R": "gate.si() | note.si()"}, more=more)
    flows.project.worker()
    (run,) = flows.start("R")
    flows.started()
    flows.open()
    row = flows.ended(run, 60)
    assert (row.state, flows.states(run)) == ("COMPLETED", {"COMPLETED": 2})
