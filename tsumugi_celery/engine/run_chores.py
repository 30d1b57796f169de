"""What any beat does for Runs: deadlines, lost workers, lost messages, and ends nobody saw.

A task of a Run is not sent again by the ledger: what it had been given by the tasks before it is
known to its message alone. A lost one fails, unless the broker delivers it again (decision 0073).
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from celery import states as celery_states
from celery.exceptions import WorkerLostError

from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine.heartbeat import WORKER
from tsumugi_celery.engine.lost import backend_state, is_empty
from tsumugi_celery.engine.routing import LOWER_IS_SOONER, transport_name
from tsumugi_celery.flows.cancel import terminate
from tsumugi_celery.flows.end import break_off, finish_if_done
from tsumugi_celery.ledger import nodes, run_tasks, runs

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from tsumugi_celery.engine.absent import Absent
    from tsumugi_celery.engine.cycle import Cycle
    from tsumugi_celery.engine.heartbeat import Watch

    #: Run, task, and which of its messages.
    Missed = tuple[str, str, int, int]

log = logging.getLogger(__name__)

#: How many rows are looked at in one go.
BATCH = 500
#: When a message is given up though its queue was never seen empty, ms.
GIVE_UP_MS = 24 * 3_600_000
#: How long Redis keeps an unacknowledged message from others, by kombu's default, seconds.
VISIBILITY = 3600


def meet_deadlines(cycle: Cycle) -> None:
    """End the Runs whose deadline has passed."""
    now = cycle.clock.now()
    with cycle.ledger.read() as connection:
        rows = runs.overdue(connection, cycle.namespace, now=now)
    for row in rows:
        why = f"its deadline passed: deadlineMs ended {_seconds(now - row.expires_at)} ago"
        running = cycle.ledger.transact(
            partial(break_off, run_id=row.id, state=states.FAILED, why=why, now=now)
        )
        if running is not None:
            log.error("%s: FAILED, %s", row.id, why, extra={"action": "run.deadline"})
            terminate(cycle.app, running, cycle.settings.publish_timeout)


def finish_runs(cycle: Cycle) -> None:
    """End the Runs whose last task ended without a process that could look."""
    with cycle.ledger.read() as connection:
        done = runs.without_tasks_left(connection, cycle.namespace, limit=BATCH)
    for run_id in done:
        state = cycle.ledger.transact(partial(finish_if_done, run_id=run_id, now=cycle.clock.now()))
        if state is not None:
            log.info("%s: %s", run_id, state, extra={"action": "run.finished"})


def reap_tasks(cycle: Cycle, watch: Watch) -> None:
    """Settle the tasks that workers which are gone were running."""
    with cycle.ledger.read() as connection:
        rows = runs.running(connection, cycle.namespace, limit=BATCH)
    gone = [row for row in rows if row.node_id is not None and watch.is_gone(row.node_id)]
    for row in gone:
        if row.redelivers:
            due = cycle.clock.now() + _redelivery_ms(cycle)
            cycle.ledger.transact(
                partial(
                    run_tasks.requeue,
                    run_id=row.run_id,
                    task_id=row.task_id,
                    turn=row.turn,
                    due_at=due,
                )
            )
        else:
            _fail(cycle, row, f"its worker {row.worker} vanished")


def find_lost_tasks(cycle: Cycle, watch: Watch, absent: Absent[Missed]) -> None:
    """Settle the tasks whose messages are gone from the broker.

    Args:
        cycle: the beat.
        watch: knows which workers live, and what they have.
        absent: the messages that were found nowhere. One that a worker has just taken is in no
            queue, and not in the worker's last heartbeat either; so a message must be missed for
            as long as a living worker may be silent.
    """
    now = cycle.clock.now()
    after = int(cycle.settings.republish_after * 1000)
    with cycle.ledger.read() as connection:
        rows = runs.stale(connection, cycle.namespace, before=now - after, limit=BATCH)
        vanished = _vanished_at(connection, cycle, watch) if rows else None
    if not rows:
        absent.overdue((), cycle.clock.monotonic())
        return
    empty = {queue: is_empty(cycle, queue) for queue in {row.queue for row in rows}}
    if not watch.live_workers:
        _ask_backend(cycle, {row.run_id for row in rows if empty[row.queue]}, now)
        return
    reserved = {each for info in watch.live_workers.values() for each in info.get("reserved", ())}
    hidden = _redelivery_ms(cycle)
    missing = {}
    for row in rows:
        age = now - max(row.queued_at or 0, row.due_at or 0)
        # A worker that vanished may have had it: then it is out of sight until it comes back.
        may_be_hidden = vanished is not None and vanished >= (row.queued_at or 0)
        if row.task_id in reserved or (may_be_hidden and age < after + hidden):
            continue
        # Work piles up at times; whether a message is in a queue that is not empty, nobody can say.
        if not empty[row.queue] and age <= GIVE_UP_MS:
            continue
        missing[row.run_id, row.task_id, row.sent, row.turn] = row
    for key in absent.overdue(missing, cycle.clock.monotonic()):
        _fail(cycle, missing[key], "its message is gone from the broker")


def _vanished_at(connection: Connection, cycle: Cycle, watch: Watch) -> int | None:
    """Return when the worker that vanished last was seen last, at the most, epoch ms."""
    seen = [
        row.seen_at
        for row in nodes.of_namespace(connection, cycle.namespace)
        if row.role == WORKER and row.stopped_at is None and row.id not in watch.live_workers
    ]
    return max(seen) + int(cycle.settings.presumed_gone * 1000) if seen else None


def _ask_backend(cycle: Cycle, run_ids: set[str], now: int) -> None:
    """Settle what the result backend knows of Runs that no worker reports; let go of the rest."""
    for run_id in sorted(run_ids):
        with cycle.ledger.read() as connection:
            rows = [r for r in run_tasks.of_run(connection, run_id) if r.state in run_tasks.OPEN]
        found = [(row.task_id, *backend_state(cycle, row.task_id)) for row in rows]

        def write(connection: Connection, run_id: str = run_id, found: Any = found) -> None:
            for task_id, state, error in found:
                if state is not None:
                    run_tasks.end(
                        connection,
                        run_id,
                        task_id,
                        state,
                        old=run_tasks.OPEN,
                        ended_at=now,
                        error=error,
                    )
            runs.let_go(connection, run_id)
            if all(state is not None for _, state, _ in found):
                finish_if_done(connection, run_id, now)

        cycle.ledger.transact(write)
        log.warning(
            "No worker reports what becomes of the tasks of %s: it cannot hold back its schedule. "
            "Import tsumugi_celery in the app module that the workers load, with the same "
            "tsumugi_database_url as beat.",
            run_id,
            extra={"action": "run.untracked"},
        )


def _fail(cycle: Cycle, row: Row[Any], why: str) -> None:
    """Settle a task as FAILED, for the ledger and for whoever waits for its result."""
    now = cycle.clock.now()

    def change(connection: Connection) -> bool:
        moved = run_tasks.end(
            connection,
            row.run_id,
            row.task_id,
            states.FAILED,
            turn=row.turn,
            old=(row.state,),
            ended_at=now,
            error=why,
        )
        if moved:
            finish_if_done(connection, row.run_id, now)
        return moved

    if cycle.ledger.transact(change):
        log.error(
            "%s: task %s FAILED, %s",
            row.run_id,
            row.task_id,
            why,
            extra={"action": "run_task.lost"},
        )
        _tell_backend(cycle, row, why)


def _tell_backend(cycle: Cycle, row: Row[Any], why: str) -> None:
    """Store the failure where a chord that polls its header would look for ever."""
    try:
        cycle.app.backend.store_result(row.task_id, WorkerLostError(why), celery_states.FAILURE)
    except Exception as exc:  # noqa: BLE001 - each backend has errors of its own; the ledger has the truth
        log.debug("The result backend was not told of %s: %s", row.task_id, reason(exc))


def _redelivery_ms(cycle: Cycle) -> int:
    """Return how long an unacknowledged message of a lost worker stays out of sight, ms."""
    if transport_name(cycle.app) not in LOWER_IS_SOONER:
        return 0
    options = cycle.app.conf.broker_transport_options or {}
    return int(float(options.get("visibility_timeout") or VISIBILITY) * 1000)


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"
