"""What a beat has to do besides what is due, seen by one statement: most of the time nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, exists, false, or_, select

from tsumugi_celery.core import states
from tsumugi_celery.core.repeat import HELD
from tsumugi_celery.ledger import runs, waiting
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.ledger.schema import schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select


class Work(NamedTuple):
    """Which kinds of work there are.

    Attributes:
        waiting: something waits in the ledger whose time has come, or that has expired.
        held: a repeat waits for its run to end.
        running: an occurrence is running.
        runs: a Run has begun and not ended.
    """

    waiting: bool
    held: bool
    running: bool
    runs: bool


def look(connection: Connection, namespace: str, collections: Sequence[str], *, now: int) -> Work:
    """Return what there is to do.

    Args:
        connection: any connection.
        namespace: the namespace of the app.
        collections: the repeats of this process.
        now: epoch ms.
    """
    values = {"p_namespace": namespace, "p_now": now}
    row = connection.execute(_looking(tuple(sorted(collections))), values).one()
    return Work(*(bool(each) for each in row))


@lru_cache(maxsize=64)
def _looking(collections: tuple[str, ...]) -> Select[bool, bool, bool, bool]:
    # Made once: a beat asks twice a second, and making it costs more than asking.
    namespace: ColumnElement[str] = bindparam("p_namespace")
    now: ColumnElement[int] = bindparam("p_now")
    come = (t.c.due_at <= now) | (t.c.expires_at <= now)
    held = [
        exists().where(
            schedule.c.namespace == namespace,
            schedule.c.collection == each,
            schedule.c.next_at == HELD,
        )
        for each in collections
    ]
    return select(
        exists().where(waiting.waits(namespace, waiting.IN_LEDGER), come),
        or_(false(), *held),
        exists().where(t.c.state == states.RUNNING, t.c.namespace == namespace),
        exists().where(runs.live(namespace)),
    )
