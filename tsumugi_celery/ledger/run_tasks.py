"""Rows of the tasks of Runs: planned, sent, started, ended, each step a compare-and-set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, exists, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from tsumugi_celery.core import states
from tsumugi_celery.ledger.schema import occurrence
from tsumugi_celery.ledger.schema import run_task as t

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

#: A message is out, or the task runs: the Run has not ended.
UNFINISHED = (states.QUEUED, states.RUNNING)
#: From these a task may (again) be sent or started.
OPEN = (states.SCHEDULED, *UNFINISHED)
#: A Run whose tasks may start: CLAIMED while its first messages are being sent.
LIVE = (states.CLAIMED, states.RUNNING)
#: How many values one bulk statement carries.
CHUNK = 500


def plan(connection: Connection, run_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add the tasks of a canvas (task_id, name, position), unless they are there already."""
    if connection.execute(select(t.c.task_id).where(t.c.run_id == run_id).limit(1)).first():
        return
    full = [{**row, "run_id": run_id, "state": states.SCHEDULED} for row in rows]
    for start in range(0, len(full), CHUNK):
        connection.execute(insert(t), full[start : start + CHUNK])


def sent(connection: Connection, run_id: str, row: Mapping[str, Any]) -> None:
    """Note that a message of a Run is going out; a worker may be ahead.

    Args:
        connection: any connection; a transaction, where the row may be new.
        run_id: the Run.
        row: task_id, name, parent_id, internal, sent (its turn), queue, queued_at, due_at.
    """
    news = ("sent", "queue", "queued_at", "due_at", "parent_id")
    statement = (
        update(t)
        .where(_is(run_id, row["task_id"]), t.c.sent < row["sent"], t.c.state.in_(OPEN))
        .values(state=states.QUEUED, **{name: row[name] for name in news})
    )
    if connection.execute(statement).rowcount:
        return
    _insert(connection, run_id, {**row, "state": states.QUEUED})


def sent_first(connection: Connection, run_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Note the first messages of planned tasks, in bulk; rows as for `sent`."""
    if not rows:
        return
    statement = (
        update(t)
        .where(t.c.task_id == bindparam("p_task"), t.c.run_id == run_id)
        .where(t.c.sent == 0, t.c.state == states.SCHEDULED)
        .values(
            state=states.QUEUED,
            sent=bindparam("p_sent"),
            queue=bindparam("p_queue"),
            queued_at=bindparam("p_at"),
            due_at=bindparam("p_due"),
            parent_id=bindparam("p_parent"),
        )
    )
    connection.execute(
        statement,
        [
            {
                "p_task": row["task_id"],
                "p_sent": row["sent"],
                "p_queue": row["queue"],
                "p_at": row["queued_at"],
                "p_due": row["due_at"],
                "p_parent": row["parent_id"],
            }
            for row in rows
        ],
    )


def start(connection: Connection, run_id: str, row: Mapping[str, Any]) -> bool:
    """Start a task, if its Run goes on and this message was not started before.

    One statement, for an autocommit connection; a task without a row is for `start_unknown`.

    Args:
        connection: any connection.
        run_id: the Run.
        row: task_id, name, parent_id, internal, turn, redelivers, started_at, worker, node_id,
            pid.

    Returns:
        Whether it may run.
    """
    news = ("turn", "redelivers", "started_at", "worker", "node_id", "pid")
    later = case((t.c.sent < row["turn"], row["turn"]), else_=t.c.sent)
    statement = (
        update(t)
        .where(
            _is(run_id, row["task_id"]),
            t.c.turn < row["turn"],
            t.c.state.in_(OPEN),
            _is_live(run_id),
        )
        .values(state=states.RUNNING, sent=later, due_at=None, **{name: row[name] for name in news})
    )
    return bool(connection.execute(statement).rowcount)


def start_unknown(connection: Connection, run_id: str, row: Mapping[str, Any]) -> bool:
    """Start a task that was sent by a process without this package; needs a transaction."""
    return _insert(connection, run_id, {**row, "state": states.RUNNING, "sent": row["turn"]})


def take_over(
    connection: Connection, run_id: str, row: Mapping[str, Any], holder: Row[Any]
) -> bool:
    """Start a message again whose first process, the `holder`, is gone without a report."""
    news = ("redelivers", "started_at", "worker", "node_id", "pid")
    same = (t.c.turn == holder.turn) & (t.c.state == states.RUNNING)
    same &= (t.c.started_at == holder.started_at) & (t.c.pid == holder.pid)
    statement = (
        update(t)
        .where(_is(run_id, row["task_id"]), same, _is_live(run_id))
        .values(**{name: row[name] for name in news})
    )
    return bool(connection.execute(statement).rowcount)


def end(
    connection: Connection,
    run_id: str,
    task_id: str,
    state: str,
    *,
    turn: int | None = None,
    old: Sequence[str] = (states.RUNNING,),
    **values: object,
) -> bool:
    """Move a task to `state`, from the states `old` and, if given, of this turn alone."""
    statement = update(t).where(_is(run_id, task_id), t.c.state.in_(old))
    if turn is not None:
        statement = statement.where(t.c.turn == turn)
    return bool(connection.execute(statement.values(state=state, **values)).rowcount)


def requeue(
    connection: Connection, run_id: str, task_id: str, turn: int, due_at: int | None
) -> bool:
    """Note that the broker has the message of a running task again; it may start once more."""
    statement = (
        update(t)
        .where(_is(run_id, task_id), t.c.state == states.RUNNING, t.c.turn == turn)
        .values(state=states.QUEUED, turn=turn - 1, started_at=None, due_at=due_at)
    )
    return bool(connection.execute(statement).rowcount)


def get(connection: Connection, run_id: str, task_id: str) -> Row[Any] | None:
    """Return one task, or None."""
    return connection.execute(select(t).where(_is(run_id, task_id))).one_or_none()


def of_run(connection: Connection, run_id: str) -> Sequence[Row[Any]]:
    """Return the tasks of a Run: those of the canvas in its order, then the others as they came."""
    query = (
        select(t)
        .where(t.c.run_id == run_id)
        .order_by(t.c.position.is_(None), t.c.position, t.c.queued_at, t.c.started_at, t.c.task_id)
    )
    return connection.execute(query).all()


def runs_of_task(connection: Connection, task_id: str) -> list[str]:
    """Return the Runs in which a task of this id is running; one at the most, but for odd ids."""
    query = select(t.c.run_id).where(t.c.task_id == task_id, t.c.state == states.RUNNING)
    return list(connection.execute(query).scalars())


def running_on(connection: Connection, node_id: str) -> Sequence[Row[str, str, int]]:
    """Return run_id, task_id and turn of what a worker is running."""
    query = select(t.c.run_id, t.c.task_id, t.c.turn)
    return connection.execute(
        query.where(t.c.state == states.RUNNING, t.c.node_id == node_id)
    ).all()


def unfinished(connection: Connection, run_id: str) -> bool:
    """Return whether a message of the Run is out or a task of it runs."""
    query = select(literal(1)).where(t.c.run_id == run_id, t.c.state.in_(UNFINISHED)).limit(1)
    return connection.execute(query).first() is not None


def close(
    connection: Connection, run_id: str, state: str, old: Collection[str], **values: object
) -> None:
    """Move all tasks of a Run that are in the states `old`."""
    connection.execute(
        update(t).where(t.c.run_id == run_id, t.c.state.in_(old)).values(state=state, **values)
    )


def counts(connection: Connection, run_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return for each Run how many of its tasks are in which state; internal ones left out."""
    query = (
        select(t.c.run_id, t.c.state, func.count())
        .where(t.c.run_id.in_(run_ids), t.c.internal.is_(False))
        .group_by(t.c.run_id, t.c.state)
    )
    found: dict[str, dict[str, int]] = {run_id: {} for run_id in run_ids}
    for run_id, state, count in connection.execute(query):
        found[run_id][state] = count
    return found


def _is(run_id: str, task_id: str) -> ColumnElement[bool]:
    return (t.c.task_id == task_id) & (t.c.run_id == run_id)


def _is_live(run_id: str) -> ColumnElement[bool]:
    return exists().where(
        occurrence.c.id == run_id, occurrence.c.kind == "flow", occurrence.c.state.in_(LIVE)
    )


def _insert(connection: Connection, run_id: str, row: Mapping[str, Any]) -> bool:
    """Add a task to a Run that goes on; False if it is there already or the Run is over."""
    if connection.execute(select(t.c.task_id).where(_is(run_id, row["task_id"]))).first():
        return False
    full = {**row, "run_id": run_id}
    values = select(
        *(literal(value, t.c[name].type).label(name) for name, value in full.items())
    ).where(_is_live(run_id))
    try:
        with connection.begin_nested():
            statement = insert(t).from_select(list(full), values)
            # Without the option some drivers do not say how many rows an insert has made.
            statement = statement.execution_options(preserve_rowcount=True)
            result = connection.execute(statement)
    except IntegrityError:
        return False
    return bool(result.rowcount)
