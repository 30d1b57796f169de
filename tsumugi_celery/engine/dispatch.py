"""Publish and settle: hand claims to the broker, then write down what became of them.

Protocol steps 3 and 4. A settle that the ledger cannot take at the moment is kept and written
later: until then the claim stands, and a worker may already be ahead of it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core import states
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.engine import message
from tsumugi_celery.engine.broker import Sender
from tsumugi_celery.engine.message import Outgoing
from tsumugi_celery.engine.plan import RETRY, serializer_of
from tsumugi_celery.engine.routing import header, with_header
from tsumugi_celery.engine.runs import RunStarter
from tsumugi_celery.ledger import occurrences, schedules
from tsumugi_celery.ledger.schema import occurrence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celery import Celery
    from sqlalchemy import Connection

    from tsumugi_celery.engine.claim import Claim
    from tsumugi_celery.engine.clock import Clock
    from tsumugi_celery.engine.settings import Settings
    from tsumugi_celery.ledger.ledger import Ledger

    #: A claim, and the arguments to send it with.
    Ready = tuple[Claim, tuple[Any, ...], dict[str, Any]]

log = logging.getLogger(__name__)

#: When the next attempt of a job is sent again after it could not be sent, ms.
SEND_AGAIN = 5000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one claim: sent, or not, with the reason."""

    claim: Claim
    at: int
    body: str | None
    queue: str | None
    error: str | None


class Dispatcher:
    """Sends claims and settles them.

    Args:
        app: the Celery app.
        ledger: where claims are settled.
        settings: for the bounds of waiting.
        namespace: the namespace of the app.
        node_id: who claimed.
        clock: the time.
    """

    def __init__(  # noqa: PLR0917 - the parts it joins
        self,
        app: Celery,
        ledger: Ledger,
        settings: Settings,
        namespace: str,
        node_id: str,
        clock: Clock,
    ) -> None:
        """Join the parts; nothing is connected yet."""
        self.app = app
        self.ledger = ledger
        self.namespace = namespace
        self.node_id = node_id
        self.clock = clock
        self.sender = Sender(app, settings.publish_timeout, self._apply)
        self.runs = RunStarter(app, ledger, namespace, node_id, clock)
        self._unsettled: list[Outcome] = []

    def in_hand(self) -> set[str]:
        """Return the ids of the claims whose outcome the ledger has not taken yet."""
        return {each.claim.occurrence_id for each in self._unsettled}

    def send(self, ready: Sequence[Ready]) -> list[Outcome]:
        """Publish claims whose arguments are known, and settle them.

        Returns:
            What became of each.
        """
        outcomes = self.publish(ready)
        self.settle()
        return outcomes

    def publish(self, ready: Sequence[Ready]) -> list[Outcome]:
        """Hand claims to the broker; what became of each is kept for `settle`."""
        outcomes: list[Outcome] = []
        messages: list[tuple[Claim, Outgoing]] = []
        url = str(self.ledger)
        for claim, args, kwargs in ready:
            try:
                messages.append((claim, self._outgoing(claim, args, kwargs, url)))
            except Exception as exc:  # noqa: BLE001 - arguments that cannot be serialized fail alone
                outcomes.append(self._failed(claim, exc))
        if messages:
            errors = self.sender.send([each for _, each in messages])
            now = self.clock.now()
            for (claim, each), error in zip(messages, errors, strict=True):
                if error is None:
                    queue = each.options.get("queue")
                    shown = queue if isinstance(queue, str) else getattr(queue, "name", None)
                    outcomes.append(Outcome(claim, now, each.body, shown, None))
                else:
                    outcomes.append(self._failed(claim, error))
        self._unsettled += outcomes
        return outcomes

    def fail(self, claim: Claim, error: Exception) -> Outcome:
        """Settle a claim that could not be sent at all."""
        outcome = self._failed(claim, error)
        self._unsettled.append(outcome)
        self.settle()
        return outcome

    def settle(self) -> None:
        """Write down the outcomes that the ledger does not have yet.

        Raises:
            DBAPIError: the ledger is away; they are kept for the next call.
        """
        if not self._unsettled:
            return
        outcomes = self._unsettled
        self.ledger.transact(lambda connection: self._write(connection, outcomes))
        self._unsettled = []
        self.runs.settled(
            [each.claim.occurrence_id for each in outcomes if each.claim.definition.kind == "flow"]
        )

    def close(self) -> None:
        """Close the broker connection."""
        self.sender.close()

    def _outgoing(
        self, claim: Claim, args: tuple[Any, ...], kwargs: dict[str, Any], ledger_url: str
    ) -> Outgoing:
        definition = claim.definition
        if definition.kind == "flow":
            return self.runs.outgoing(claim, args)
        fields = header(
            definition,
            ledger_id=self.ledger.id,
            ledger_url=ledger_url,
            namespace=self.namespace,
            schedule=definition.name,
            scheduled_at=claim.scheduled_at,
            base=claim.base,
            until=claim.plan.until,
        )
        options = with_header(claim.plan.options, fields)
        if definition.options.expires_ms is not None:
            left = claim.scheduled_at + definition.options.expires_ms - self.clock.now()
            options["expires"] = max(left, 1) / 1000
        body = claim.body
        if body is None:
            body = message.pack(args, kwargs, serializer_of(self.app, definition))
        return Outgoing(
            claim.occurrence_id,
            claim.schedule_id,
            claim.scheduled_at,
            definition.kind,
            str(definition.task),
            args,
            kwargs,
            options,
            body,
        )

    def _apply(self, each: Outgoing, producer: Any) -> None:
        if each.kind == "flow":
            self.runs.send(each, producer)
            return
        task = self.app.tasks.get(each.target)
        send = task.apply_async if task is not None else self._send_by_name(each.target)
        # No retry inside kombu: the sender replaces a broken connection itself, within its bounds.
        send(
            args=list(each.args),
            kwargs=dict(each.kwargs),
            **{"task_id": each.occurrence_id, "producer": producer, "retry": False, **each.options},
        )

    def _send_by_name(self, name: str) -> Any:
        def send(**options: Any) -> object:
            return self.app.send_task(name, **options)

        return send

    def _failed(self, claim: Claim, error: Exception) -> Outcome:
        return Outcome(claim, self.clock.now(), None, None, reason(error))

    def _write(self, connection: Connection, outcomes: Sequence[Outcome]) -> None:
        sent = [each for each in outcomes if each.error is None]
        occurrences.settle_sent(
            connection,
            self.node_id,
            [
                {
                    "id": each.claim.occurrence_id,
                    "fired_at": each.at,
                    "body": each.body if each.claim.body is None else None,
                    "queue": each.queue,
                }
                for each in sent
                if each.claim.definition.kind == "job"
            ],
        )
        for each in sent:
            if each.claim.definition.kind == "flow":
                self.runs.settle(connection, each.claim.occurrence_id, each.at)
        schedules.record_fired(
            connection,
            [
                {
                    "schedule_id": each.claim.schedule_id,
                    "scheduled_at": each.claim.scheduled_at,
                    "fired_at": each.at,
                    "job_id": each.claim.occurrence_id
                    if each.claim.definition.kind == "job"
                    else None,
                    "run_id": each.claim.occurrence_id
                    if each.claim.definition.kind == "flow"
                    else None,
                }
                for each in sent
            ],
        )
        for each in outcomes:
            if each.error is not None:
                self._write_failure(connection, each, each.error)

    def _write_failure(self, connection: Connection, outcome: Outcome, error: str) -> None:
        claim = outcome.claim
        if claim.definition.kind == "flow" and self.runs.fail(
            connection, claim.occurrence_id, error, outcome.at
        ):
            return
        if claim.base:
            # It has run before, so it is no occurrence "not executed": its next attempt waits.
            occurrences.move(
                connection,
                claim.occurrence_id,
                states.SCHEDULED,
                occurrence.c.claimed_by == self.node_id,
                wait=RETRY,
                due_at=outcome.at + SEND_AGAIN,
                error=error,
            )
            return
        if occurrences.move(
            connection,
            claim.occurrence_id,
            states.NOT_EXECUTED,
            occurrence.c.claimed_by == self.node_id,
            cause=states.FAILURE,
            error=error,
            ended_at=outcome.at,
        ):
            schedules.record_failure(
                connection,
                claim.schedule_id,
                scheduled_at=claim.scheduled_at,
                at=outcome.at,
                error=error,
            )
