"""Runs started by a beat: 'skip', beats killed in the middle of a start, builders that fail."""

from __future__ import annotations

import pytest

from tests.flows.running import Flows

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

KILLER = """
    from celery import signals

    sent = []

    @signals.before_task_publish.connect
    def kill(**message):
        sent.append(1)
        if len(sent) == 3 and os.path.exists("kill"):
            os.remove("kill")
            os.kill(os.getpid(), signal.SIGKILL)
"""

FIRST = "SELECT * FROM tsumugi_occurrence ORDER BY scheduled_at LIMIT 1"


@pytest.fixture
def flows(project, filesystem_broker, sqlite_database) -> Flows:
    # Files, since a pipeline of Redis sends all messages of a group or none.
    return Flows(project, sqlite_database.url, filesystem_broker)


def first_killed(flows: Flows, canvas: str):
    """Let a beat be killed before its third message; returns the row of the Run."""
    flows.write({"R": canvas}, more=KILLER, options={"R": {"everyMs": 1000}})
    (flows.project.folder / "kill").touch()
    beat = flows.project.beat()
    flows.project.wait_for(lambda: not beat.running, 40, what="the end of beat")
    (row,) = flows.rows(FIRST)
    assert row.state == "CLAIMED"
    return row


def test_c246_a_start_that_was_interrupted_is_completed(flows: Flows):
    """C246: the same Run, every task once."""
    run = first_killed(flows, "group([note.s(), note.s(), note.s(), note.s()]) | gate.si('end')")
    flows.project.worker()
    flows.project.wait_for(flows.notes, what="what was sent has run")
    assert flows.run(run.id).state == "CLAIMED"
    flows.project.beat()
    # The chord's header was sent in part by the first beat, and as a whole by the second.
    gate = "SELECT * FROM tsumugi_run_task WHERE name = 'proj.gate' AND state = 'RUNNING'"
    flows.project.wait_for(lambda: flows.rows(gate), 60, what="the chord's body runs")
    assert flows.notes() == ["note"] * 4
    assert [row.id for row in flows.rows(FIRST)] == [run.id]
    flows.open("end")
    assert flows.ended(run.id).state == "COMPLETED"
    assert flows.states(run.id) == {"COMPLETED": 5}


def test_c246_a_start_that_cannot_be_repeated_has_failed(flows: Flows):
    """C246: a chord inside of a group would get another random id; half of each is never whole."""
    canvas = "group(note.s(), chord([note.s(), note.s()], note.s()))"
    run = first_killed(flows, canvas)
    flows.project.worker()
    flows.project.wait_for(flows.notes, what="what was sent has run")
    flows.project.beat()
    row = flows.ended(run.id)
    assert row.state == "FAILED"
    assert "interrupted" in row.error
    assert set(flows.states(run.id)) <= {"COMPLETED", "CANCELLED"}


def test_skip_looks_at_the_previous_run(flows: Flows):
    options = {"R": {"everyMs": 1000}, "bad": {"everyMs": 1000}, "none": {"everyMs": 1000}}
    canvases = {"R": "add.s(given) | gate.s(args=())", "bad": "1 / 0", "none": "None"}
    canvases["R"] = "gate.si('gate')"
    flows.write(canvases, options=options)
    flows.project.worker()
    flows.project.beat()
    flows.started()
    skipped = "SELECT n_overlap FROM tsumugi_schedule WHERE name = 'R' AND n_overlap >= 2"
    flows.project.wait_for(lambda: flows.rows(skipped), what="occurrences skipped")
    runs = "SELECT * FROM tsumugi_occurrence WHERE target = 'R' ORDER BY scheduled_at"
    (run,) = flows.rows(runs)
    assert run.state == "RUNNING"
    flows.open()
    assert flows.ended(run.id).state == "COMPLETED"
    flows.project.wait_for(lambda: len(flows.rows(runs)) > 1, what="the next occurrence")
    failed = {
        row.target: row.error
        for row in flows.rows("SELECT * FROM tsumugi_occurrence WHERE cause = 'failure'")
    }
    assert "ZeroDivisionError" in failed["bad"]
    assert "returned None" in failed["none"]
    listed = "SELECT last_error FROM tsumugi_schedule WHERE name = 'none'"
    assert "returned None" in flows.rows(listed)[0].last_error
