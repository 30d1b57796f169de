"""What a job costs its worker: two statements, and nothing for the tasks of others."""

import pytest
from celery import Celery
from celery.app.trace import build_tracer
from sqlalchemy import insert, select

from tests.cost.counting import counting
from tsumugi_celery import define_tsumugi
from tsumugi_celery.app import state_of
from tsumugi_celery.ledger.schema import occurrence
from tsumugi_celery.worker.install import install

JOBS = 20


@pytest.fixture
def app(sqlite_database):
    made = Celery("proj", broker="memory://", set_as_current=False)

    @made.task(name="proj.work", shared=False)
    def work():
        return None

    define_tsumugi(made, schedules={}, database_url=sqlite_database.url)
    made.finalize()
    install(made)
    ledger = state_of(made).ledger
    ledger.open()
    with ledger.begin() as connection:
        connection.execute(
            insert(occurrence),
            [
                {
                    "id": f"proj.s-{at}",
                    "schedule_id": 1,
                    "namespace": "proj",
                    "scheduled_at": at,
                    "kind": "job",
                    "state": "QUEUED",
                    "target": "proj.work",
                    "guarantee": "at-least-once",
                }
                for at in range(JOBS)
            ],
        )
    yield made
    ledger.close()


def run(app: Celery, identifier: str, **headers: object) -> None:
    trace = build_tracer("proj.work", app.tasks["proj.work"], app=app)
    trace(identifier, (), {}, {"id": identifier, "retries": 0, "hostname": "here", **headers})


def test_a_job_costs_two_statements(app):
    ledger = state_of(app).ledger
    header = {"ledger": ledger.id, "namespace": "proj", "schedule": "s", "at": 0, "base": 0}
    with counting(ledger) as count:
        for at in range(JOBS):
            run(app, f"proj.s-{at}", tsumugi={**header, "at": at})
    assert len(count.statements) == 2 * JOBS
    assert len(set(count.statements)) == 2
    with ledger.read() as connection:
        assert set(connection.execute(select(occurrence.c.state)).scalars()) == {"COMPLETED"}


def test_a_task_of_others_costs_none(app):
    with counting(state_of(app).ledger) as count:
        for number in range(JOBS):
            run(app, f"theirs-{number}")
    assert count.statements == []
