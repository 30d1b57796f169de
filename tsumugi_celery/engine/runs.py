"""Runs as the dispatcher sees them: what it does for a flow in place of sending one message."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.errors import DispatchError
from tsumugi_celery.engine.message import Outgoing
from tsumugi_celery.flows import start
from tsumugi_celery.flows.canvas import Canvas, restore
from tsumugi_celery.flows.end import finish_if_done
from tsumugi_celery.flows.publishing import Start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from celery import Celery
    from sqlalchemy import Connection

    from tsumugi_celery.engine.claim import Claim
    from tsumugi_celery.engine.clock import Clock
    from tsumugi_celery.ledger.ledger import Ledger


class RunStarter:
    """Starts Runs for a dispatcher.

    Args:
        app: the Celery app.
        ledger: where Runs are written down.
        namespace: the namespace of the app.
        node_id: who claimed.
        clock: the time.
    """

    def __init__(
        self, app: Celery, ledger: Ledger, namespace: str, node_id: str, clock: Clock
    ) -> None:
        """Join the parts; nothing is connected yet."""
        self.app = app
        self.ledger = ledger
        self.namespace = namespace
        self.node_id = node_id
        self.clock = clock
        self._begun: set[str] = set()
        self._sent: dict[str, Sequence[Mapping[str, Any]]] = {}

    def outgoing(self, claim: Claim, args: tuple[Any, ...]) -> Outgoing:
        """Build the canvas, unless that was done before, and write it down.

        Raises:
            DispatchError: the canvas cannot be started, or somebody else has the claim by now.
            DBAPIError: the ledger is away: nothing is sent unrecorded.
            Exception: whatever the builder raises.
        """
        definition = claim.definition
        canvas = args[0]
        if not isinstance(canvas, Canvas):
            canvas = start.build(self.app, definition, claim.occurrence_id, canvas)
        recorded = self.ledger.transact(
            lambda connection: start.record(
                connection,
                claim.occurrence_id,
                canvas,
                node_id=self.node_id,
                now=self.clock.now(),
                deadline_ms=definition.deadline_ms,
            )
        )
        if not recorded:
            raise DispatchError("it was cancelled, or taken over by another process, meanwhile")
        if claim.body is not None:
            self._begun.add(claim.occurrence_id)
        return Outgoing(
            claim.occurrence_id,
            claim.schedule_id,
            claim.scheduled_at,
            definition.kind,
            definition.target,
            (canvas,),
            {},
            body=canvas.text,
        )

    def send(self, each: Outgoing, producer: Any) -> None:
        """Send the first messages of a Run; called a second time when the broker failed.

        Raises:
            DispatchError: it cannot be sent a second time.
            Exception: what the broker raises.
        """
        run_id = each.occurrence_id
        fields = {
            "ledger": self.ledger.id,
            "ledger_url": str(self.ledger),
            "namespace": self.namespace,
        }
        again = run_id in self._begun
        self._begun.add(run_id)
        self._sent[run_id] = start.send(
            self.app,
            each.args[0],
            Start(run_id, fields, self.clock.now()),
            producer,
            again=again,
        )

    def settle(self, connection: Connection, run_id: str, at: int) -> None:
        """Note that the first messages are out."""
        rows = self._sent.get(run_id, ())
        start.settle(connection, run_id, rows, node_id=self.node_id, at=at)

    def fail(self, connection: Connection, run_id: str, error: str, at: int) -> bool:
        """Note that a start failed; False where nothing of the Run had started."""
        if start.fail(connection, run_id, error, node_id=self.node_id, at=at):
            return True
        start.forget_tasks(connection, run_id, error, at=at)
        return False

    def settled(self, run_ids: Sequence[str]) -> None:
        """End those Runs whose tasks were all faster than their beat.

        Raises:
            DBAPIError: the ledger is away; a chore of any beat ends them later.
        """
        for run_id in run_ids:
            self._begun.discard(run_id)
            self._sent.pop(run_id, None)
            self.ledger.transact(partial(self._finish, run_id))

    def _finish(self, run_id: str, connection: Connection) -> None:
        finish_if_done(connection, run_id, self.clock.now())


def arguments_of(app: Celery, claim: Claim) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what a claim is sent with; user code runs here, for as long as it likes.

    For a job the arguments; for a Run its canvas, alone.

    Raises:
        DispatchError: the canvas cannot be started.
        Exception: whatever the callable, or the builder of a flow, raises.
    """
    definition = claim.definition
    info = definition.occurrence(claim.scheduled_at, claim.occurrence_id)
    args, kwargs = definition.payload.call(info)
    if definition.kind != "flow":
        return args, kwargs
    return (start.build(app, definition, claim.occurrence_id, args[0]),), {}


def kept_canvas(claim: Claim) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the canvas that an earlier start of the Run has written down."""
    return (restore(claim.body or ""),), {}
