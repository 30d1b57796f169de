"""Counts what a ledger is asked: statements, rows written, and the steps SQLite takes for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event

BOUNDS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "PRAGMA")


@dataclass
class Count:
    """What was asked for.

    Attributes:
        statements: the text of each, without those that only bound transactions.
        sizes: how many sets of values each was given.
        steps: instructions of SQLite's machine: what it reads, whether or not it returns it.
    """

    statements: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    steps: int = 0

    @property
    def rows(self) -> int:
        """How many sets of values were given in all."""
        return sum(self.sizes)


@contextmanager
def counting(ledger: Any) -> Iterator[Count]:
    """Count what this process asks an SQLite ledger."""
    count = Count()

    def step() -> int:
        count.steps += 1
        return 0

    def note(connection, _cursor, statement, parameters, _context, many):
        connection.connection.driver_connection.set_progress_handler(step, 1)
        if not statement.startswith(BOUNDS):
            count.statements.append(statement)
            count.sizes.append(len(parameters) if many else 1)

    engines = [ledger._engine_of(autocommit=each) for each in (False, True)]
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield count
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)
