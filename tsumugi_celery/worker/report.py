"""Reports: each is one compare-and-set that names the state it expects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.plan import BROKER, RETRY
from tsumugi_celery.engine.reap import settle_lost
from tsumugi_celery.ledger import attempts, occurrences
from tsumugi_celery.ledger.schema import occurrence as t

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery.exceptions import Retry
    from sqlalchemy import Connection

    Change = Callable[[Connection], object]


@dataclass(frozen=True, slots=True)
class Single:
    """A change that is one statement: a transaction by itself, and one round trip."""

    change: Change

    def __call__(self, connection: Connection) -> None:
        """Make the change."""
        self.change(connection)


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that has ended: whose, its number, when (epoch ms), and on which worker."""

    occurrence_id: str
    attempt: int
    started_at: int
    ended_at: int
    worker: str | None = None


def finished(ended: Ended, state: str, error: str | None = None) -> Change:
    """Report that a job has come to its end."""

    def change(connection: Connection) -> None:
        moved = occurrences.finish(
            connection,
            ended.occurrence_id,
            ended.attempt,
            state,
            ended_at=ended.ended_at,
            error=error,
        )
        if moved and error is not None:
            _record(connection, ended, states.FAILED, error)

    return Single(change) if error is None else change


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


def resent(ended: Ended, due: int, error: str) -> Change:
    """Report that an attempt failed and that the ledger is to send the next one, at `due`."""

    def change(connection: Connection) -> None:
        _from_attempt(connection, ended, states.SCHEDULED, wait=RETRY, due_at=due, error=error)
        _record(connection, ended, states.FAILED, error)

    return change


def requeued(ended: Ended, *, by_ledger: bool) -> Change:
    """Report that a task gave its message back; the attempt does not count.

    Args:
        ended: the attempt.
        by_ledger: the broker has no message to give again, since it was acknowledged early.
    """

    def change(connection: Connection) -> None:
        values: dict[str, Any] = {"attempt": ended.attempt - 1, "started_at": None}
        if by_ledger:
            values |= {"wait": RETRY, "due_at": ended.ended_at}
        state = states.SCHEDULED if by_ledger else states.QUEUED
        _from_attempt(connection, ended, state, **values)

    return change


def cancelled(occurrence_id: str, at: int, why: str, *, terminated: bool) -> Change:
    """Report that a job was revoked or has expired; one that runs only if it was terminated."""

    def change(connection: Connection) -> None:
        where = None if terminated else t.c.state != states.RUNNING
        occurrences.move(connection, occurrence_id, states.CANCELLED, where, ended_at=at, error=why)

    return change


def lost(
    occurrence_id: str, at: int, why: str, *, timed_out: bool, attempt: int | None = None
) -> Change:
    """Report that the process of a running attempt was lost, or killed at its time limit.

    Args:
        occurrence_id: of the job.
        at: epoch ms.
        why: what happened.
        timed_out: whether it was killed at its hard time limit.
        attempt: the attempt that is meant; None: whichever runs.
    """
    running = (t.c.id == occurrence_id) & (t.c.state == states.RUNNING)
    if attempt is not None:
        running &= t.c.attempt == attempt

    def change(connection: Connection) -> None:
        row = connection.execute(select(t).where(running).with_for_update()).one_or_none()
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
        worker=ended.worker,
        error=error,
    )
