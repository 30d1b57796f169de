"""The model notices when one of the safeguards is taken away: a check that cannot fail is none."""

import sqlite3
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from sqlalchemy import update
from sqlalchemy.exc import MultipleResultsFound

from tests.model.machine import Machine
from tests.model.world import make_template
from tsumugi_celery.core import states
from tsumugi_celery.ledger import occurrences
from tsumugi_celery.ledger.schema import occurrence as t
from tsumugi_celery.worker import guard, report
from tsumugi_celery.worker.identity import here
from tsumugi_celery.worker.note import NOTE, Note

SETTINGS = settings(
    max_examples=300,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def start_whatever(state, task, request, header, attempt, **_more: object) -> None:
    """The guard without its compare-and-set."""
    now = state.clock.now()
    statement = update(t).where(t.c.id == request.id)
    with state.ledger.autocommit() as connection:
        connection.execute(
            statement.values(
                state=states.RUNNING,
                attempt=attempt,
                started_at=now,
                worker="anyone",
                node_id=here.node_id,
            )
        )
    setattr(request, NOTE, Note(state, request.id, attempt, now, header))


def settle_whatever(connection, node_id: str, rows) -> None:
    """The settlement without its compare-and-set."""
    for row in rows:
        values = {"state": states.QUEUED, "fired_at": row["fired_at"]}
        connection.execute(update(t).where(t.c.id == row["id"]).values(values))


class CarelessReports:
    """What reports write without their compare-and-set."""

    @staticmethod
    def move(connection, identifier: str, state: str, _where: Any = None, **values: Any) -> bool:
        connection.execute(update(t).where(t.c.id == identifier).values(state=state, **values))
        return True


def without_unique_constraints(path) -> None:
    """Make the table of occurrences anew, without its key and its unique constraint."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE plain AS SELECT * FROM tsumugi_occurrence")
        columns = connection.execute("PRAGMA table_info(tsumugi_occurrence)").fetchall()
        defaults = ", ".join(
            f"{name} {kind}" + (f" DEFAULT {default}" if default is not None else "")
            for _, name, kind, _, default, _ in columns
        )
        connection.execute("DROP TABLE plain")
        connection.execute("DROP TABLE tsumugi_occurrence")
        connection.execute(f"CREATE TABLE tsumugi_occurrence ({defaults})")
    connection.close()


def plant_guard(_template, monkeypatch) -> None:
    monkeypatch.setattr(guard, "_enter", start_whatever)


def plant_settle(_template, monkeypatch) -> None:
    monkeypatch.setattr(occurrences, "settle_sent", settle_whatever)


def plant_report(_template, monkeypatch) -> None:
    monkeypatch.setattr(report, "occurrences", CarelessReports)


def plant_unique(template, _monkeypatch) -> None:
    without_unique_constraints(template)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("plant", [plant_guard, plant_settle, plant_report, plant_unique])
def test_a_safeguard_that_is_taken_away_is_missed(plant, tmp_path, monkeypatch):
    template = make_template(tmp_path / "template.sqlite3")
    plant(template, monkeypatch)
    monkeypatch.setattr(Machine, "template", template, raising=False)
    with pytest.raises((AssertionError, MultipleResultsFound)):
        run_state_machine_as_test(Machine, settings=SETTINGS)
