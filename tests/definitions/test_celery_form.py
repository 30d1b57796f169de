"""Celery's own form of an entry, and what stands beside it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from celery.beat import BeatLazyFunc, ScheduleEntry
from celery.schedules import crontab, schedule

from tests.definitions.reading import CELERY, new_app, only_problem, problems, read, without
from tsumugi_celery.definitions.defaults import default_entries
from tsumugi_celery.definitions.read import read_definitions


def call(definition):
    return definition.payload.call(definition.occurrence(0, "id"))


def test_a_plain_entry():
    definition = read({**CELERY, "args": (1, 2), "kwargs": {"c": 3}, "options": {"queue": "slow"}})
    assert (definition.form, definition.kind, definition.task) == ("celery", "job", "proj.add")
    assert definition.every_ms == 10_000
    assert call(definition) == ((1, 2), {"c": 3})
    assert definition.options.celery == {"queue": "slow"}
    assert definition.binding is not None
    assert not definition.binding.declared


@pytest.mark.parametrize("name", ["a.b", "with blanks", "é", "n" * 300, "proj.add(1, 2)", ""])
def test_any_name(name):
    assert read(CELERY, name).name == name


@pytest.mark.parametrize("name", [5, None, ("a",)])
def test_a_name_is_text(name):
    assert [one.key for one in problems({name: CELERY})] == ["name"]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (
            "schedule",
            [
                "x",
                "* * * * *",
                None,
                True,
                [],
                {},
                crontab,
                float("nan"),
                float("inf"),
                0,
                -5,
                0.0004,
                timedelta(0),
                timedelta(days=-1),
                timedelta(days=40_000),
                schedule("soon"),
                schedule(0),
                print,
            ],
        ),
        ("task", [None, "", 5, print, str, ["proj.add"], "t" * 256]),
        ("args", [5, "ab", b"ab", {"a": 1}, {1, 2}, BeatLazyFunc(list), list]),
        ("kwargs", [5, "ab", [1], {1: 2}]),
        ("options", [5, "queue", ["queue"]]),
        ("relative", [1, "yes", None]),
        ("overlap", ["queue", None]),
        ("last_run_at", [None, datetime(2026, 1, 1, tzinfo=timezone.utc)]),
        ("total_run_count", [0]),
        ("partitionKey", ["p"]),
    ],
)
def test_c191_a_wrong_value_is_a_definition_error(key, values):
    for value in values:
        assert only_problem({**CELERY, key: value}).key == key


def test_a_missing_task_or_schedule():
    assert only_problem(without(CELERY, "task")).key == "task"
    assert only_problem(without(CELERY, "schedule")).key == "schedule"


def test_an_unknown_key_gets_a_hint():
    assert only_problem({**CELERY, "kwarg": {}}).hint == "did you mean 'kwargs'?"
    assert only_problem({**CELERY, "shedule": 5}).hint == "did you mean 'schedule'?"


@pytest.mark.parametrize(
    ("value", "every_ms"),
    [
        (30, 30_000),
        (0.5, 500),
        (0.001, 1),
        (1 / 3, 333),
        (timedelta(minutes=1), 60_000),
        (schedule(10), 10_000),
        (schedule(timedelta(days=1)), 86_400_000),
    ],
)
def test_intervals(value, every_ms):
    definition = read({**CELERY, "schedule": value})
    assert definition.every_ms == every_ms
    assert definition.timing(7).next_after(7) == 7 + every_ms


def test_nones_are_celerys_defaults():
    assert call(read({**CELERY, "args": None, "kwargs": None, "options": None})) == ((), {})


def test_lazy_arguments_are_evaluated_at_each_run():
    ticks = iter(range(100))
    lazy = BeatLazyFunc(lambda step: next(ticks) * step, 10)
    definition = read({**CELERY, "args": [lazy, "x"], "kwargs": {"at": lazy}})
    assert not definition.payload.static
    assert call(definition) == ((0, "x"), {"at": 10})
    assert call(definition) == ((20, "x"), {"at": 30})


def test_a_schedule_entry_object():
    app = new_app()
    entry = ScheduleEntry("one", "proj.add", schedule=crontab(minute=0), args=(1,), app=app)
    definition = read(entry, app=app)
    assert (definition.task, call(definition)) == ("proj.add", ((1,), {}))


def test_celery_sets_name_and_app_itself():
    assert read({**CELERY, "name": "other", "app": None}).name == "one"


def test_a_task_object_is_as_good_as_its_name():
    app = new_app()
    task = app.task(call, name="proj.call", shared=False)
    assert read({**CELERY, "task": task, "args": [1]}, app=app).task == "proj.call"


def test_add_periodic_task():
    app = new_app()

    @app.task(name="proj.add", shared=False)
    def add(x, y=0):
        return x + y

    app.add_periodic_task(10, add.s(1), kwargs={"y": 2}, name="signed", queue="slow")
    app.add_periodic_task(crontab(minute=5), add.s(1, 2), expires=30)
    read_all = read_definitions(app, app.conf.beat_schedule).schedules
    assert sorted(read_all) == ["proj.add(1, 2)", "signed"]
    assert call(read_all["signed"]) == ((1,), {"y": 2})
    assert read_all["signed"].options.celery == {"queue": "slow"}
    assert read_all["proj.add(1, 2)"].options.celery == {"expires": 30}


def test_a_group_as_a_periodic_task():
    app = new_app()
    app.conf.task_always_eager = False
    from celery import group

    app.add_periodic_task(10, group([app.signature("proj.a"), app.signature("proj.b")]), name="g")
    definition = read_definitions(app, app.conf.beat_schedule).schedules["g"]
    assert definition.task == "celery.group"
    assert len(call(definition)[1]["tasks"]) == 2


def test_stamps_and_message_properties_are_celerys_freedom():
    options = {"stamped_headers": ["tenant"], "tenant": "x", "message_id": "y", "user_id": "z"}
    assert read({**CELERY, "options": options}).options.celery == options


def test_c224_zero_is_a_value():
    options = {"priority": 0, "countdown": 0, "expires": 0}
    assert read({**CELERY, "options": options}).options.celery == options
    definition = read({**CELERY, "schedule": crontab(minute=0, hour=0, day_of_week=0)})
    sunday = datetime(2026, 8, 2, tzinfo=timezone.utc).timestamp() * 1000
    assert definition.timing(0).next_after(int(sunday) - 1) == sunday


@pytest.mark.parametrize(
    ("options", "own"),
    [
        ({"priority": 1}, {"priority": 1}),
        ({"expires": 5}, {"expiresMs": 5}),
        ({"time_limit": 5}, {"timeoutMs": 5}),
        ({"soft_time_limit": 5}, {"timeout_ms": 5}),
    ],
)
def test_our_option_and_celerys_for_the_same_thing_clash(options, own):
    (name,) = options
    problem = only_problem({**CELERY, "options": options, **own})
    assert problem.key == f"options.{name}"
    assert "not both" in problem.accepted


def test_the_given_mapping_may_change_afterwards():
    args, kwargs = [[1]], {"a": [1]}
    options: dict[str, Any] = {"headers": {"x": 1}}
    definition = read({**CELERY, "args": args, "kwargs": kwargs, "options": options})
    args[0].append(2)
    kwargs["a"].append(2)
    options["headers"]["celery_beat_task"] = True
    options["queue"] = "q"
    assert call(definition) == (([1],), {"a": [1]})
    assert definition.options.celery == {"headers": {"x": 1}}


def test_arguments_that_cannot_be_sent():
    assert only_problem({**CELERY, "args": [object()]}).key == "args"
    assert only_problem({**CELERY, "kwargs": {"x": object()}}).key == "kwargs"


def test_c081_a_crontab_that_never_occurs():
    try:
        never = crontab(day_of_month=31, month_of_year=4)
    except ValueError:  # since Celery 5.7, which sees it itself
        never = crontab(day_of_month=31, month_of_year="4,5")
        never.month_of_year = {4}
    assert "such a day" in only_problem({**CELERY, "schedule": never}).hint
    assert only_problem({**CELERY, "schedule": crontab(minute=[])}).key == "schedule"
    assert only_problem({**CELERY, "schedule": crontab(day_of_week=[])}).key == "schedule"


def test_default_entries(tmp_path):
    needing = new_app(result_backend=f"db+sqlite:///{tmp_path}/results.db")
    assert list(default_entries(needing)) == ["celery.backend_cleanup"]
    definition = read_definitions(needing, default_entries(needing)).schedules
    assert definition["celery.backend_cleanup"].options.celery == {"expires": 43_200}
    assert default_entries(needing, {"celery.backend_cleanup": {}}) == {}
    needing.conf.result_expires = None
    assert default_entries(needing) == {}
    assert default_entries(new_app(result_backend="cache+memory://")) == {}
