"""The steps of a Run in the ledger, on every database; its tree and its picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest
from celery import chain, chord, group
from sqlalchemy import insert

from tests.flows.running import small_app, task_row
from tsumugi_celery.flows.canvas import Canvas, prepare
from tsumugi_celery.flows.end import IGNORED, break_off, finish_if_done
from tsumugi_celery.flows.picture import MOST, picture
from tsumugi_celery.flows.start import begun, fail, record, settle
from tsumugi_celery.flows.tree import Branch, Progress, RunTree, run_progress, run_tree
from tsumugi_celery.ledger import occurrences, run_tasks, runs
from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import occurrence

RUN, NODE = "proj.nightly-1000", "beat"


EVERY_DATABASE = pytest.mark.parametrize("ledger", ["sqlite", "postgres", "mariadb"], indirect=True)


@pytest.fixture
def ledger(request) -> Iterator[Ledger]:
    kind = getattr(request, "param", "sqlite")
    made = Ledger(request.getfixturevalue(f"{kind}_database").url)
    made.open()
    claim(made, RUN)
    yield made
    made.close()


def claim(ledger: Ledger, run_id: str, **values) -> None:
    row = {
        "id": run_id,
        "schedule_id": 1,
        "namespace": "proj",
        "scheduled_at": len(run_id) * 7 + hash(run_id) % 1000,
        "kind": "flow",
        "state": "CLAIMED",
        "target": "R",
        "guarantee": "at-least-once",
        "claimed_by": NODE,
    }
    with ledger.begin() as connection:
        connection.execute(insert(occurrence).values(**{**row, **values}))


def canvas_of(make) -> Canvas:
    app = small_app()
    return prepare(app, "R", RUN, make(app.tasks["proj.add"].s))


class Play:
    """A Run, played step by step."""

    def __init__(self, ledger: Ledger, make) -> None:
        self.ledger, self.canvas = ledger, canvas_of(make)
        self.ids = [each.task_id for each in self.canvas.planned]
        assert ledger.transact(self._record)

    def _record(self, connection):
        return record(connection, RUN, self.canvas, node_id=NODE, now=1, deadline_ms=100)

    def settle(self, *sent: int) -> None:
        rows = [task_row(self.ids[index], parent_id=None) for index in sent]
        self.ledger.transact(lambda c: settle(c, RUN, rows, node_id=NODE, at=2))

    def send(self, index: int, turn: int = 1) -> None:
        row = task_row(self.ids[index], sent=turn)
        self.ledger.transact(lambda c: run_tasks.sent(c, RUN, row))

    def start(self, index: int, turn: int = 1) -> bool:
        with self.ledger.autocommit() as connection:
            return run_tasks.start(connection, RUN, started(self.ids[index], turn))

    def end(self, index: int, state: str = "COMPLETED", turn: int = 1, error=None) -> str | None:
        task = self.ids[index]
        values = {"turn": turn, "ended_at": 9, "error": error}
        self.ledger.transact(lambda c: run_tasks.end(c, RUN, task, state, **values))
        return self.ledger.transact(lambda c: finish_if_done(c, RUN, 10))

    @property
    def run(self):
        with self.ledger.read() as connection:
            return occurrences.get(connection, RUN)

    @property
    def states(self) -> list[str]:
        with self.ledger.read() as connection:
            return [row.state for row in run_tasks.of_run(connection, RUN)]


def started(task_id: str, turn: int = 1) -> dict:
    return {
        "task_id": task_id,
        "name": "proj.add",
        "parent_id": None,
        "internal": False,
        "turn": turn,
        "redelivers": False,
        "started_at": 5,
        "worker": "w",
        "node_id": "n",
        "pid": 7,
    }


def test_a_run_that_completes(ledger):
    play = Play(ledger, lambda s: s(1) | s(2))
    assert play.start(0)  # a worker may be faster than the beat
    assert play.end(0) is None
    play.send(1)
    play.settle(0)
    assert (play.run.state, play.run.started_at, play.run.expires_at) == ("RUNNING", 2, 101)
    assert play.states == ["COMPLETED", "QUEUED"]
    assert play.start(1)
    assert play.end(1) == "COMPLETED"
    assert (play.run.state, play.run.ended_at, play.run.error) == ("COMPLETED", 10, None)
    assert play.end(1) is None


def test_no_task_is_left_before_the_start_is_settled(ledger):
    play = Play(ledger, lambda s: group(s(1), s(2)))
    for index in (0, 1):
        assert play.start(index)
        assert play.end(index) is None
    play.settle(0, 1)
    with ledger.read() as connection:
        assert runs.without_tasks_left(connection, "proj", limit=5) == [RUN]
        assert runs.without_tasks_left(connection, "other", limit=5) == []
    assert ledger.transact(lambda c: finish_if_done(c, RUN, 10)) == "COMPLETED"


@EVERY_DATABASE
def test_a_message_starts_once_and_later_ones_outrank_it(ledger):
    play = Play(ledger, lambda s: s(1))
    play.settle(0)
    assert play.start(0)
    assert not play.start(0)
    play.send(0, turn=2)  # a retry goes out before the first try has ended
    assert play.end(0, "FAILED", turn=1) is None
    assert play.states == ["QUEUED"]
    assert not play.start(0, turn=1)
    assert play.start(0, turn=2)
    assert play.end(0, turn=1) is None
    assert play.end(0, turn=2) == "COMPLETED"
    assert not play.start(0, turn=3)


@EVERY_DATABASE
def test_nothing_starts_once_the_run_has_ended(ledger):
    play = Play(ledger, lambda s: group(s(1), s(2)) | s())
    play.settle(0, 1)
    assert play.start(0)
    running = ledger.transact(lambda c: break_off(c, RUN, "FAILED", "late", 20))
    assert running == [play.ids[0]]
    assert not play.start(1)
    assert ledger.transact(lambda c: break_off(c, RUN, "CANCELLED", "again", 21)) is None
    assert play.end(0) is None
    assert (play.run.state, play.run.error, play.run.ended_at) == ("FAILED", "late", 20)
    assert play.states == ["COMPLETED", "CANCELLED", "CANCELLED"]
    row = started("unknown")
    assert not ledger.transact(lambda c: run_tasks.start_unknown(c, RUN, row))
    ledger.transact(lambda c: run_tasks.sent(c, RUN, task_row("unknown")))
    assert len(play.states) == 3


@EVERY_DATABASE
def test_tasks_that_only_show_up_are_waited_for(ledger):
    play = Play(ledger, lambda s: s(1))
    play.settle(0)
    assert play.start(0)
    ledger.transact(lambda c: run_tasks.sent(c, RUN, task_row("extra", parent_id=play.ids[0])))
    unknown = started("stranger")
    assert ledger.transact(lambda c: run_tasks.start_unknown(c, RUN, unknown))
    assert not ledger.transact(lambda c: run_tasks.start_unknown(c, RUN, unknown))
    assert play.end(0) is None
    play.ids += ["extra", "stranger"]
    assert play.start(1)
    assert play.end(1) is None
    assert play.end(2) == "COMPLETED"
    with ledger.read() as connection:
        tree = run_tree(connection, RUN)
        assert run_progress(connection, [RUN, "none"]) == {
            RUN: Progress(3, 3, {"COMPLETED": 3}),
            "none": Progress(),
        }
    assert tree is not None
    assert tree.root is not None
    assert [each.task_id for each in tree.root.children] == ["extra"]
    assert [each.task_id for each in tree.extras] == ["stranger"]


@pytest.mark.parametrize(
    ("ends", "state", "told"),
    [
        ([("FAILED", "boom"), ("COMPLETED", None)], "FAILED", "boom"),
        ([("FAILED", "boom"), ("FAILED", "bang")], "FAILED", "(and 1 more)"),
        ([("CANCELLED", "revoked"), ("FAILED", "boom")], "FAILED", "boom"),
        ([("CANCELLED", "revoked"), ("COMPLETED", None)], "CANCELLED", "revoked"),
        ([("COMPLETED", IGNORED), ("COMPLETED", None)], "COMPLETED", None),
        ([("COMPLETED", None), ("COMPLETED", None)], "FAILED", "was never sent"),
    ],
)
def test_the_state_a_run_ends_in(ledger, ends, state, told):
    play = Play(ledger, lambda s: chord([s(1), s(2)], s()))
    play.settle(0, 1)
    for index, (end, error) in enumerate(ends):
        assert play.start(index)
        play.end(index, end, error=error)
    assert play.run.state == state
    assert (play.run.error is None) if told is None else (told in play.run.error)
    assert play.states[2] == "NOT_EXECUTED"


def test_a_start_is_recorded_by_who_has_claimed_it_alone_and_once(ledger):
    play = Play(ledger, lambda s: group(s(1), s(2)))
    canvas = play.canvas
    later = {"now": 50, "deadline_ms": 100}
    assert not ledger.transact(lambda c: record(c, RUN, canvas, node_id="other", **later))
    assert ledger.transact(lambda c: record(c, RUN, canvas, node_id=NODE, **later))
    assert play.run.expires_at == 101
    assert play.states == ["SCHEDULED", "SCHEDULED"]
    ledger.transact(lambda c: settle(c, RUN, [], node_id="other", at=2))
    assert play.run.state == "CLAIMED"


def test_a_start_that_fails_after_a_task_has_begun(ledger):
    play = Play(ledger, lambda s: group(s(1), s(2)))
    assert not ledger.transact(lambda c: fail(c, RUN, "no broker", node_id=NODE, at=3))
    assert play.run.state == "CLAIMED"
    assert play.start(0)
    assert ledger.transact(lambda c: begun(c, RUN))
    assert not ledger.transact(lambda c: fail(c, RUN, "no broker", node_id="other", at=3))
    assert ledger.transact(lambda c: fail(c, RUN, "no broker", node_id=NODE, at=3))
    assert (play.run.state, play.run.error) == ("FAILED", "no broker")


@EVERY_DATABASE
def test_what_chores_ask_for(ledger):
    play = Play(ledger, lambda s: group(s(1), s(2), s(3)))
    play.settle(0, 1)
    assert play.start(0)
    with ledger.read() as connection:
        assert [row.id for row in runs.overdue(connection, "proj", now=101)] == [RUN]
        assert runs.overdue(connection, "proj", now=100) == []
        assert [r.task_id for r in runs.running(connection, "proj", limit=9)] == [play.ids[0]]
        assert [r.task_id for r in runs.stale(connection, "proj", before=99, limit=9)] == [
            play.ids[1]
        ]
        assert runs.stale(connection, "proj", before=3, limit=9) == []
        assert run_tasks.runs_of_task(connection, play.ids[0]) == [RUN]
    assert ledger.transact(lambda c: run_tasks.requeue(c, RUN, play.ids[0], turn=1, due_at=500))
    assert play.start(0)  # the same message, delivered again


@EVERY_DATABASE
def test_a_job_is_no_run(ledger):
    claim(ledger, "proj.job-1", kind="job", state="RUNNING", scheduled_at=1)
    row = started("child")
    assert not ledger.transact(lambda c: run_tasks.start_unknown(c, "proj.job-1", row))
    with ledger.read() as connection:
        assert run_tree(connection, "proj.job-1") is None
        assert run_tree(connection, "proj.none-1") is None


def test_the_tree_has_the_shape_of_the_canvas(ledger):
    play = Play(
        ledger,
        lambda s: (
            chain(s(1), chord([s(2), chain(s(3), s(4))], s())).on_error(s()) | s(5).set(link=[s(6)])
        ),
    )
    play.settle(0)
    assert play.start(0)
    with ledger.read() as connection:
        tree = run_tree(connection, RUN)

    def shape(branch):
        label = f"{branch.kind}/{branch.role}"
        return (label, [shape(child) for child in branch.children]) if branch.children else label

    assert tree is not None
    assert tree.root is not None
    assert tree.progress == Progress(7, 0, {"RUNNING": 1, "SCHEDULED": 6})
    assert shape(tree.root)[0] == "chain/root"
    assert "chord/step" in str(shape(tree.root))
    assert "task/link" in str(shape(tree.root))
    first = tree.root.children[0]
    assert (first.state, first.worker, first.started_at, first.name) == (
        "RUNNING",
        "w",
        5,
        "proj.add",
    )


def branch(name: str, **values) -> Branch:
    return Branch("task", "member", task_id="t", name=name, **{"state": "FAILED", **values})


def test_the_picture_is_escaped_and_well_formed():
    evil = branch("<script>alert('&')</script>", error='"><img src=x onerror=alert(1)>')
    tree = RunTree(
        "proj.<b>-1", "FAILED", None, Progress(1, 1), Branch("group", "root", (evil, evil))
    )
    drawn = picture(tree, link=lambda task: f'/task/{task}?a="b"&c=<d>')
    root = ET.fromstring(drawn)
    assert root.tag.endswith("svg")
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert len(root.findall(".//{*}a")) == 2
    assert "<a" not in picture(tree)


def test_pictures_of_nothing_and_of_very_much():
    nothing = RunTree("r", "COMPLETED", None, Progress(), None)
    assert "no tasks" in picture(nothing)
    many = Branch("group", "root", tuple(branch(str(n)) for n in range(MOST + 50)))
    drawn = picture(
        RunTree(run_id="r", state="RUNNING", error=None, progress=Progress(), root=many)
    )
    assert "and 51 more" in drawn
    ET.fromstring(drawn)
