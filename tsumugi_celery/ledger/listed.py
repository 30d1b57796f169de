"""The list of schedules that code owns: filtered, ordered and cut into pages by the database.

Words are searched in a column that holds name and target without case (decision 0110), so all
databases agree on what is alike; their own functions for it do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import and_, case, false, func, literal, select

from tsumugi_celery.ledger.schema import schedule as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection


@dataclass(frozen=True, slots=True)
class Filter:
    """Which schedules are wanted.

    Attributes:
        search: words that all stand in the name or target, whatever their case.
        paused: only those that are paused, or that are not.
        kind: only 'job' or 'flow'.
        failing: only those with a last error, or without one.
    """

    search: str | None = None
    paused: bool | None = None
    kind: str | None = None
    failing: bool | None = None

    @property
    def words(self) -> list[str]:
        """The words without case."""
        return (self.search or "").casefold().split()

    def takes(self, name: str, target: str, kind: str) -> bool:
        """Return whether a schedule is wanted that has no row yet: it is not paused or failing."""
        text = search_text(name, target)
        return (
            all(word in text for word in self.words)
            and not self.paused
            and not self.failing
            and self.kind in {None, kind}
        )

    def conditions(self, dialect: str) -> list[ColumnElement[bool]]:
        """Return what a row must fulfil."""
        place = func.strpos if dialect == "postgresql" else func.instr
        wanted: list[ColumnElement[bool]] = [t.c.active.is_(True)]
        for word in self.words:
            text = literal(word, t.c.search_text.type)
            wanted.append(place(t.c.search_text, text) > 0 if _storable(word) else false())
        if self.paused is not None:
            wanted.append(t.c.paused.is_(self.paused))
        if self.kind is not None:
            wanted.append(t.c.kind == self.kind)
        if self.failing is not None:
            wanted.append(t.c.last_error_at.is_not(None) == self.failing)
        return wanted


@dataclass(frozen=True, slots=True)
class Counted:
    """How many schedules there are.

    Attributes:
        matching: how many are wanted.
        rows: a value that changes when rows come or go.
    """

    matching: int
    rows: tuple[int, int | None]


def search_text(name: str, target: str) -> str:
    """Return what the words of a search are looked for in; no word reaches over the blank."""
    return f"{name} {target}".casefold()


def count(connection: Connection, namespace: str, wanted: Filter) -> Counted:
    """Count the schedules that are wanted."""
    fits = and_(*wanted.conditions(connection.dialect.name))
    query = select(func.count(), func.max(t.c.id), func.count(case((fits, 1)))).where(
        t.c.namespace == namespace, t.c.collection == ""
    )
    rows, newest, matching = connection.execute(query).one()
    return Counted(matching, (rows, newest))


def page(
    connection: Connection, namespace: str, wanted: Filter, *, limit: int | None, offset: int
) -> Sequence[tuple[str, int]]:
    """Return name and row number of the schedules that are wanted, in the order of their names.

    Args:
        connection: any connection.
        namespace: the namespace of the app.
        wanted: which.
        limit: how many at the most; None for all.
        offset: how many to leave out before them.
    """
    query = (
        select(t.c.name, t.c.id)
        .where(t.c.namespace == namespace, t.c.collection == "")
        .where(*wanted.conditions(connection.dialect.name))
        .order_by(t.c.name)
        .limit(limit)
        .offset(offset)
    )
    return [(row.name, row.id) for row in connection.execute(query)]


def _storable(word: str) -> bool:
    """Return whether a text can be sent to every database; what cannot stands in no row."""
    try:
        return "\x00" not in word and bool(word.encode())
    except UnicodeEncodeError:
        return False
