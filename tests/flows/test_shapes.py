"""Every shape of canvas, with a failure at every position, ends in the state it should."""

from __future__ import annotations

import pytest

from tests.flows.running import Flows

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

DONE, FAILED, CANCELLED, NOT = "COMPLETED", "FAILED", "CANCELLED", "NOT_EXECUTED"

# name: (canvas, state of the Run, states of its tasks, what its error names)
SHAPES = {
    "task": ("add.s(1, 2)", DONE, {DONE: 1}, None),
    "task-fails": ("boom.s()", FAILED, {FAILED: 1}, "proj.boom"),
    "chain": ("add.s(1) | add.s(2) | add.s(3)", DONE, {DONE: 3}, None),
    "chain-1": ("boom.s() | add.s() | add.s()", FAILED, {FAILED: 1, NOT: 2}, "ValueError: boom"),
    "chain-2": ("add.s(1) | boom.s() | add.s()", FAILED, {DONE: 1, FAILED: 1, NOT: 1}, "boom"),
    "chain-3": ("add.s(1) | add.s(1) | boom.s()", FAILED, {DONE: 2, FAILED: 1}, "boom"),
    "immutable": ("add.si(1) | add.si(2)", DONE, {DONE: 2}, None),
    "group": ("group(add.s(n) for n in range(4))", DONE, {DONE: 4}, None),
    "group-1": ("group(boom.s(), add.s(1), add.s(2))", FAILED, {FAILED: 1, DONE: 2}, "boom"),
    "group-3": ("group(add.s(1), add.s(2), boom.s())", FAILED, {FAILED: 1, DONE: 2}, "boom"),
    "group-all": ("group(boom.s(), boom.s())", FAILED, {FAILED: 2}, "(and 1 more)"),
    "group-of-one": ("group(add.s(1))", DONE, {DONE: 1}, None),
    "group-of-one-then": ("chain(group([add.s(1)]), add.s(2))", DONE, {DONE: 2}, None),
    "empty-group": ("group([])", DONE, {}, None),
    "empty-chain": ("chain()", DONE, {}, None),
    "same-twice": ("(lambda one: group([one, one, one]))(add.s(1))", DONE, {DONE: 3}, None),
    "chord": ("chord([add.s(1), add.s(2)], add.s())", DONE, {DONE: 3}, None),
    "chord-header": (
        "chord([add.s(1), boom.s()], add.s())",
        FAILED,
        {DONE: 1, FAILED: 1, NOT: 1},
        "boom",
    ),
    "chord-body": ("chord([add.s(1), add.s(2)], boom.s())", FAILED, {DONE: 2, FAILED: 1}, "boom"),
    "chord-empty": ("chord([], add.s())", DONE, {DONE: 1}, None),
    "chord-of-chains": (
        "chord([add.s(1) | add.s(2), add.s(3) | add.s(4)], add.s())",
        DONE,
        {DONE: 5},
        None,
    ),
    "chord-of-chains-fails": (
        "chord([add.s(1) | boom.s() | add.s(), add.s(3) | add.s(4)], add.s())",
        FAILED,
        {DONE: 3, FAILED: 1, NOT: 2},
        "boom",
    ),
    "chord-then-chain": (
        "chord([add.s(1), add.s(2)], add.s() | add.s(1)) | add.s(2)",
        DONE,
        {DONE: 5},
        None,
    ),
    "group-then": ("add.s(1) | group(add.s(1), add.s(2)) | add.s()", DONE, {DONE: 4}, None),
    "group-then-fails": (
        "add.s(1) | group(add.s(1), boom.s()) | add.s() | add.s(1)",
        FAILED,
        {DONE: 2, FAILED: 1, NOT: 2},
        "boom",
    ),
    "nested": (
        "group(chain(add.s(1), group(add.s(2), add.s(3))), chord([add.s(1)], add.s()))",
        DONE,
        {DONE: 5},
        None,
    ),
    "chords-in-chord": (
        "chord([chord([add.s(1), add.s(2)], add.s()), add.s(3)], add.s())",
        DONE,
        {DONE: 5},
        None,
    ),
    "link": ("add.s(1).set(link=[note.si(word='linked')])", DONE, {DONE: 2}, None),
    "link-fails": ("add.s(1).set(link=boom.s())", FAILED, {DONE: 1, FAILED: 1}, "boom"),
    "link-not-run": ("boom.s().set(link=note.si())", FAILED, {FAILED: 1, NOT: 1}, "boom"),
    "errback": (
        "boom.s().set(link_error=errback.s()) | add.s()",
        FAILED,
        {FAILED: 1, DONE: 1, NOT: 1},
        "proj.boom",
    ),
    "retry": ("twice.s() | add.s()", DONE, {DONE: 2}, None),
    "replace": ("add.s(1) | replaced.si('task') | add.s()", DONE, {DONE: 3}, None),
    "replace-chain": ("replaced.si('chain') | add.s()", DONE, {DONE: 3}, None),
    "replace-group": ("replaced.si('group') | add.s()", DONE, {DONE: 4}, None),
    "replace-fails": ("replaced.si('boom') | add.s()", FAILED, {FAILED: 1, NOT: 1}, "boom"),
    "ignore": ("ignoring.s() | add.s()", DONE, {DONE: 1, NOT: 1}, None),
    "reject": ("rejecting.s() | add.s()", FAILED, {FAILED: 1, NOT: 1}, "Reject"),
    "spawn": ("spawn.s() | add.s()", DONE, {DONE: 3}, None),
    "map": ("add.map([(1, 2), (3, 4)])", DONE, {DONE: 1}, None),
    "chunks": ("add.chunks([(1, 2), (3, 4), (5, 6)], 2)", DONE, {DONE: 2}, None),
    "expired": (
        "add.s(1) | add.s(1).set(expires=-1) | add.s(2)",
        CANCELLED,
        {DONE: 1, CANCELLED: 1, NOT: 1},
        "expired",
    ),
}


@pytest.fixture(params=["redis", "embedded"])
def flows(request, project, sqlite_database) -> Flows:
    """Redis for all; or the embedded default: messages in files, results and ledger in SQLite."""
    kind = "redis" if request.param == "redis" else "filesystem"
    broker = request.getfixturevalue(f"{kind}_broker")
    made = Flows(project, sqlite_database.url, broker)
    made.write({name: shape[0] for name, shape in SHAPES.items()})
    return made


def test_every_shape_comes_to_its_true_end(flows: Flows):
    flows.project.worker()
    ids = dict(zip(SHAPES, flows.start(*SHAPES), strict=True))
    wrong = []
    for name, (_, state, tasks, error) in SHAPES.items():
        row = flows.ended(ids[name], 60)
        told = row.error is None if error is None else error in (row.error or "")
        if (row.state, flows.states(ids[name]), told) != (state, tasks, True):
            seen = [(each.name, each.state, each.error) for each in flows.tasks(ids[name])]
            wrong.append((name, row.state, row.error, seen))
        if row.started_at is None or row.ended_at is None or row.started_at > row.ended_at:
            wrong.append((name, "times", row.started_at, row.ended_at))
    assert wrong == []
    assert sorted(flows.notes()) == ["errback", "linked", "spawned"]
