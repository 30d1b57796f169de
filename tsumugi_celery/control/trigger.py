"""Trigger: run a schedule once now, from the calling process (section 3 of the contract).

The occurrence is claimed by this process and goes the way of every other: resolve, publish,
settle. A heartbeat of its own stands behind the claim, so that a beat takes it over only if this
process dies in the middle.
"""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tsumugi_celery.control.registering import ensure_registered
from tsumugi_celery.core import states
from tsumugi_celery.core.errors import DispatchError, NotDefinedHere
from tsumugi_celery.core.ids import occurrence_id
from tsumugi_celery.engine import facts
from tsumugi_celery.engine.claim import Claim
from tsumugi_celery.engine.dispatch import Dispatcher
from tsumugi_celery.engine.heartbeat import CONTROL, Heart
from tsumugi_celery.engine.plan import make_plan, must_wait, occurrence_values
from tsumugi_celery.engine.release import release
from tsumugi_celery.engine.resolve import Resolver
from tsumugi_celery.ledger import bindings, claiming, nodes, occurrences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from tsumugi_celery.control.source import Source
    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.engine.dispatch import Outcome
    from tsumugi_celery.engine.plan import Plan

log = logging.getLogger(__name__)


def trigger(source: Source, name: str) -> str:
    """Run a schedule once now; its next regular time does not move.

    Works while the schedule is paused, and with no beat running. Overlap is not evaluated. Limits
    and a paused binding hold it back like any other job; it is then sent by a beat.

    Returns:
        The id of the occurrence.

    Raises:
        UnknownSchedule: no schedule has this name.
        NotDefinedHere: the code of this process does not define it.
        DefinitionError: the definitions of this process are wrong.
        DispatchError: it could not be enqueued; recorded as a failure, and it will not run later.
    """
    ensure_registered(source, name)
    plan = make_plan(source.app, source.state.settings, _definition(source, name))
    with _beating(source) as heart:
        claim, identifier = _claim(source, plan, heart)
        if claim is None:
            return identifier
        outcome = _dispatch(source, claim, heart)
    facts.sent(log, [outcome])
    if outcome.error is not None and not _runs_all_the_same(source, identifier):
        raise DispatchError(f"{name!r} was not run: {outcome.error}")
    return identifier


def _definition(source: Source, name: str) -> Definition:
    found = source.definitions.schedules.get(name)
    if found is None:
        raise NotDefinedHere(
            f"{name!r} is in the ledger, but the code of this process does not define it, so its "
            f"payload is not known here. Trigger it from a process that loads the app module "
            f"of its beat."
        )
    return found


@contextmanager
def _beating(source: Source) -> Iterator[Heart]:
    settings = source.state.settings
    interval = min(settings.heartbeat, settings.presumed_gone / 10)
    heart = Heart(source.state.ledger, source.namespace, CONTROL, interval, source.state.clock)
    heart.start()
    try:
        yield heart
    finally:
        heart.stop()
        source.transact(lambda connection: nodes.forget(connection, [heart.id]))


def _claim(source: Source, plan: Plan, heart: Heart) -> tuple[Claim | None, str]:
    """Write the occurrence down; no claim where it has to wait."""
    now = source.now()

    def work(connection: Connection) -> tuple[Claim | None, str]:
        row = source.row(connection, plan.definition.name)
        if (
            row is None
        ):  # pragma: no cover - it was registered a moment ago, and rows are not deleted
            raise source.unknown(connection, plan.definition.name)
        wait = must_wait(plan, bindings.paused(connection, source.namespace))
        identifier = _insert(connection, source, plan, row.id, now, heart, wait)
        if wait is None:
            return Claim(identifier, row.id, plan, now, body=plan.body), identifier
        released = release(
            connection,
            source.namespace,
            {row.name: plan},
            node_id=heart.id,
            now=now,
            limit=source.state.settings.batch_size,
            only=identifier,
        )
        return (released[0] if released else None), identifier

    return source.transact(work)


def _insert(  # noqa: PLR0917 - what a row is made of
    connection: Connection,
    source: Source,
    plan: Plan,
    schedule_id: int,
    now: int,
    heart: Heart,
    wait: str | None,
) -> str:
    number = 0
    while True:
        number += 1
        identifier = occurrence_id(source.namespace, plan.definition.name, now, number)
        values = occurrence_values(
            plan,
            identifier=identifier,
            schedule_id=schedule_id,
            namespace=source.namespace,
            scheduled_at=now,
            node_id=heart.id,
            now=now,
            wait=wait,
            manual=number,
        )
        if claiming.insert_or_lose(connection, [values]):
            return identifier


def _dispatch(source: Source, claim: Claim, heart: Heart) -> Outcome:
    state = source.state
    dispatcher = Dispatcher(
        source.app, state.ledger, state.settings, source.namespace, heart.id, state.clock
    )
    try:
        if claim.plan.body_error is not None:
            return dispatcher.fail(claim, claim.plan.body_error)
        arguments, error = _arguments(source, claim)
        if arguments is None:
            return dispatcher.fail(
                claim, error or DispatchError("the payload callable gave nothing")
            )
        (outcome,) = dispatcher.send([(claim, *arguments)])
        return outcome
    finally:
        dispatcher.close()


def _arguments(
    source: Source, claim: Claim
) -> tuple[tuple[tuple[Any, ...], dict[str, Any]] | None, Exception | None]:
    """Make the arguments; a callable is bounded as it is in a beat."""
    payload = claim.definition.payload
    if payload.static and claim.definition.kind == "job":
        info = claim.definition.occurrence(claim.scheduled_at, claim.occurrence_id)
        return payload.call(info), None
    woken = threading.Event()
    clock = source.state.clock
    timeout = source.state.settings.payload_timeout
    resolver = Resolver(source.app, timeout, clock.monotonic, woken.set)
    resolver.submit(claim)
    while True:
        woken.wait(resolver.next_deadline())
        woken.clear()
        for _, arguments, error in resolver.collect():
            return arguments, error


def _runs_all_the_same(source: Source, identifier: str) -> bool:
    """Return whether another node took the claim over while this process slept, and sent it."""
    with source.read() as connection:
        row = occurrences.get(connection, identifier)
    return row is not None and row.state != states.NOT_EXECUTED
