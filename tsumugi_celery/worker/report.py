"""Reports: each is one compare-and-set that names the state it expects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.plan import BROKER
from tsumugi_celery.engine.reap import settle_lost
from tsumugi_celery.ledger import attempts, occurrences
from tsumugi_celery.ledger.schema import occurrence as t

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery.exceptions import Retry
    from sqlalchemy import Connection

    Change = Callable[[Connection], None]


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that has ended: whose, its number, when it began and ended (epoch ms)."""

    occurrence_id: str
    attempt: int
    started_at: int
    ended_at: int


def finished(ended: Ended, state: str, error: str | None = None) -> Change:
    """Report that a job has come to its end."""

    def change(connection: Connection) -> None:
        moved = _from_attempt(connection, ended, state, ended_at=ended.ended_at, error=error)
        if moved and error is not None:
            _record(connection, ended, states.FAILED, error)

    return change


def retried(ended: Ended, retry: Retry) -> Change:
    """Report that an attempt failed and that Celery holds the next one."""
    when = retry.when
    if isinstance(when, datetime):
        due = int(when.timestamp() * 1000)
    else:
        due = ended.ended_at + int(float(when or 0) * 1000)
    error = reason(retry.exc) if isinstance(retry.exc, BaseException) else str(retry)

    def change(connection: Connection) -> None:
        _from_attempt(connection, ended, states.SCHEDULED, wait=BROKER, due_at=due, error=error)
        _record(connection, ended, states.FAILED, error)

    return change


def requeued(ended: Ended) -> Change:
    """Report that a task gave its message back to the broker; the attempt does not count."""

    def change(connection: Connection) -> None:
        _from_attempt(connection, ended, states.QUEUED, attempt=ended.attempt - 1, started_at=None)

    return change


def cancelled(occurrence_id: str, at: int, why: str, *, terminated: bool) -> Change:
    """Report that a job was revoked or has expired; one that runs only if it was terminated."""

    def change(connection: Connection) -> None:
        where = None if terminated else t.c.state != states.RUNNING
        occurrences.move(connection, occurrence_id, states.CANCELLED, where, ended_at=at, error=why)

    return change


def lost(occurrence_id: str, at: int, why: str, *, timed_out: bool) -> Change:
    """Report that the process of a running attempt was lost, or killed at its time limit."""

    def change(connection: Connection) -> None:
        row = connection.execute(
            select(t).where(t.c.id == occurrence_id, t.c.state == states.RUNNING).with_for_update()
        ).one_or_none()
        if row is not None:
            settle_lost(connection, row, why, now=at, timed_out=timed_out)

    return change


def unknown(occurrence_id: str, at: int, why: str) -> Change:
    """Report that the worker which got the message cannot run it."""

    def change(connection: Connection) -> None:
        occurrences.move(
            connection,
            occurrence_id,
            states.FAILED,
            t.c.state != states.RUNNING,
            ended_at=at,
            error=why,
        )

    return change


def _from_attempt(connection: Connection, ended: Ended, state: str, **values: Any) -> bool:
    where = (t.c.state == states.RUNNING) & (t.c.attempt == ended.attempt)
    return occurrences.move(connection, ended.occurrence_id, state, where, **values)


def _record(connection: Connection, ended: Ended, state: str, error: str) -> None:
    attempts.add(
        connection,
        ended.occurrence_id,
        ended.attempt,
        state=state,
        started_at=ended.started_at,
        ended_at=ended.ended_at,
        error=error,
    )
