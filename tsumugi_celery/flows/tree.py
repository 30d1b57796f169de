"""What people see of a Run: its progress, and the tree of its tasks.

The tree is the canvas as it was built, with each task's row laid over it. Tasks that only showed up
while the Run was under way stand below the task that sent them: errbacks, what a `replace` put in
place, and what a task started by itself.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core import states
from tsumugi_celery.flows.canvas import unpack
from tsumugi_celery.flows.names import NESTING
from tsumugi_celery.flows.shape import callbacks, kind_of, members
from tsumugi_celery.ledger import occurrences, run_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

#: How deep tasks that were sent by tasks that were sent by tasks… are followed in one branch.
DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a Run is.

    Attributes:
        known: tasks known by now; more may show up while the Run goes on.
        ended: those of them that have ended, in whatever way.
        by_state: how many are in which state.
    """

    known: int = 0
    ended: int = 0
    by_state: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of the tree: a task, or a chain, group or chord of nodes.

    Attributes:
        kind: ``task``, ``chain``, ``group`` or ``chord``.
        role: its place in its parent: ``root``, ``step`` (of a chain), ``member`` (of a group),
            ``header`` or ``body`` (of a chord), ``link`` (a callback), ``extra`` (sent while the
            Run was under way).
        children: below it, in order.
        task_id: the Celery task id; None for all but tasks, as are the following.
        name: of the task.
        state: SCHEDULED (waits for the tasks before it), QUEUED, RUNNING, COMPLETED, FAILED,
            CANCELLED or NOT_EXECUTED (the Run ended before its turn).
        worker: where it ran last.
        queued_at: when its message was sent last, epoch ms; the following likewise.
        started_at: when it started last.
        ended_at: when it ended.
        error: why it failed or was cancelled.
        retries: how often it was tried again.
    """

    kind: str
    role: str
    children: tuple[Branch, ...] = ()
    task_id: str | None = None
    name: str | None = None
    state: str | None = None
    worker: str | None = None
    queued_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None
    error: str | None = None
    retries: int = 0


@dataclass(frozen=True, slots=True)
class RunTree:
    """A Run with all its tasks.

    Attributes:
        run_id: the Run's id, the root id of its tasks.
        state: of the Run.
        error: why it FAILED or was CANCELLED.
        progress: how far it is.
        root: the canvas; None before it was built, and for an empty one.
        extras: tasks whose sender is not in the tree.
    """

    run_id: str
    state: str
    error: str | None
    progress: Progress
    root: Branch | None
    extras: tuple[Branch, ...] = ()


def run_progress(connection: Connection, run_ids: Sequence[str]) -> dict[str, Progress]:
    """Return how far each of some Runs is, by one statement."""
    return {
        run_id: _progress(by_state)
        for run_id, by_state in run_tasks.counts(connection, run_ids).items()
    }


def run_tree(connection: Connection, run_id: str) -> RunTree | None:
    """Return a Run with the tree of its tasks.

    Args:
        connection: any connection.
        run_id: an occurrence id.

    Returns:
        None if there is no such occurrence, or if it is a job.
    """
    row = occurrences.get(connection, run_id)
    if row is None or row.kind != "flow":
        return None
    tasks = [each for each in run_tasks.of_run(connection, run_id) if not each.internal]
    by_state: dict[str, int] = defaultdict(int)
    for each in tasks:
        by_state[each.state] += 1
    root, extras = _Grower(tasks).grow(row.body)
    return RunTree(run_id, row.state, row.error, _progress(dict(by_state)), root, extras)


def _progress(by_state: dict[str, int]) -> Progress:
    ended = sum(count for state, count in by_state.items() if state in states.FINISHED)
    return Progress(sum(by_state.values()), ended, by_state)


class _Grower:
    """Lays the rows of tasks over the canvas."""

    def __init__(self, rows: Sequence[Row[Any]]) -> None:
        self.rows = {row.task_id: row for row in rows}
        self.sent_by: dict[str, list[Row[Any]]] = defaultdict(list)
        for row in rows:
            if row.position is None and row.parent_id is not None:
                self.sent_by[row.parent_id].append(row)
        self.used: set[str] = set()

    def grow(self, body: str | None) -> tuple[Branch | None, tuple[Branch, ...]]:
        root = self._canvas(unpack(body), "root") if body else None
        rest = [row for row in self.rows.values() if row.task_id not in self.used]
        extras = tuple(self._task(row, "extra") for row in rest if row.task_id not in self.used)
        return (root if self.rows else None), extras

    def _canvas(self, node: dict[str, Any], role: str) -> Branch:
        kind = kind_of(node)
        below = [self._canvas(part, "link") for part in callbacks(node)]
        if kind == "task":
            row = self.rows.get(node["options"]["task_id"])
            if row is None:
                return Branch(kind, role, tuple(below), node["options"]["task_id"], node["task"])
            return self._task(row, role, below)
        name = {"chain": "step", "group": "member", "chord": "header"}[kind]
        parts = [self._canvas(part, name) for part in members(node)]
        if kind == "chord":
            parts.append(self._canvas(node["kwargs"]["body"], "body"))
        return Branch(kind, role, (*parts, *below))

    def _task(
        self, row: Row[Any], role: str, below: Sequence[Branch] = (), depth: int = 0
    ) -> Branch:
        self.used.add(row.task_id)
        # What lies deeper begins a branch of its own among the extras.
        sent = self.sent_by[row.task_id] if depth < DEEPEST else ()
        extras = [
            self._task(each, "extra", depth=depth + 1)
            for each in sent
            if each.task_id not in self.used
        ]
        return Branch(
            "task",
            role,
            (*below, *extras),
            row.task_id,
            row.name,
            row.state,
            row.worker,
            row.queued_at,
            row.started_at,
            row.ended_at,
            row.error,
            max(0, row.turn - 1) % NESTING,
        )
