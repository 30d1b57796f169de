"""What the task registry must tell, at the call and in full; and what reading leaves alone."""

from __future__ import annotations

from decimal import Decimal

import pytest
from celery import Celery
from celery.schedules import crontab

from tests.definitions.reading import CELERY, FLOW, FLOWS, JOB, new_app, only_problem, read
from tsumugi_celery.definitions.read import check_registry, read_definitions


def app_with_tasks() -> Celery:
    app = new_app()

    @app.task(name="proj.add", shared=False)
    def add(x, y=1):
        return x + y

    @app.task(name="proj.bound", bind=True, shared=False)
    def bound(self, x):
        return x

    @app.task(name="proj.loose", typing=False, shared=False)
    def loose(x):
        return x

    @app.task(name="proj.none", shared=False)
    def none():
        return None

    return app


@pytest.fixture(params=["promised", "registered"])
def app(request):
    app = app_with_tasks()
    if request.param == "registered":
        app.finalize()
    return app


FITTING = [
    ("proj.add", {"x": 1}), ("proj.add", [1, 2]), ("proj.add", 5), ("proj.bound", {"x": 1}),
    ("proj.bound", [1]), ("proj.loose", {"anything": 1}), ("proj.none", {}), ("proj.none", []),
    ("proj.add", lambda _: {"z": 1}), ("proj.later", {"anything": 1}),
]  # fmt: skip
MISFITS = [
    ("proj.add", {}), ("proj.add", {"x": 1, "z": 1}), ("proj.add", [1, 2, 3]),
    ("proj.add", {"y": 1}), ("proj.bound", [1, 2]), ("proj.bound", {}), ("proj.none", None),
    ("proj.none", [1]),
]  # fmt: skip


@pytest.mark.parametrize(("task", "payload"), FITTING)
def test_arguments_that_fit_their_task(app, task, payload):
    assert read({**JOB, "binding": task, "payload": payload}, app=app).task == task


@pytest.mark.parametrize(("task", "payload"), MISFITS)
def test_arguments_that_do_not_fit_a_task_known_by_then(app, task, payload):
    problem = only_problem({**JOB, "binding": task, "payload": payload}, app=app)
    assert (problem.key, problem.accepted) == ("payload", f"arguments that fit {task}")


def test_celerys_form_is_held_to_the_signature_too(app):
    assert only_problem({**CELERY, "args": [1, 2, 3]}, app=app).key == "args"
    assert only_problem({**CELERY, "kwargs": {"z": 3}}, app=app).key == "kwargs"


def test_none_for_a_task_without_arguments_gets_a_hint(app):
    problem = only_problem({**JOB, "binding": "proj.none", "payload": None}, app=app)
    assert "for no arguments write {}" in problem.hint


def test_a_task_bound_by_its_declared_name_is_checked(app):
    bindings = {"B": {"task": "proj.add"}}
    entry = {**JOB, "binding": "B", "payload": {"z": 1}}
    assert only_problem(entry, app=app, bindings=bindings).key == "payload"


def check(app, schedules, **more):
    return check_registry(app, read_definitions(app, schedules, **more))


def test_the_full_check_knows_tasks_that_came_later():
    app = new_app()
    definitions = read_definitions(app, {"one": {**JOB, "binding": "proj.add", "payload": {}}})

    @app.task(name="proj.add", shared=False)
    def add(x):
        return x

    (problem,) = check_registry(app, definitions)
    assert (problem.where, problem.key) == ("schedule 'one'", "payload")


def test_an_unknown_binding_is_told_with_the_nearest_name(app):
    (problem,) = check(app, {"one": {**JOB, "binding": "proj.ad"}})
    assert (problem.key, problem.hint) == ("binding", "did you mean 'proj.add'?")


def test_an_unknown_binding_with_nothing_near(app):
    (problem,) = check(app, {"one": {**JOB, "binding": "zzz"}})
    assert problem.hint == "declare it in bindings if it runs elsewhere"


def test_a_declared_binding_may_run_elsewhere(app):
    bindings = {"Remote": {"task": "other.task"}}
    assert check(app, {"one": {**JOB, "binding": "Remote"}}, bindings=bindings) == []


def test_celerys_form_sends_by_name(app):
    assert check(app, {"one": {"task": "other.task", "schedule": 5}}) == []


def test_flows_and_the_apps_serializer_in_the_full_check():
    app = new_app()
    value = {"x": Decimal("1.5")}
    definitions = read_definitions(app, {"one": {**FLOW, "input": [value]}}, flows=FLOWS)
    assert check_registry(app, definitions) == []
    app.conf.task_serializer = "msgpack-of-the-future"
    (problem,) = check_registry(app, definitions)
    assert (problem.key, "msgpack-of-the-future" in problem.hint) == ("input", True)


def test_reading_neither_configures_nor_finalizes_the_app():
    app = app_with_tasks()
    schedules = {
        "a": {**JOB, "binding": "proj.add", "payload": {"x": 1}},
        "b": FLOW,
        "c": {**CELERY, "schedule": crontab(minute=0), "args": [1]},
    }
    read_definitions(app, schedules, flows=FLOWS)
    assert not app.configured
    assert not app.finalized
    called = []
    app.on_after_configure.connect(lambda **_: called.append("configured"), weak=False)
    app.on_after_finalize.connect(lambda **_: called.append("finalized"), weak=False)
    app.finalize()
    assert app.conf.task_serializer == "json"
    assert sorted(called) == ["configured", "finalized"]
