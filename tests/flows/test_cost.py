"""What following a task costs, and that tasks of other people cost nothing of it."""

from __future__ import annotations

import threading

import pytest
from celery import Celery, chain, group
from celery.contrib.testing.worker import start_worker
from sqlalchemy import event

from tests.waiting import wait_for
from tsumugi_celery import define_tsumugi
from tsumugi_celery.app import state_of
from tsumugi_celery.worker.install import install

#: Statements that a worker makes for a task that is sent with the Run: start, end, "any left?".
FIRST = 3
#: And what is noted when one task sends the next.
LATER = FIRST + 1
TASKS = 40


@pytest.fixture
def app(sqlite_database):
    made = Celery("proj", broker="memory://", backend="cache+memory://")
    made.conf.update(
        broker_connection_retry_on_startup=True, tsumugi_database_url=sqlite_database.url
    )

    @made.task(name="proj.add", shared=False)
    def add(*_numbers):
        return 1

    @made.task(name="proj.child", shared=False)
    def child():
        return add.delay().id

    return made


@pytest.fixture
def seen(app):
    """The statements that the ledger gets."""
    one = {"input": {}, "everyMs": 3_600_000}
    add = app.tasks["proj.add"]
    flows = {
        "wide": lambda _given: group(add.si(n) for n in range(TASKS)),
        "long": lambda _given: chain(add.si(n) for n in range(TASKS)),
    }
    schedules = {name: {"flow": name, **one} for name in flows}
    app.handle = define_tsumugi(app, schedules=schedules, flows=flows)
    install(app)
    ledger = state_of(app).ledger
    ledger.open()
    statements: list[str] = []

    @event.listens_for(ledger._engine_of(autocommit=True), "before_cursor_execute")
    @event.listens_for(ledger.engine, "before_cursor_execute")
    def note(_connection, _cursor, statement, *_rest):
        # Heartbeats and what goes with them are threads of their own, and cost no task anything.
        ours = threading.current_thread().name.startswith("tsumugi-")
        if not ours and ("tsumugi_run_task" in statement or "tsumugi_occurrence" in statement):
            statements.append(statement)

    yield statements
    ledger.close()


def run(app, name: str) -> None:
    identifier = app.handle.trigger(name)
    wait_for(lambda: app.handle.occurrence(identifier).state == "COMPLETED", 60)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "most"), [("wide", FIRST), ("long", LATER)])
def test_the_ledger_gets_few_statements_for_a_task_of_a_run(app, seen, name, most):
    with start_worker(app, perform_ping_check=False, pool="solo"):
        run(app, name)
    about = [each for each in seen if "tsumugi_run_task" in each]
    started = [each for each in about if each.startswith("UPDATE") and "redelivers=" in each]
    assert len(started) == TASKS
    # Besides: writing down the canvas, settling the start, ending the Run, each once.
    assert len(about) <= most * TASKS + 20


@pytest.mark.timeout(120)
def test_tasks_of_other_people_cost_no_statement(app, seen):
    add, child = app.tasks["proj.add"], app.tasks["proj.child"]
    with start_worker(app, perform_ping_check=False, pool="solo"):
        results = [
            add.delay(1),
            chain(add.si(1), add.si(2)).apply_async(),
            group(add.si(1), add.si(2)).apply_async(root_id="somebody.else-1"),
            child.delay(),
        ]
        for result in results:
            result.get(timeout=30)
    assert seen == []


@pytest.mark.timeout(120)
def test_a_root_that_looks_like_ours_is_asked_for_once(app, seen):
    add = app.tasks["proj.add"]
    root = "proj.nothing-1796072853318"
    with start_worker(app, perform_ping_check=False, pool="solo"):
        for _ in range(5):
            assert add.apply_async(root_id=root).get(timeout=30) == 1
    assert len([each for each in seen if each.startswith("SELECT")]) == 1
