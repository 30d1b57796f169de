"""Guard: a job starts only if it wins its row in the ledger (protocol step 6)."""

from __future__ import annotations

import logging
import mmap
import os
import time
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any

from celery.exceptions import Ignore
from sqlalchemy import bindparam, exists, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from tsumugi_celery.app import state_of
from tsumugi_celery.core import states
from tsumugi_celery.core.errors import LedgerError
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.message import HEADER
from tsumugi_celery.engine.plan import BINDING
from tsumugi_celery.ledger.schema import binding
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.worker.identity import here
from tsumugi_celery.worker.note import NOTE, Note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from celery import Task
    from sqlalchemy import ColumnElement, Connection, Update

    from tsumugi_celery.app import AppState

log = logging.getLogger(__name__)

#: How long a job that was put back waits, in seconds.
PUT_BACK_WAIT = 2.0
#: How many tries to start that the ledger did not answer a message that is put back remembers.
MOST_TRIED = 20
#: Attempts of a task whose own `max_retries` is None: without an end, for all practical purposes.
ENDLESS = 1_000_000

#: Shared with the children that a pool forks: what one process of a worker has said.
_said = mmap.mmap(-1, 256)


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
    """
    state = state_of(task.app)
    attempt = int(header.get("base") or 0) + int(request.retries or 0) + 1
    refusal: str | None = None
    tried = [tuple(each) for each in header.get("tried", ())]
    while True:
        now = state.clock.now()
        try:
            if not state.ledger.exists:
                state.ledger.open()
            if state.ledger.id != header["ledger"]:
                say_other_ledger(state, header)
                return call()
            refusal = _enter(state, task, request, header, attempt, now=now, tried=tried)
        except (SQLAlchemyError, LedgerError) as exc:
            tried = [*tried, (here.node_id, now)][-MOST_TRIED:]
            _put_back(task, request, {**header, "tried": tried}, exc)
        else:
            break
    if refusal is not None:
        log.info("%s does not run: %s", request.id, refusal, extra={"action": "job.refused"})
        raise Ignore(refusal)
    return call()


def _enter(
    state: AppState,
    task: Task,
    request: Any,
    header: Mapping[str, Any],
    attempt: int,
    *,
    now: int,
    tried: Sequence[tuple[Any, ...]],
) -> str | None:
    """Win the row, or return why the job must not run.

    The ledger may have taken an earlier try of this attempt and gone away before it could say so:
    such a row is won by a process that did not start, and is won again by the message put back.
    """
    most = header.get("max_attempts")
    if most is None:
        most = ENDLESS if task.max_retries is None else task.max_retries + 1
    values = {
        "p_id": request.id,
        "p_attempt": attempt,
        "p_most": most,
        "p_now": now,
        "p_worker": here.hostname or request.hostname,
        "p_node": here.node_id,
        "p_pid": os.getpid(),
    }
    statement = _winning() if not tried else _winning_again(attempt, tried)
    with state.ledger.autocommit() as connection:
        if connection.execute(statement, values).rowcount:
            setattr(request, NOTE, Note(state, request.id, attempt, now, header))
            return None
        return _why_not(connection, request.id, attempt, now)


@cache
def _winning() -> Update:
    """Return the statement of nearly every start: made once, since making it costs most of it."""
    return _win(_new())


def _winning_again(attempt: int, tried: Sequence[tuple[Any, ...]]) -> Update:
    unheard = [
        (t.c.state == states.RUNNING)
        & (t.c.attempt == attempt)
        & (t.c.node_id == node)
        & (t.c.started_at == at)
        for node, at in tried
    ]
    return _win(or_(_new(), *unheard))


def _new() -> ColumnElement[bool]:
    # Not IN, which SQLAlchemy spells out for each execution.
    unfinished = or_(*(t.c.state == each for each in sorted(states.UNFINISHED)))
    return unfinished & (t.c.attempt < bindparam("p_attempt"))


def _win(allowed: ColumnElement[bool]) -> Update:
    paused = exists().where(
        binding.c.namespace == t.c.namespace,
        binding.c.name == t.c.binding,
        binding.c.paused.is_(True),
    )
    return (
        update(t)
        .where(t.c.id == bindparam("p_id"), allowed, ~paused)
        .values(
            state=states.RUNNING,
            attempt=bindparam("p_attempt"),
            max_attempts=bindparam("p_most"),
            started_at=bindparam("p_now"),
            worker=bindparam("p_worker"),
            node_id=bindparam("p_node"),
            pid=bindparam("p_pid"),
            wait=None,
            due_at=None,
        )
    )


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


def _put_back(task: Task, request: Any, header: Mapping[str, Any], error: Exception) -> None:
    """Send the job again, for later, with no attempt counted: the ledger cannot be asked now.

    Raises:
        Ignore: it was sent.
    """
    log.warning("%s is put back: the ledger cannot be reached: %s", request.id, reason(error))
    try:
        task.signature_from_request(
            request,
            request.args,
            request.kwargs,
            countdown=PUT_BACK_WAIT,
            retries=request.retries,
            headers={**(request.headers or {}), HEADER: dict(header)},
        ).apply_async()
    except Exception as exc:  # noqa: BLE001 - whatever the broker raises, the job must not be lost
        log.warning("%s cannot be put back, the ledger is asked again: %s", request.id, reason(exc))
        time.sleep(PUT_BACK_WAIT)
        return
    msg = "put back until the ledger is there"
    raise Ignore(msg)


def say_other_ledger(state: AppState, header: Mapping[str, Any]) -> None:
    """Say once that a message speaks of another ledger than this worker's."""
    other = str(header.get("ledger_url", header["ledger"]))
    place = zlib.crc32(other.encode()) % len(_said)
    if not _said[place]:
        _said[place] = 1
        log.error(
            "This worker keeps another ledger (%s) than the beat that sent the job (%s): the job "
            "runs untracked. Give both the same tsumugi_database_url; a relative SQLite path "
            "depends on the folder.",
            state.ledger,
            other,
            extra={"action": "worker.other_ledger"},
        )
