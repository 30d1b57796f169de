"""The ledger of a running project, read and written from the test."""

import time
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.engine import Row

from tests.processes import Project
from tsumugi_celery.core import states
from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import node, occurrence, schedule, stretch


class Book:
    """Reads what became of a project's schedules.

    Args:
        project: the project.
        file: the name of its ledger's file.
    """

    def __init__(self, project: Project, file: str = "ledger.sqlite3") -> None:
        self.project = project
        self.file = project.folder / file
        self.url = f"sqlite:///{self.file}"
        self.ledger = Ledger(self.url)

    def all(self, query: Any) -> list[Row[Any]]:
        """The rows of a query; none before there is a ledger."""
        if not self.file.exists():
            return []
        try:
            with self.ledger.read() as connection:
                return list(connection.execute(query).all())
        except Exception as exc:
            if "no such table" in str(exc):
                return []
            raise

    def schedules(self) -> dict[str, Row[Any]]:
        """All schedules, by name."""
        return {row.name: row for row in self.all(select(schedule))}

    def occurrences(self, name: str) -> list[Row[Any]]:
        """The occurrences of one schedule, oldest first."""
        query = (
            select(occurrence)
            .join(schedule, schedule.c.id == occurrence.c.schedule_id)
            .where(schedule.c.name == name)
            .order_by(occurrence.c.scheduled_at)
        )
        return self.all(query)

    def last(self, name: str) -> Any:
        """The latest occurrence of a schedule, or None."""
        found = self.occurrences(name)
        return found[-1] if found else None

    def state(self, name: str) -> str | None:
        """The state of the latest occurrence."""
        last = self.last(name)
        return None if last is None else str(last.state)

    def stretches(self, name: str) -> list[Any]:
        """The stretches of one schedule, oldest first."""
        query = (
            select(stretch)
            .join(schedule, schedule.c.id == stretch.c.schedule_id)
            .where(schedule.c.name == name)
            .order_by(stretch.c.first_at)
        )
        return self.all(query)

    def nodes(self, role: str) -> list[Row[Any]]:
        """The beats or workers that are there."""
        return [row for row in self.all(select(node)) if row.role == role and not row.stopped_at]

    def fire(self, *names: str, at: int | None = None) -> int:
        """Make schedules with long intervals due once; returns their scheduled time."""
        at = at if at is not None else int(time.time() * 1000)
        with self.ledger.begin() as connection:
            connection.execute(
                update(schedule)
                .where(schedule.c.name.in_(names))
                .values(first_at=at, next_at=at, accounted_until=at - 1)
            )
        return at

    def wait(self, name: str, *wanted: str, timeout: float = 60, number: int = 1) -> Any:
        """Wait until the latest occurrence (at least the n-th) has one of these states."""

        def there() -> bool:
            found = self.occurrences(name)
            return len(found) >= number and found[-1].state in wanted

        self.project.wait_for(there, timeout, what=f"{name} to be {wanted}; {self.last(name)}")
        return self.last(name)

    def explain(self, name: str, every_ms: int) -> list[int]:
        """Check that each time since the registration has one place; returns the executed ones."""
        row = self.schedules()[name]
        until = row.accounted_until
        executed = [one.scheduled_at for one in self.occurrences(name) if one.scheduled_at <= until]
        places = list(executed)
        for one in self.stretches(name):
            places += range(one.first_at, min(one.last_at, until) + 1, every_ms)
            assert one.count == (one.last_at - one.first_at) // every_ms + 1
        assert sorted(places) == list(range(row.first_at, until + 1, every_ms))
        counted = {cause: getattr(row, f"n_{cause}") for cause in states.CAUSES}
        found = dict.fromkeys(states.CAUSES, 0)
        for one in self.stretches(name):
            found[one.cause] += one.count
        found[states.FAILURE] += len(
            [one for one in self.occurrences(name) if one.state == states.NOT_EXECUTED]
        )
        assert counted == found
        return executed
