"""Lost: messages that the broker no longer has, and workers that never report (design).

Sending again under the same id is always safe where the worker has the guard. So a message is
taken for lost once it is old and its queue is empty, or very old whatever the queue holds.

Where no worker of this package is there, whoever took the message off its queue has no guard, and
sending it again would run it twice. The result backend is asked instead; where it knows nothing,
the schedule is not held back, and beat says so once (decision 0036).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from celery import states as celery_states
from sqlalchemy import select, update

from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine import facts
from tsumugi_celery.engine.broker import bounded_options
from tsumugi_celery.engine.claim import Claim
from tsumugi_celery.engine.plan import BROKER
from tsumugi_celery.ledger import occurrences
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.ledger.schema import schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from tsumugi_celery.engine.cycle import Cycle
    from tsumugi_celery.engine.heartbeat import Watch

log = logging.getLogger(__name__)

#: How much longer a message is waited for while its queue is not empty, or cannot be looked at.
PATIENCE = 10
#: When a message that has left its queue is first asked for where no worker reports, seconds.
UNREPORTED_AFTER = 2.0
#: How many are looked at in one go.
BATCH = 200

_SETTLED = {
    celery_states.SUCCESS: states.COMPLETED,
    celery_states.FAILURE: states.FAILED,
    celery_states.REVOKED: states.CANCELLED,
}
_said_untracked: set[str] = set()


def find_lost(cycle: Cycle, watch: Watch) -> list[Claim]:
    """Return the occurrences whose messages are lost, claimed to be sent again."""
    now = cycle.clock.now()
    after = cycle.settings.republish_after
    if not watch.live_workers:
        # Workers of this package that are only away come back, and find their messages.
        _look_after_unreported(cycle, now, after if watch.known_workers else UNREPORTED_AFTER)
        return []
    with cycle.ledger.read() as connection:
        rows = _stale(connection, cycle.namespace, now - int(after * 1000))
    rows = [row for row in rows if _due(row, now, after)]
    if not rows:
        return []
    reserved = {each for info in watch.live_workers.values() for each in info.get("reserved", ())}
    empty: dict[str | None, bool] = {}
    missing = []
    queues = _queues_of(cycle, rows)
    for row in rows:
        queue = queues[row.id]
        if queue not in empty:
            empty[queue] = is_empty(cycle, queue)
        very_old = _age(row, now) > after * 1000 * PATIENCE * 2**row.republished
        if row.id not in reserved and (empty[queue] or very_old):
            missing.append(row)
    claims = cycle.ledger.transact(lambda connection: _take(connection, cycle, missing, now))
    facts.lost(log, [claim.occurrence_id for claim in claims])
    return claims


def _stale(connection: Connection, namespace: str, old: int) -> Sequence[Row[Any]]:
    queued = (t.c.state == states.QUEUED) & (t.c.fired_at < old)
    with_celery = (t.c.state == states.SCHEDULED) & (t.c.wait == BROKER) & (t.c.due_at < old)
    query = (
        select(t, schedule.c.name)
        .join(schedule, schedule.c.id == t.c.schedule_id)
        .where(t.c.state.in_((states.QUEUED, states.SCHEDULED)), t.c.namespace == namespace)
        .where(queued | with_celery, t.c.untracked.is_(False), t.c.kind == "job")
        .order_by(t.c.fired_at)
        .limit(BATCH)
    )
    return connection.execute(query).all()


def _age(row: Row[Any], now: int) -> int:
    return int(now - max(row.fired_at or 0, row.due_at or 0, row.claimed_at or 0))


def _due(row: Row[Any], now: int, after: float) -> bool:
    return bool(_age(row, now) > after * 1000 * 2**row.republished)


def is_empty(cycle: Cycle, queue: str | None) -> bool:
    """Return whether a queue is empty for certain; None stands for Celery's default queue."""
    app, timeout = cycle.app, cycle.settings.publish_timeout
    name = queue or app.conf.task_default_queue
    options = bounded_options(app, app.conf.broker_read_url, timeout)
    try:
        with app.connection_for_read(
            connect_timeout=timeout, transport_options=options
        ) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=timeout)
            count = connection.default_channel.queue_declare(queue=name, passive=True).message_count
    except Exception as exc:  # noqa: BLE001 - each transport has errors of its own
        # Redis knows no empty queues: one without a message does not exist.
        missing = str(getattr(exc, "reply_code", None) or getattr(exc, "code", "")) == "404"
        log.debug("Queue %s cannot be looked at: %s", name, reason(exc))
        return missing
    return bool(count == 0)


def _take(connection: Connection, cycle: Cycle, rows: Sequence[Row[Any]], now: int) -> list[Claim]:
    claims = []
    for row in rows:
        plan = cycle.plans.of(row)
        if plan is not None and occurrences.move(
            connection,
            row.id,
            states.CLAIMED,
            (t.c.state == row.state)
            & (t.c.attempt == row.attempt)
            & (t.c.republished == row.republished),
            claimed_by=cycle.heart.id,
            claimed_at=now,
            wait=None,
            due_at=None,
            republished=row.republished + 1,
        ):
            claims.append(
                Claim(
                    row.id, row.schedule_id, plan, row.scheduled_at, base=row.attempt, body=row.body
                )
            )
    return claims


def _look_after_unreported(cycle: Cycle, now: int, after: float) -> None:
    with cycle.ledger.read() as connection:
        rows = _stale(connection, cycle.namespace, now - int(after * 1000))
    queues = _queues_of(cycle, rows)
    empty = {queue: is_empty(cycle, queue) for queue in set(queues.values())}
    rows = [row for row in rows if empty[queues[row.id]]]
    if rows:
        _ask_backend(cycle, rows, now)


def _queues_of(cycle: Cycle, rows: Sequence[Row[Any]]) -> dict[str, str | None]:
    """Return where each was sent: by its own option, or as the app routes its task."""
    # Once a task: of many jobs that wait, most are of few tasks.
    tasks = {row.task for row in rows if row.queue is None and row.task is not None}
    routed = {task: _route(cycle, task) for task in tasks}
    return {row.id: row.queue or routed.get(row.task) for row in rows}


def _route(cycle: Cycle, task: str) -> str | None:
    try:
        queue = cycle.app.amqp.router.route({}, task).get("queue")
    except Exception as exc:  # noqa: BLE001 - routes may be functions of the user's
        log.debug("The route of %s is not known: %s", task, reason(exc))
        return None
    return str(getattr(queue, "name", queue))


def _ask_backend(cycle: Cycle, rows: Sequence[Row[Any]], now: int) -> None:
    """Settle what the result backend knows of; let go of the rest."""
    settled: list[tuple[str, str | None, str | None]] = []
    for row in rows:
        state, error = backend_state(cycle, row.id)
        settled.append((row.id, state, error))

    def write(connection: Connection) -> None:
        for identifier, state, error in settled:
            if state is None:
                connection.execute(update(t).where(t.c.id == identifier).values(untracked=True))
            else:
                occurrences.move(
                    connection, identifier, state, ended_at=now, error=error, untracked=True
                )

    cycle.ledger.transact(write)
    silent = [identifier for identifier, state, _ in settled if state is None]
    if silent and cycle.namespace not in _said_untracked:
        _said_untracked.add(cycle.namespace)
        log.error(
            "No worker reports what becomes of the jobs (%s, for example), and no result backend "
            "knows of them: 'skip' cannot hold a schedule back. Import tsumugi_celery in the app "
            "module that the workers load, with the same tsumugi_database_url as beat.",
            silent[0],
            extra={"action": "worker.untracked"},
        )


def backend_state(cycle: Cycle, identifier: str) -> tuple[str | None, str | None]:
    """Return the state that the result backend knows a task to have ended in, and its error."""
    try:
        result = cycle.app.AsyncResult(identifier)
        state = _SETTLED.get(result.state)
        return state, reason(result.result) if isinstance(result.result, BaseException) else None
    except Exception as exc:  # noqa: BLE001 - each backend has errors of its own; all mean "not known"
        log.debug("The result backend knows nothing of %s: %s", identifier, reason(exc))
        return None, None
