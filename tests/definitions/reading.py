"""Short ways to read one definition in a test."""

from __future__ import annotations

from typing import Any

from celery import Celery

from tsumugi_celery.core.errors import DefinitionError, Problem
from tsumugi_celery.definitions.model import Definition
from tsumugi_celery.definitions.read import read_definitions

BINDINGS = {
    "Mail": {"task": "proj.mail"},
    "Sync": {"task": "proj.sync", "queue": "sync", "shards": 4},
}


def build(value: Any) -> None:
    """Stand for the builder of a flow."""


FLOWS = {"REPORT": build}

JOB = {"binding": "proj.poll", "payload": {}, "everyMs": 1000}
FLOW = {"flow": "REPORT", "input": 1, "everyMs": 1000}
CELERY = {"task": "proj.add", "schedule": 10}


def new_app(**settings: Any) -> Celery:
    app = Celery("proj", set_as_current=False)
    if settings:
        app.conf.update(settings)
    return app


def without(entry: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in keys}


def read(entry: Any, name: str = "one", app: Celery | None = None, **more: Any) -> Definition:
    given = {"bindings": BINDINGS, "flows": FLOWS, **more}
    return read_definitions(app or new_app(), {name: entry}, **given).schedules[name]


def problems(schedules: Any, app: Celery | None = None, **more: Any) -> tuple[Problem, ...]:
    given = {"bindings": BINDINGS, "flows": FLOWS, **more}
    try:
        read_definitions(app or new_app(), schedules, **given)
    except DefinitionError as error:
        return error.problems
    return ()


def only_problem(entry: Any, name: str = "one", app: Celery | None = None, **more: Any) -> Problem:
    """Return the problem of a definition that must have exactly one."""
    (problem,) = problems({name: entry}, app, **more)
    return problem
