"""A Run with the tree of its tasks, for people (decision 0058)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tsumugi_celery.control import history
from tsumugi_celery.control.views import View
from tsumugi_celery.core.errors import UnknownOccurrence
from tsumugi_celery.flows.tree import run_tree

if TYPE_CHECKING:
    from tsumugi_celery.control.source import Source
    from tsumugi_celery.flows.tree import Branch


@dataclass(frozen=True, slots=True)
class BranchView(View):
    """A task of a Run, or a chain, group or chord of such.

    Attributes:
        shape: 'task', 'chain', 'group' or 'chord'.
        role: its place: root, step, member, header, body, link, or extra (sent under way).
        task_id: the Celery task id; None for all but tasks, as are those that follow.
        name: of the task.
        state: SCHEDULED waits for the tasks before it; NOT_EXECUTED: the Run ended before.
        worker: where it ran last.
        queued_at: when its message was sent last.
        started_at: when it started last.
        ended_at: when it ended.
        error: why it failed.
        retries: how often it was tried again.
        children: below it, in order.
    """

    shape: str
    role: str
    task_id: str | None
    name: str | None
    state: str | None
    worker: str | None
    queued_at: int | None
    started_at: int | None
    ended_at: int | None
    error: str | None
    retries: int
    children: tuple[BranchView, ...]


@dataclass(frozen=True, slots=True)
class RunView(View):
    """A Run.

    Attributes:
        id: the root id of its tasks.
        schedule: the name of its schedule.
        target: the flow as written.
        scheduled_at: the scheduled time.
        manual: whether it was triggered.
        state: its state.
        error: which task failed and why, or why it was cancelled.
        started_at: when it started.
        ended_at: when it ended.
        deadline_at: when it is broken off; None for no deadline.
        known: tasks known by now; more may show up.
        ended: those that have ended.
        tasks: the trees of its tasks: the canvas first, then those whose sender is not in it.
    """

    id: str
    schedule: str
    target: str | None
    scheduled_at: int
    manual: bool
    state: str
    error: str | None
    started_at: int | None
    ended_at: int | None
    deadline_at: int | None
    known: int
    ended: int
    tasks: tuple[BranchView, ...]


def run(source: Source, run_id: str) -> RunView:
    """Return a Run with its tasks.

    Raises:
        UnknownOccurrence: no occurrence of the namespace has this id, or it is a job.
    """
    with source.read() as connection:
        found = history.one(source, connection, run_id)
        tree = run_tree(connection, run_id)
    if tree is None:
        raise UnknownOccurrence(run_id)
    tops = (*([tree.root] if tree.root is not None else []), *tree.extras)
    return RunView(
        id=run_id,
        schedule=found.schedule,
        target=found.target,
        scheduled_at=found.scheduled_at,
        manual=found.manual,
        state=found.state,
        error=found.error,
        started_at=found.started_at,
        ended_at=found.ended_at,
        deadline_at=found.expires_at,
        known=tree.progress.known,
        ended=tree.progress.ended,
        tasks=tuple(_branch(each) for each in tops),
    )


def _branch(branch: Branch) -> BranchView:
    return BranchView(
        shape=branch.kind,
        role=branch.role,
        task_id=branch.task_id,
        name=branch.name,
        state=branch.state,
        worker=branch.worker,
        queued_at=branch.queued_at,
        started_at=branch.started_at,
        ended_at=branch.ended_at,
        error=branch.error,
        retries=branch.retries,
        children=tuple(_branch(each) for each in branch.children),
    )
