"""The end of a Run: by its last task, by its deadline, or by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from tsumugi_celery.core import states
from tsumugi_celery.ledger import occurrences, run_tasks
from tsumugi_celery.ledger.schema import occurrence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

#: The error of a task that ended by raising Ignore: Celery starts nothing that was to follow it.
IGNORED = "it raised Ignore: what was to follow it is not started"


def finish_if_done(connection: Connection, run_id: str, now: int) -> str | None:
    """End a Run if its start is complete and no task of it is left.

    A task is written down as sent before the one that sends it ends, so "none left" is final.

    Args:
        connection: a transaction that writes.
        run_id: the Run.
        now: epoch ms.

    Returns:
        The state it ended in; None if it goes on, or had ended before.
    """
    if run_tasks.unfinished(connection, run_id):
        return None
    state = connection.execute(
        select(occurrence.c.state).where(occurrence.c.id == run_id)
    ).scalar_one_or_none()
    if state != states.RUNNING:
        return None
    state, error = outcome(run_tasks.of_run(connection, run_id))
    running = occurrence.c.state == states.RUNNING
    if not occurrences.move(connection, run_id, state, running, ended_at=now, error=error):
        return None
    run_tasks.close(
        connection,
        run_id,
        states.NOT_EXECUTED,
        (states.SCHEDULED,),
        ended_at=now,
        error="the Run ended before it was its turn",
    )
    return state


def outcome(rows: Sequence[Row[Any]]) -> tuple[str, str | None]:
    """Return the state of a Run all of whose tasks have ended, and why if not COMPLETED."""
    failed = [row for row in rows if row.state == states.FAILED]
    if failed:
        return states.FAILED, _told(min(failed, key=_end), failed)
    cancelled = [row for row in rows if row.state == states.CANCELLED]
    if cancelled:
        return states.CANCELLED, _told(min(cancelled, key=_end), cancelled)
    waiting = [row for row in rows if row.state == states.SCHEDULED]
    stopped = any(row.error == IGNORED for row in rows)
    if waiting and not stopped:
        first = waiting[0]
        return states.FAILED, (
            f"{first.name} [{first.task_id}] was never sent though nothing before it failed"
            f"{_others(waiting)}: the result backend has lost what it knew of a chord, or a worker "
            "ended between a task and its sequel"
        )
    return states.COMPLETED, None


def break_off(
    connection: Connection, run_id: str, state: str, why: str, now: int
) -> list[str] | None:
    """End a Run that goes on; tasks of it that have not started never will.

    Args:
        connection: a transaction that writes.
        run_id: the Run.
        state: FAILED or CANCELLED.
        why: the reason, for the Run and for its tasks.
        now: epoch ms.

    Returns:
        The ids of its tasks that are running; None if the Run had ended before.
    """
    live = occurrence.c.state.in_((*run_tasks.LIVE, states.SCHEDULED))
    if not occurrences.move(connection, run_id, state, live, ended_at=now, error=why):
        return None
    unstarted = (states.SCHEDULED, states.QUEUED)
    run_tasks.close(connection, run_id, states.CANCELLED, unstarted, ended_at=now, error=why)
    rows = run_tasks.of_run(connection, run_id)
    return [row.task_id for row in rows if row.state == states.RUNNING]


def _end(row: Row[Any]) -> int:
    return row.ended_at or 0


def _told(first: Row[Any], all_of_them: Sequence[Row[Any]]) -> str:
    return f"{first.name} [{first.task_id}]: {first.error}{_others(all_of_them)}"


def _others(rows: Sequence[Row[Any]]) -> str:
    return f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
