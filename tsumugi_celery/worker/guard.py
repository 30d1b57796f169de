"""Guard: a job starts only if it wins its row in the ledger (protocol step 6)."""

from __future__ import annotations

import logging
import os
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from celery.exceptions import Ignore, Reject, Retry
from sqlalchemy import exists, select, update
from sqlalchemy.exc import SQLAlchemyError

from tsumugi_celery.app import state_of
from tsumugi_celery.core import states
from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.message import HEADER
from tsumugi_celery.engine.plan import BINDING
from tsumugi_celery.ledger.schema import binding
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.worker.identity import here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celery import Task
    from sqlalchemy import Connection

    from tsumugi_celery.app import AppState

log = logging.getLogger(__name__)

#: How long a job that was put back waits, in seconds.
PUT_BACK_WAIT = 2.0
#: Attempts of a task whose own `max_retries` is None: without an end, for all practical purposes.
ENDLESS = 1_000_000
#: Where the guard leaves its note for the tracker, on Celery's request.
NOTE = "_tsumugi_note"

_said: set[str] = set()


@dataclass(frozen=True, slots=True)
class Note:
    """What the tracker has to know about a running attempt."""

    state: AppState
    occurrence_id: str
    attempt: int
    started_at: int


def header_of(request: Any) -> Mapping[str, Any] | None:
    """Return our header of a message, or None for a task that is not ours."""
    header = request.get(HEADER)
    if header is None and request.is_eager:
        header = (request.headers or {}).get(HEADER)
    # Noted already: the task calls its own `run` again.
    return None if header is None or request.get(NOTE) is not None else header


def run_guarded(
    task: Task,
    request: Any,
    header: Mapping[str, Any],
    call: Callable[[], Any],
) -> Any:
    """Run a job of ours, if its row says so.

    Raises:
        Ignore: the job is not to run here and now.
        Retry: the attempt failed and another one was sent.
    """
    state = state_of(task.app)
    attempt = int(header.get("base") or 0) + int(request.retries or 0) + 1
    refusal: str | None = None
    while True:
        try:
            if state.ledger.id != header["ledger"]:
                _say_other_ledger(state, header)
                return call()
            refusal = _enter(state, task, request, header, attempt)
        except SQLAlchemyError as exc:
            _put_back(task, request, exc)
        else:
            break
    if refusal is not None:
        log.info("%s does not run: %s", request.id, refusal, extra={"action": "job.refused"})
        raise Ignore(refusal)
    try:
        return call()
    except (Retry, Ignore, Reject):
        raise
    except Exception as exc:
        _retry(task, header, attempt, exc)
        raise


def _enter(
    state: AppState,
    task: Task,
    request: Any,
    header: Mapping[str, Any],
    attempt: int,
) -> str | None:
    """Win the row, or return why the job must not run."""
    now = state.clock.now()
    most = header.get("max_attempts")
    if most is None:
        most = ENDLESS if task.max_retries is None else task.max_retries + 1
    paused = exists().where(
        binding.c.namespace == t.c.namespace,
        binding.c.name == t.c.binding,
        binding.c.paused.is_(True),
    )
    statement = (
        update(t)
        .where(
            t.c.id == request.id, t.c.state.in_(states.UNFINISHED), t.c.attempt < attempt, ~paused
        )
        .values(
            state=states.RUNNING,
            attempt=attempt,
            max_attempts=most,
            started_at=now,
            worker=here.hostname or request.hostname,
            node_id=here.node_id,
            pid=os.getpid(),
            wait=None,
            due_at=None,
        )
    )
    with state.ledger.autocommit() as connection:
        if connection.execute(statement).rowcount:
            setattr(request, NOTE, Note(state, request.id, attempt, now))
            return None
        return _why_not(connection, request.id, attempt, now)


def _why_not(connection: Connection, identifier: str, attempt: int, now: int) -> str:
    row = connection.execute(select(t).where(t.c.id == identifier)).one_or_none()
    if row is None:
        return "the ledger has no such occurrence"
    if row.state not in states.UNFINISHED:
        return f"it is {row.state} already"
    if row.attempt >= attempt:
        return f"attempt {attempt} was started before, by {row.worker}"
    connection.execute(
        update(t)
        .where(
            t.c.id == identifier,
            t.c.state.in_((states.CLAIMED, states.QUEUED, states.SCHEDULED)),
            t.c.attempt < attempt,
        )
        .values(state=states.SCHEDULED, wait=BINDING, due_at=now, attempt=attempt - 1)
    )
    return f"its binding {row.binding!r} is paused; it waits in the ledger"


def _put_back(task: Task, request: Any, error: Exception) -> None:
    """Send the job again, for later, with no attempt counted: the ledger cannot be asked now.

    Raises:
        Ignore: it was sent.
    """
    log.warning("%s is put back: the ledger cannot be reached: %s", request.id, reason(error))
    try:
        task.signature_from_request(
            request, request.args, request.kwargs, countdown=PUT_BACK_WAIT, retries=request.retries
        ).apply_async()
    except Exception as exc:  # noqa: BLE001 - whatever the broker raises, the job must not be lost
        log.warning("%s cannot be put back, the ledger is asked again: %s", request.id, reason(exc))
        time.sleep(PUT_BACK_WAIT)
        return
    msg = "put back until the ledger is there"
    raise Ignore(msg)


def _retry(task: Task, header: Mapping[str, Any], attempt: int, error: Exception) -> None:
    """Send the next attempt, while some remain and the schedule asked for them.

    Raises:
        Retry: it was sent.
    """
    most = header.get("max_attempts")
    if most is None or attempt >= most:
        return
    backoff = Backoff(**header["backoff"])
    wait = backoff.delay_ms(attempt, random.random())  # noqa: S311 - jitter, not a secret
    base = int(header.get("base") or 0)
    raise task.retry(exc=error, countdown=wait / 1000, max_retries=most - 1 - base, throw=False)


def _say_other_ledger(state: AppState, header: Mapping[str, Any]) -> None:
    other = str(header.get("ledger_url", header["ledger"]))
    if other not in _said:
        _said.add(other)
        log.error(
            "This worker keeps another ledger (%s) than the beat that sent the job (%s): the job "
            "runs untracked. Give both the same tsumugi_database_url; a relative SQLite path "
            "depends on the folder.",
            state.ledger,
            other,
            extra={"action": "worker.other_ledger"},
        )
