"""Cancel an occurrence that is not finished (section 7 of the contract)."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from tsumugi_celery.control import history
from tsumugi_celery.core import states
from tsumugi_celery.core.errors import AlreadyFinished, DispatchError
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.flows.cancel import terminate
from tsumugi_celery.flows.end import break_off
from tsumugi_celery.ledger import occurrences
from tsumugi_celery.ledger.schema import occurrence as t

if TYPE_CHECKING:
    from tsumugi_celery.control.source import Source
    from tsumugi_celery.control.views import OccurrenceView

log = logging.getLogger(__name__)

#: How long the worker of a running job is waited for, seconds.
WAIT = 3.0
STEP = 0.05
WHY = "cancelled by hand"


def cancel(source: Source, occurrence_id: str) -> OccurrenceView:
    """Cancel an occurrence.

    One that has not started is CANCELLED at once: its message, wherever it is, will be refused.
    One that runs is terminated where its worker's pool can do that; its worker says so. Where it
    cannot (threads, solo, gevent), the job runs on and stays RUNNING: that is the truth.

    Returns:
        The occurrence as it is afterwards; cancelling twice changes nothing.

    Raises:
        UnknownOccurrence: no occurrence has this id.
        AlreadyFinished: it ended otherwise before.
        DispatchError: it runs, and its worker could not be told.
    """
    with source.read() as connection:
        before = history.one(source, connection, occurrence_id)
    if before.state == states.CANCELLED:
        return before
    if before.state in states.FINISHED:
        raise AlreadyFinished(f"{occurrence_id} is {before.state} already")
    if before.kind == "flow":
        return _cancel_run(source, occurrence_id)
    moved = source.transact(
        lambda connection: occurrences.move(
            connection,
            occurrence_id,
            states.CANCELLED,
            t.c.state != states.RUNNING,
            ended_at=source.now(),
            error=WHY,
            wait=None,
            due_at=None,
        )
    )
    error = _revoke(source, occurrence_id)
    if not moved:
        if error is not None:
            raise DispatchError(
                f"{occurrence_id} is running, and its worker could not be told: {reason(error)}"
            )
        _await_end(source, occurrence_id)
    with source.read() as connection:
        return history.one(source, connection, occurrence_id)


def _cancel_run(source: Source, run_id: str) -> OccurrenceView:
    """A Run ends as a whole, and at once; running tasks are terminated where their pool can."""
    timeout = source.state.settings.publish_timeout
    running = source.transact(
        lambda connection: break_off(connection, run_id, states.CANCELLED, WHY, source.now())
    )
    terminate(source.app, running or (), timeout)
    with source.read() as connection:
        return history.one(source, connection, run_id)


def _revoke(source: Source, occurrence_id: str) -> Exception | None:
    timeout = source.state.settings.publish_timeout
    try:
        with source.app.connection_for_write(connect_timeout=timeout) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=timeout)
            source.app.control.revoke(occurrence_id, connection=connection, terminate=True)
    except Exception as exc:  # noqa: BLE001 - each transport has errors of its own
        log.warning(
            "%s: the workers could not be told that it is cancelled: %s",
            occurrence_id,
            reason(exc),
            extra={"action": "occurrence.revoke_failed"},
        )
        return exc
    return None


def _await_end(source: Source, occurrence_id: str) -> None:
    deadline = source.state.clock.monotonic() + WAIT
    while source.state.clock.monotonic() < deadline:
        with source.read() as connection:
            row = occurrences.get(connection, occurrence_id)
        if row is None or row.state != states.RUNNING:
            return
        time.sleep(STEP)
