"""Bindings: listing them, and holding back the jobs enqueued to one (section 4 of the contract)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import case, func, select, update

from tsumugi_celery.control.views import BindingView
from tsumugi_celery.core import states
from tsumugi_celery.core.errors import UnknownBinding
from tsumugi_celery.engine.plan import BINDING, SLOT
from tsumugi_celery.ledger import bindings
from tsumugi_celery.ledger.schema import binding as t
from tsumugi_celery.ledger.schema import occurrence as o
from tsumugi_celery.ledger.schema import schedule

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from tsumugi_celery.control.source import Source


def listed(source: Source) -> list[BindingView]:
    """Return the bindings that the code of this process or the ledger knows, by name."""
    with source.read() as connection:
        return _views(source, connection)


def set_paused(source: Source, name: str, *, paused: bool) -> BindingView:
    """Hold back, or let go, all jobs enqueued to a binding; repeating it changes nothing.

    Raises:
        UnknownBinding: no binding has this name.
    """

    def work(connection: Connection) -> list[BindingView]:
        known = {each.name for each in _views(source, connection)}
        if name not in known:
            raise UnknownBinding(name, sorted(known))
        bindings.ensure(connection, source.namespace, name)
        connection.execute(
            update(t)
            .where(t.c.namespace == source.namespace, t.c.name == name, t.c.paused.is_not(paused))
            .values(paused=paused, paused_at=source.now() if paused else None)
        )
        return _views(source, connection)

    return next(each for each in source.transact(work) if each.name == name)


def _views(source: Source, connection: Connection) -> list[BindingView]:
    defined = source.bindings
    rows: dict[str, Row[Any]] = {
        row.name: row
        for row in connection.execute(select(t).where(t.c.namespace == source.namespace))
    }
    elsewhere = connection.execute(
        select(schedule.c.target)
        .distinct()
        .where(
            schedule.c.namespace == source.namespace,
            schedule.c.active.is_(True),
            schedule.c.kind == "job",
        )
    ).scalars()
    counts = _counts(source, connection)
    views = []
    for name in sorted({*defined, *rows, *elsewhere, *counts}):
        code, row = defined.get(name), rows.get(name)
        waiting, unfinished = counts.get(name, (0, 0))
        views.append(
            BindingView(
                name=name,
                task=code.task if code else None,
                queue=code.queue if code else None,
                shards=code.shards if code else 1,
                per_key_concurrency=code.per_key_concurrency if code else 1,
                concurrency=code.concurrency if code else None,
                paused=bool(row is not None and row.paused),
                paused_at=row.paused_at if row is not None else None,
                waiting=waiting,
                unfinished=unfinished,
            )
        )
    return views


def _counts(source: Source, connection: Connection) -> dict[str, tuple[int, int]]:
    held = case((o.c.wait.in_((SLOT, BINDING)), 1), else_=0)
    query = (
        select(o.c.binding, func.sum(held), func.count())
        .where(
            o.c.state.in_(states.UNFINISHED),
            o.c.namespace == source.namespace,
            o.c.binding.is_not(None),
        )
        .group_by(o.c.binding)
    )
    return {name: (int(waiting), count) for name, waiting, count in connection.execute(query)}
