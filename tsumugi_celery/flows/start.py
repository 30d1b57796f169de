"""The start of a Run: build, write down, send, settle.

The canvas and its tasks are in the ledger before the first message is out. A start that was
interrupted is repeated with the same canvas under the same ids, where that is without harm; else
the Run is FAILED (decision 0071).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from tsumugi_celery.core import states
from tsumugi_celery.core.errors import DispatchError
from tsumugi_celery.flows.canvas import Canvas, prepare
from tsumugi_celery.flows.end import break_off
from tsumugi_celery.flows.publishing import Start, starting
from tsumugi_celery.ledger import occurrences, run_tasks
from tsumugi_celery.ledger.schema import occurrence, run_task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from celery import Celery
    from sqlalchemy import Connection

    from tsumugi_celery.definitions.model import Definition

#: Celery's canvas keeps state in its signatures and results: one Run is sent at a time.
_sending = threading.Lock()


def build(app: Celery, definition: Definition, run_id: str, given: Any) -> Canvas:
    """Call the builder of a flow; user code runs here, for as long as it likes.

    Args:
        app: the Celery app.
        definition: of the schedule; its kind is `flow`.
        run_id: the id of the Run.
        given: the input.

    Raises:
        DispatchError: what the builder returned cannot be started.
        Exception: whatever the builder raises.
    """
    if definition.flow is None:
        raise DispatchError(f"{definition.name!r} is no flow that this process defines")
    made = definition.flow(given)
    return prepare(app, definition.target, run_id, made, definition.remote_tasks)


def record(
    connection: Connection,
    run_id: str,
    canvas: Canvas,
    *,
    node_id: str,
    now: int,
    deadline_ms: int | None,
) -> bool:
    """Write down a canvas before it is sent; on a repeated start it is there already.

    Args:
        connection: a transaction that writes.
        run_id: the Run, claimed by this node.
        canvas: what is to be sent.
        node_id: this node.
        now: epoch ms.
        deadline_ms: how long the Run may take, counted from its first start.

    Returns:
        Whether it may be sent: False if another node took the claim over, or it was cancelled.
    """
    deadline = None if deadline_ms is None else now + deadline_ms
    mine = (occurrence.c.state == states.CLAIMED) & (occurrence.c.claimed_by == node_id)
    result = connection.execute(
        update(occurrence)
        .where(occurrence.c.id == run_id, mine)
        .values(body=canvas.text, expires_at=func.coalesce(occurrence.c.expires_at, deadline))
    )
    if not result.rowcount:
        return False
    run_tasks.plan(
        connection,
        run_id,
        [
            {"task_id": each.task_id, "name": each.name, "position": each.position}
            for each in canvas.planned
        ],
    )
    return True


def send(
    app: Celery, canvas: Canvas, start: Start, producer: Any, *, again: bool
) -> Sequence[Mapping[str, Any]]:
    """Send the first messages of a Run.

    Args:
        app: the Celery app.
        canvas: what is sent; it is not changed.
        start: the Run.
        producer: for those messages that Celery lets choose; chains and chords take one of the
            app's own.
        again: whether an earlier try may have sent some of it.

    Returns:
        Rows of the messages that went out.

    Raises:
        DispatchError: an earlier try may have sent some of it, and a second one would do harm.
        Exception: what the broker raises.
    """
    if again and not canvas.repeatable:
        raise DispatchError(
            "its start was interrupted between the first and the last message, and its canvas "
            "cannot be sent twice: it begins with a chord inside of another part"
        )
    if not canvas.planned:
        return ()
    with _sending, starting(start):
        canvas.signature(app).apply_async(root_id=start.run_id, producer=producer)
    return start.sent


def settle(
    connection: Connection,
    run_id: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    node_id: str,
    at: int,
) -> None:
    """Note that all first messages of a Run are out: it is RUNNING, if nobody was ahead.

    Args:
        connection: a transaction that writes.
        run_id: the Run.
        rows: its messages.
        node_id: this node; a claim that another one took over is not touched.
        at: when they were sent, epoch ms.
    """
    mine = (occurrence.c.state == states.CLAIMED) & (occurrence.c.claimed_by == node_id)
    known = set(
        connection.execute(
            select(run_task.c.task_id).where(run_task.c.run_id == run_id, run_task.c.sent == 0)
        ).scalars()
    )
    run_tasks.sent_first(connection, run_id, [row for row in rows if row["task_id"] in known])
    for row in rows:
        if row["task_id"] not in known:
            run_tasks.sent(connection, run_id, row)
    occurrences.move(
        connection,
        run_id,
        states.RUNNING,
        mine,
        fired_at=func.coalesce(occurrence.c.fired_at, at),
        started_at=func.coalesce(occurrence.c.started_at, at),
    )


def begun(connection: Connection, run_id: str) -> bool:
    """Return whether a task of a Run was started."""
    query = select(run_task.c.task_id).where(run_task.c.run_id == run_id, run_task.c.turn > 0)
    return connection.execute(query.limit(1)).first() is not None


def fail(connection: Connection, run_id: str, error: str, *, node_id: str, at: int) -> bool:
    """Note that a start failed after tasks of it had started: the Run is FAILED.

    Returns:
        False where none had: then it is an occurrence that was not executed.
    """
    query = select(occurrence.c.id).where(
        occurrence.c.id == run_id, occurrence.c.claimed_by == node_id
    )
    if connection.execute(query).first() is None or not begun(connection, run_id):
        return False
    break_off(connection, run_id, states.FAILED, error, at)
    return True


def forget_tasks(connection: Connection, run_id: str, error: str, *, at: int) -> None:
    """Note that the tasks of a Run that was not executed will not be either."""
    waiting = (states.SCHEDULED, states.QUEUED)
    run_tasks.close(connection, run_id, states.NOT_EXECUTED, waiting, ended_at=at, error=error)
