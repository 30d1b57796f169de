"""Release: send jobs that wait in the ledger, once nothing holds them back any more.

A job waits for a slot of its `concurrencyKey` or binding, for its binding to be resumed, or for its
next attempt after its worker was lost. Oldest first; a limit holds across all beats, since
whoever counts holds the lock of the binding's row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import update

from tsumugi_celery.core import states
from tsumugi_celery.engine.claim import Claim
from tsumugi_celery.engine.kept import definition_of
from tsumugi_celery.engine.plans import Plans
from tsumugi_celery.engine.recover import give_up
from tsumugi_celery.ledger import bindings, waiting
from tsumugi_celery.ledger.schema import occurrence as t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Row

    from tsumugi_celery.definitions.model import Binding
    from tsumugi_celery.engine.plan import Plan


def release(
    connection: Connection,
    namespace: str,
    plans: Mapping[str, Plan],
    *,
    node_id: str,
    now: int,
    limit: int,
    only: str | None = None,
) -> list[Claim]:
    """Claim waiting jobs that may be sent now, and cancel those that have expired.

    Args:
        connection: a transaction that writes.
        namespace: the namespace of the app.
        plans: all schedules of this process, by name; a plain mapping sends nothing that was
            defined otherwise when it was written down.
        node_id: this node.
        now: epoch ms.
        limit: how many at the most.
        only: claim this one alone, if its turn has come.

    Returns:
        The claims to send.
    """
    waiting.expire(connection, namespace, now=now)
    paused = bindings.paused(connection, namespace)
    rows = [
        row
        for row in waiting.ready_again(connection, namespace, now=now, limit=limit)
        if row.binding not in paused
    ]
    groups = [
        each for each in waiting.groups(connection, namespace, now=now) if each[0] not in paused
    ]
    if groups:
        names = sorted({name for name, _ in groups})
        bindings.lock(connection, namespace, names)
        slots = _Slots(plans, waiting.used(connection, namespace, names))
        for each in groups:
            if each[0] not in slots.bindings:
                slots.learn(each[0], waiting.oldest(connection, namespace, each, now=now, limit=1))
        held = [
            row
            for each in groups
            if slots.free(*each) > 0
            for row in waiting.oldest(connection, namespace, each, now=now, limit=limit)
        ]
        held.sort(key=lambda row: (row.scheduled_at, row.id))
        rows += [row for row in held if slots.take(row)]
    return [
        claim
        for row in rows[:limit]
        if only in {None, row.id}
        for claim in [_claim(connection, plans, row, node_id, now)]
        if claim is not None
    ]


@dataclass(slots=True)
class _Slots:
    """How many jobs of each binding, and of each key in it, are let through."""

    plans: Mapping[str, Plan]
    used: Counter[waiting.Group]
    bindings: dict[str, Binding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for plan in self.plans.values():
            binding = plan.definition.binding
            if binding is not None:
                self.bindings[binding.name] = binding

    def learn(self, name: str, rows: Sequence[Row[Any]]) -> None:
        """Take the limits of a binding that is not defined here from one of its jobs."""
        for row in rows:
            binding = definition_of(row).binding
            if binding is not None:
                self.bindings[name] = binding

    def free(self, name: str, key: str | None) -> float:
        """Return how many more may be let through; without a limit, without an end."""
        binding = self.bindings.get(name)
        total = binding.concurrency if binding is not None else None
        per_key = binding.per_key_concurrency if binding is not None else 1
        return min(
            float("inf") if total is None else total - self.used[name, None],
            float("inf") if key is None else per_key - self.used[name, key],
        )

    def take(self, row: Row[Any]) -> bool:
        """Take a slot for a job, if one is free."""
        if self.free(row.binding, row.concurrency_key) <= 0:
            return False
        self.used[row.binding, None] += 1
        if row.concurrency_key is not None:
            self.used[row.binding, row.concurrency_key] += 1
        return True


def _claim(
    connection: Connection, plans: Mapping[str, Plan], row: Row[Any], node_id: str, now: int
) -> Claim | None:
    plan = plans.of(row) if isinstance(plans, Plans) else plans.get(row.name)
    if plan is None:
        if not row.schedule_active:
            give_up(connection, row, now=now)
        return None
    taken = connection.execute(
        update(t)
        .where(t.c.id == row.id, t.c.state == states.SCHEDULED, t.c.wait == row.wait)
        .values(state=states.CLAIMED, claimed_by=node_id, claimed_at=now, wait=None, due_at=None)
    )
    if not taken.rowcount:
        return None
    return Claim(row.id, row.schedule_id, plan, row.scheduled_at, base=row.attempt, body=row.body)
