"""Guard of a Run's tasks: one starts only while its Run goes on, and each message once.

All that a task of somebody else costs is a comparison of two ids: a plain task is its own root.
"""

from __future__ import annotations

import logging
import os
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from celery.exceptions import Ignore
from sqlalchemy.exc import SQLAlchemyError

from tsumugi_celery.app import state_of
from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.flows.names import INTERNAL, RUN_HEADER, may_be_run, turn_of
from tsumugi_celery.ledger import nodes, occurrences, run_tasks
from tsumugi_celery.worker.guard import PUT_BACK_WAIT, say_other_ledger
from tsumugi_celery.worker.identity import here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celery import Task
    from sqlalchemy import Connection, Row

    from tsumugi_celery.app import AppState

log = logging.getLogger(__name__)

#: Where the guard leaves its note for the tracker, on Celery's request.
RUN_NOTE = "_tsumugi_run_note"
#: How many root ids a process remembers the kind of.
MOST_KNOWN = 4096

_kinds: OrderedDict[tuple[str, str], bool] = OrderedDict()
#: (run id, task id) of what this process runs at the moment.
_running: set[tuple[str, str]] = set()


@dataclass(frozen=True, slots=True)
class RunNote:
    """What the tracker has to know about a running task of a Run."""

    state: AppState
    run_id: str
    task_id: str
    turn: int

    @property
    def fields(self) -> dict[str, str]:
        """The header by which other workers know what this task sends."""
        return run_fields(self.state)


def run_fields(state: AppState) -> dict[str, str]:
    """Return the header of a Run's messages.

    Raises:
        DBAPIError: the ledger is away, and was never asked for its id.
    """
    ledger = state.ledger
    return {"ledger": ledger.id, "ledger_url": str(ledger), "namespace": state.namespace}


def may_belong(request: Any) -> bool:
    """Return whether a request may be a task of a Run; False, at once, for nearly all others."""
    root_id = request.root_id
    if root_id is None or root_id == request.id:
        return False
    if request.get(RUN_HEADER) is None and not may_be_run(root_id, request.id):
        return False
    # Called by another task in its own process, or by itself: it is part of that one.
    return not request.is_eager and request.get(RUN_NOTE) is None


def run_in_run(task: Task, request: Any, call: Callable[[], Any]) -> Any:
    """Run a task that may belong to a Run, if its Run says so.

    Raises:
        Ignore: the task is not to run here and now.
    """
    state = state_of(task.app)
    header: Mapping[str, Any] | None = request.get(RUN_HEADER)
    refusal: str | None = None
    while True:
        try:
            if header is not None and state.ledger.id != header["ledger"]:
                say_other_ledger(state, header)
                return call()
            if header is None and not is_run(state, request.root_id):
                return call()
            refusal = _enter(state, task, request)
        except SQLAlchemyError as exc:
            put_back(task, request, PUT_BACK_WAIT, f"the ledger cannot be reached: {reason(exc)}")
        else:
            break
    if refusal is not None:
        log.info("%s does not run: %s", request.id, refusal, extra={"action": "run_task.refused"})
        raise Ignore(refusal)
    key = (request.root_id, request.id)
    _running.add(key)
    try:
        return call()
    finally:
        _running.discard(key)


def is_run(state: AppState, root_id: str) -> bool:
    """Return whether a root id is a Run of the app; what an id stands for never changes.

    Raises:
        DBAPIError: the ledger is away.
    """
    if not root_id.startswith(f"{state.namespace}."):
        return False
    key = (str(state.ledger.url), root_id)
    known = _kinds.get(key)
    if known is None:
        with state.ledger.read() as connection:
            row = occurrences.get(connection, root_id)
        known = _kinds[key] = row is not None and row.kind == "flow"
        if len(_kinds) > MOST_KNOWN:
            _kinds.popitem(last=False)
    return known


def _enter(state: AppState, task: Task, request: Any) -> str | None:
    """Win the task's row, or return why it must not run."""
    run_id = request.root_id
    turn = turn_of(request.retries, request.replaced_task_nesting)
    row = {
        "task_id": request.id,
        "name": task.name,
        "parent_id": request.parent_id,
        "internal": task.name in INTERNAL,
        "turn": turn,
        "redelivers": bool(task.acks_late),
        "started_at": state.clock.now(),
        "worker": here.hostname or request.hostname,
        "node_id": here.node_id,
        "pid": os.getpid(),
    }
    with state.ledger.autocommit() as connection:
        won = run_tasks.start(connection, run_id, row)
    refusal = None if won else _look_closer(state, task, request, row)
    if refusal is None:
        setattr(request, RUN_NOTE, RunNote(state, run_id, request.id, turn))
    return refusal


def _look_closer(state: AppState, task: Task, request: Any, row: Mapping[str, Any]) -> str | None:
    """Return why a task whose row was not won at once must not run; None if it may after all.

    Raises:
        Ignore: this message is looked at again later.
    """
    run_id, turn = request.root_id, row["turn"]
    with state.ledger.read() as connection:
        found = run_tasks.get(connection, run_id, request.id)
        run = occurrences.get(connection, run_id)
    if run is None:
        return "the ledger has no such Run"
    if run.state not in run_tasks.LIVE:
        return f"its Run is {run.state}"
    won = False
    if found is None:
        won = state.ledger.transact(
            lambda connection: run_tasks.start_unknown(connection, run_id, row)
        )
    elif _is_redelivered(request) and found.state == states.RUNNING and found.turn == turn:
        won = _take_over(state, task, request, row, found)
    return None if won else _why_not(found, turn)


def _why_not(row: Row[Any] | None, turn: int) -> str:
    if row is None:
        return "its Run has ended"
    if row.state not in run_tasks.OPEN:
        return f"it is {row.state} already"
    if row.turn >= turn:
        return f"this message was started before, by {row.worker}"
    return "its Run has ended"


def _is_redelivered(request: Any) -> bool:
    return bool((request.delivery_info or {}).get("redelivered"))


def _take_over(
    state: AppState, task: Task, request: Any, row: Mapping[str, Any], holder: Row[Any]
) -> bool:
    """Start a redelivered message whose first process is gone; put it back while that lives.

    Raises:
        Ignore: the first process may still be running it.
    """
    with state.ledger.read() as connection:
        alive = _is_alive(state, connection, holder)
    if alive:
        wait = state.settings.presumed_gone
        put_back(task, request, wait, f"it was delivered again while {holder.worker} runs it")
    return state.ledger.transact(
        lambda connection: run_tasks.take_over(connection, request.root_id, row, holder)
    )


def _is_alive(state: AppState, connection: Connection, holder: Row[Any]) -> bool:
    if holder.node_id is not None and holder.node_id == here.node_id:
        if holder.pid == os.getpid():
            return (holder.run_id, holder.task_id) in _running
        return _exists(holder.pid)
    node = nodes.get(connection, holder.node_id) if holder.node_id is not None else None
    if node is None or node.stopped_at is not None:
        return False
    return bool(state.clock.now() - node.seen_at < state.settings.presumed_gone * 1000)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def put_back(task: Task, request: Any, seconds: float, why: str) -> None:
    """Send a task of a Run again, for later, as the same message.

    Raises:
        Ignore: it was sent.
    """
    log.warning("%s is put back: %s", request.id, why, extra={"action": "run_task.put_back"})
    try:
        task.signature_from_request(
            request, request.args, request.kwargs, countdown=seconds, retries=request.retries
        ).apply_async()
    except Exception as exc:  # noqa: BLE001 - whatever the broker raises, the task must not be lost
        log.warning("%s cannot be put back, the ledger is asked again: %s", request.id, reason(exc))
        time.sleep(PUT_BACK_WAIT)
        return
    raise Ignore(why)
