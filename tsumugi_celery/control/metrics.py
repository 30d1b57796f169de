"""Numbers for monitoring, read from the ledger: the same from whichever process is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from tsumugi_celery.core import states
from tsumugi_celery.ledger import lateness, nodes
from tsumugi_celery.ledger.schema import occurrence as o
from tsumugi_celery.ledger.schema import schedule as s

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from tsumugi_celery.control.source import Source


@dataclass(frozen=True, slots=True)
class NodeAge:
    """A beat or worker: its role, its name, and how old its last heartbeat is, in seconds."""

    role: str
    hostname: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """What is measured.

    Attributes:
        schedules: how many are defined.
        paused: how many of them are paused.
        occurrences: how many rows the ledger holds, by state; retention takes old ones away.
        not_executed: scheduled times that were not executed, by cause, since each schedule was
            registered; retention leaves them alone.
        lateness: upper bound in ms (`lateness.BEYOND` for the rest) -> how many were sent so late.
        lateness_ms: the lateness of all together, ms.
        overdue_ms: for how long the longest waiting schedule has been due, ms; 0 for none.
        nodes: beats and workers that have not ended in good order.
    """

    schedules: int
    paused: int
    occurrences: Mapping[str, int]
    not_executed: Mapping[str, int]
    lateness: Mapping[int, int]
    lateness_ms: int
    overdue_ms: int
    nodes: tuple[NodeAge, ...]


def measure(source: Source) -> Metrics:
    """Read all numbers in one transaction."""
    now = source.now()
    with source.read() as connection:
        mine = (s.c.namespace == source.namespace) & s.c.active.is_(True) & (s.c.collection == "")
        count, paused, *causes = connection.execute(
            select(
                func.count(),
                func.count().filter(s.c.paused.is_(True))
                if connection.dialect.name != "mysql"
                else func.coalesce(func.sum(s.c.paused), 0),
                *(func.coalesce(func.sum(s.c[f"n_{cause}"]), 0) for cause in states.CAUSES),
            ).where(mine)
        ).one()
        buckets = lateness.of_namespace(connection, source.namespace)
        return Metrics(
            schedules=count,
            paused=int(paused),
            occurrences=_by_state(connection, source.namespace),
            not_executed=dict(zip(states.CAUSES, map(int, causes), strict=True)),
            lateness={row.bound_ms: row.number for row in buckets},
            lateness_ms=sum(row.total_ms for row in buckets),
            overdue_ms=_overdue(connection, source.namespace, now),
            nodes=tuple(
                NodeAge(row.role, row.hostname, max(0, now - row.seen_at) / 1000)
                for row in nodes.of_namespace(connection, source.namespace)
                if row.stopped_at is None
            ),
        )


def _by_state(connection: Connection, namespace: str) -> dict[str, int]:
    query = (
        select(o.c.state, func.count().label("number"))
        .where(o.c.namespace == namespace)
        .group_by(o.c.state)
    )
    found = {row.state: row.number for row in connection.execute(query)}
    return {state: found.get(state, 0) for state in states.STATES}


def _overdue(connection: Connection, namespace: str, now: int) -> int:
    query = select(func.min(s.c.next_at)).where(
        s.c.namespace == namespace, s.c.next_at <= now, s.c.paused.is_(False)
    )
    oldest = connection.execute(query).scalar()
    return 0 if oldest is None else now - int(oldest)
