"""Short ways to fill a ledger."""

from typing import Any

from sqlalchemy import insert, select

from tsumugi_celery.core import states
from tsumugi_celery.ledger import schedules
from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import occurrence, schedule

NOW = 1_800_000_000_000


def a_schedule(name: str = "one", namespace: str = "proj", **more: Any) -> dict[str, Any]:
    """The values of a schedule that is due."""
    return {
        "namespace": namespace,
        "collection": "",
        "name": name,
        "kind": "job",
        "form": "tsumugi",
        "target": "proj.work",
        "every_ms": 1000,
        "cron": None,
        "time_zone": None,
        "schedule_text": "every second",
        "overlap": "skip",
        "options": "{}",
        "fingerprint": "f" * 32,
        "timing_fingerprint": "t" * 32,
        "registered_at": NOW - 1000,
        "first_at": NOW,
        "next_at": NOW,
        "accounted_until": NOW - 1000,
        **more,
    }


def an_occurrence(identifier: str, schedule_id: int, at: int = NOW, **more: Any) -> dict[str, Any]:
    """The values of a claimed occurrence."""
    return {
        "id": identifier,
        "schedule_id": schedule_id,
        "namespace": "proj",
        "scheduled_at": at,
        "manual": 0,
        "kind": "job",
        "state": states.CLAIMED,
        "target": "proj.work",
        "task": "proj.work",
        "guarantee": "at-least-once",
        "claimed_by": "me",
        "claimed_at": NOW,
        **more,
    }


def add_schedule(ledger: Ledger, name: str = "one", **more: Any) -> int:
    """Insert a schedule and return its row number."""
    values = a_schedule(name, **more)
    with ledger.begin() as connection:
        schedules.insert_all(connection, [values])
        query = select(schedule.c.id).where(
            schedule.c.name == name, schedule.c.namespace == values["namespace"]
        )
        return int(connection.execute(query).scalar_one())


def add_occurrence(ledger: Ledger, identifier: str, schedule_id: int, **more: Any) -> None:
    """Insert an occurrence."""
    with ledger.begin() as connection:
        connection.execute(
            insert(occurrence).values(an_occurrence(identifier, schedule_id, **more))
        )


def the_occurrence(ledger: Ledger, identifier: str) -> Any:
    """Read an occurrence."""
    with ledger.read() as connection:
        return connection.execute(select(occurrence).where(occurrence.c.id == identifier)).one()
