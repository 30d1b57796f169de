"""Tsumugi's own form: names, targets, times, payloads, and every refusal of section 1."""

from __future__ import annotations

import functools
import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from celery.beat import BeatLazyFunc

from tests.definitions.reading import (
    FLOW,
    FLOWS,
    JOB,
    new_app,
    only_problem,
    problems,
    read,
    without,
)
from tsumugi_celery.core.errors import DefinitionError
from tsumugi_celery.core.keys import snake
from tsumugi_celery.definitions.read import read_definitions

CRON = {**without(JOB, "everyMs"), "cron": "0 9 * * *"}
HOUR_MS = 3_600_000


@pytest.mark.parametrize("name", ["a", "A-z_0-9", "-", "n" * 64])
def test_c096_legal_names(name):
    assert read(JOB, name).name == name


@pytest.mark.parametrize("name", ["", "a.b", "a b", "n" * 65, "é", "a\n", "a/b", 5, None])
def test_c096_illegal_names(name):
    found = problems({name: JOB})
    assert {one.key for one in found} == {"name"}
    assert all(one.where == f"schedule {name!r}" for one in found)


@pytest.mark.parametrize("overlap", ["queue", "SKIP", "", None, True, ["skip"], {}])
def test_c096_overlap(overlap):
    assert only_problem({**JOB, "overlap": overlap}).accepted == "'skip' or 'overlap'"


def test_overlap_and_its_default():
    assert read(JOB).overlap == "skip"
    assert read(JOB, default_overlap="overlap").overlap == "overlap"
    assert read({**JOB, "overlap": "skip"}, default_overlap="overlap").overlap == "skip"
    (problem,) = problems({}, default_overlap="queue")
    assert problem.key == "tsumugi_default_overlap"


def test_c096_binding_xor_flow():
    both = only_problem({**JOB, "flow": "REPORT"})
    neither = only_problem(without(JOB, "binding"))
    assert (both.got, neither.got) == ("binding and flow", "neither binding nor flow")


def test_an_empty_definition_tells_all_it_lacks():
    assert [one.key for one in problems({"one": {}})] == ["everyMs", "binding"]


@pytest.mark.parametrize("value", [999, 0, -1, True, 1000.0, math.nan, "1000", None, 10**30])
def test_c093_every_ms(value):
    for key in ("everyMs", "every_ms"):
        assert only_problem({**without(JOB, "everyMs"), key: value}).key == key


def test_every_ms_is_the_interval():
    definition = read(JOB)
    assert (definition.every_ms, definition.cron, definition.time_zone) == (1000, None, None)
    assert definition.timing(5000).next_after(5000) == 6000


def test_c093_every_ms_xor_cron_and_time_zone_with_cron_only():
    assert only_problem({**JOB, "cron": "* * * * *"}).got == "everyMs and cron"
    assert only_problem(without(JOB, "everyMs")).got == "neither everyMs nor cron"
    assert only_problem({**JOB, "timeZone": "Asia/Tokyo"}).key == "timeZone"


def test_cron_is_read_in_its_zone_and_utc_without_one():
    definition = read({**CRON, "time_zone": "Asia/Tokyo"})
    assert (definition.cron, definition.time_zone) == ("0 9 * * *", "Asia/Tokyo")
    assert definition.timing(0).next_after(0) == 24 * HOUR_MS
    assert read(CRON).time_zone == "UTC"
    assert read(CRON).timing(0).next_after(0) == 9 * HOUR_MS


@pytest.mark.parametrize(
    "cron", ["0 12 31 4 *", "0 0 30 2 *", "@daily", "0 9 * *", "", "5/2 * * * *", 5, None, ["*"]]
)
def test_c079_c081_bad_cron_is_refused(cron):
    assert only_problem({**CRON, "cron": cron}).key == "cron"


@pytest.mark.parametrize(
    "zone", ["+09:00", "asia/tokyo", "Europe", "../UTC", "", None, 5, "z" * 300]
)
def test_c092_c095_bad_zones_are_refused(zone):
    assert only_problem({**CRON, "timeZone": zone}).key == "timeZone"


def test_a_near_miss_of_a_zone_gets_the_right_spelling():
    assert "'Asia/Tokyo'" in only_problem({**CRON, "timeZone": "asia/tokyo"}).hint


@pytest.mark.parametrize(
    ("entry", "key", "value"),
    [
        (JOB, "everyMs", 1000),
        (CRON, "timeZone", "UTC"),
        (JOB, "maxAttempts", 1),
        (JOB, "timeoutMs", 1),
        (JOB, "concurrencyKey", "x"),
        (FLOW, "deadlineMs", 1),
        ({**JOB, "binding": "Sync"}, "partitionKey", "x"),
        (JOB, "expiresMs", 1),
    ],
)
def test_both_spellings_at_once_are_refused(entry, key, value):
    twin = snake(key)
    assert read({**without(entry, key), twin: value}) is not None
    problem = only_problem({**entry, key: value, twin: value})
    assert problem.got == f"{key!r} and {twin!r}"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("everMs", "everyMs"),
        ("payloads", "payload"),
        ("timezone", "timeZone"),
        ("max_attempt", "max_attempts"),
        ("Overlap", "overlap"),
        ("prioritty", "priority"),
    ],
)
def test_an_unknown_key_gets_the_nearest_known_one(wrong, right):
    assert only_problem({**JOB, wrong: 1}).hint == f"did you mean {right!r}?"


@pytest.mark.parametrize("key", ["zzz", "", 5, None, ("a",), "x" * 200])
def test_any_unknown_key_is_refused(key):
    assert "an unknown key" in only_problem({**JOB, key: 1}).got


@pytest.mark.parametrize("entry", [None, 5, "x", [], [("binding", "x")], object()])
def test_a_definition_is_a_dict(entry):
    assert only_problem(entry).key == "definition"


@pytest.mark.parametrize("schedules", [5, [], "x"])
def test_schedules_are_a_dict(schedules):
    assert [one.key for one in problems(schedules)] == ["schedules"]


def test_no_schedules_are_no_problem():
    assert read_definitions(new_app(), {}).schedules == {}
    assert read_definitions(new_app(), None).schedules == {}


def test_a_binding_is_a_declared_name_a_task_name_or_a_task():
    app = new_app()
    task = app.task(FLOWS["REPORT"], name="proj.t", shared=False)
    declared = read({**JOB, "binding": "Mail"})
    named = read({**JOB, "binding": "proj.poll"})
    given = read({**JOB, "binding": task, "payload": [1]}, app=app)
    assert declared.binding is not None
    assert named.binding is not None
    assert (declared.target, declared.task, declared.binding.declared) == (
        "Mail",
        "proj.mail",
        True,
    )
    assert (named.target, named.task, named.binding.declared) == ("proj.poll", "proj.poll", False)
    assert (given.target, given.task) == ("proj.t", "proj.t")


@pytest.mark.parametrize("binding", ["", 5, None, print, str, ["proj.t"], "t" * 256])
def test_a_bad_binding_is_refused(binding):
    assert only_problem({**JOB, "binding": binding}).key == "binding"


def test_a_signature_is_no_binding():
    signature = new_app().signature("proj.t", (1,))
    assert "'proj.t'" in only_problem({**JOB, "binding": signature}).hint


def test_a_flow_is_declared():
    definition = read(FLOW)
    assert (definition.kind, definition.target, definition.task) == ("flow", "REPORT", None)
    assert definition.flow is FLOWS["REPORT"]


@pytest.mark.parametrize("flow", ["REPROT", "", None, 5, ["REPORT"], FLOWS["REPORT"]])
def test_an_unknown_flow_is_refused(flow):
    problem = only_problem({**FLOW, "flow": flow})
    assert problem.key == "flow"
    assert "'REPORT'" in problem.accepted


def test_mixed_up_binding_and_flow_are_recognised():
    assert "binding" in only_problem({**FLOW, "flow": "Mail"}).hint
    assert "flow" in only_problem({**JOB, "binding": "REPORT"}).hint


def test_payload_goes_with_binding_and_input_with_flow():
    assert only_problem({**without(JOB, "payload"), "input": 1}).hint == "rename input to payload"
    assert only_problem({**without(FLOW, "input"), "payload": 1}).hint == "rename payload to input"
    assert only_problem({**JOB, "input": 1}).hint == "delete input"


def test_payload_and_input_are_required():
    assert only_problem(without(JOB, "payload")).key == "payload"
    assert only_problem(without(FLOW, "input")).key == "input"


@pytest.mark.parametrize(
    ("payload", "args", "kwargs"),
    [
        ({}, (), {}),
        ({"a": 1}, (), {"a": 1}),
        ([1, 2], (1, 2), {}),
        ((1, 2), (1, 2), {}),
        ([], (), {}),
        ("text", ("text",), {}),
        (None, (None,), {}),
        (0, (0,), {}),
        ([{"a": 1}], ({"a": 1},), {}),
        (
            datetime(2026, 1, 1, tzinfo=timezone.utc),
            (datetime(2026, 1, 1, tzinfo=timezone.utc),),
            {},
        ),
        (Decimal("1.5"), (Decimal("1.5"),), {}),
    ],
)
def test_how_a_payload_becomes_arguments(payload, args, kwargs):
    definition = read({**JOB, "payload": payload})
    assert definition.payload.static
    assert definition.payload.call(definition.occurrence(0, "id")) == (args, kwargs)


@pytest.mark.parametrize("value", [{"a": 1}, [1], None, "x"])
def test_an_input_is_one_argument_as_it_is(value):
    definition = read({**FLOW, "input": value})
    assert definition.payload.call(definition.occurrence(0, "id")) == ((value,), {})


def make(occurrence):
    return {"until": occurrence.scheduled_at}


async def make_later(occurrence):
    return [occurrence.name]


class Maker:
    def __call__(self, occurrence):
        return occurrence.occurrence_id


def made_from(prefix, occurrence):
    return {"id": prefix + occurrence.occurrence_id, "at": occurrence.scheduled_at_ms}


@pytest.mark.parametrize(
    ("payload", "args", "kwargs"),
    [
        (make_later, ("one",), {}),
        (Maker(), ("the-id",), {}),
        (functools.partial(made_from, "x-"), (), {"id": "x-the-id", "at": 5}),
        (lambda o, extra=1: (o.name, extra), ("one", 1), {}),
        (lambda *all_of_it: len(all_of_it), (1,), {}),
        (BeatLazyFunc(lambda: [7]), (7,), {}),
    ],
)
def test_a_callable_is_called_for_every_execution(payload, args, kwargs):
    definition = read({**JOB, "payload": payload})
    assert not definition.payload.static
    assert definition.payload.call(definition.occurrence(5, "the-id")) == (args, kwargs)


def test_the_scheduled_time_is_in_the_schedules_zone():
    entry = {**CRON, "payload": make, "timeZone": "Asia/Tokyo"}
    definition = read(entry)
    info = definition.occurrence(1_500, "id")
    assert info.scheduled_at == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=timezone.utc)
    assert info.scheduled_at.utcoffset() == timedelta(hours=9)
    assert definition.payload.call(info) == ((), {"until": info.scheduled_at})
    assert read({**JOB, "payload": make}).occurrence(0, "id").scheduled_at.tzinfo == timezone.utc


def test_a_callables_result_of_a_flow_is_one_argument():
    definition = read({**FLOW, "input": make})
    info = definition.occurrence(0, "id")
    assert definition.payload.call(info) == (({"until": info.scheduled_at},), {})


def test_what_a_callable_raises_comes_out():
    def fail(_):
        raise LookupError("no such row")

    definition = read({**JOB, "payload": fail})
    with pytest.raises(LookupError, match="no such row"):
        definition.payload.call(definition.occurrence(0, "id"))


def test_a_callable_that_returns_odd_keys_fails_with_the_reason():
    definition = read({**JOB, "payload": lambda _: {1: 2}})
    with pytest.raises(TypeError, match="its key 1 is not text"):
        definition.payload.call(definition.occurrence(0, "id"))


@pytest.mark.parametrize("payload", [dict, Maker, lambda: 1, lambda _a, _b: 1])
def test_what_cannot_make_a_payload_is_refused(payload):
    assert only_problem({**JOB, "payload": payload}).key == "payload"


def test_a_task_or_signature_is_no_payload():
    app = new_app()
    task = app.task(FLOWS["REPORT"], name="proj.t", shared=False)
    for payload in (task, task.s(1)):
        assert "here and now" in only_problem({**JOB, "payload": payload}).hint


@pytest.mark.parametrize("payload", [{1: 2}, {None: 1}, {("a",): 1}])
def test_keys_of_a_payload_are_text(payload):
    assert only_problem({**JOB, "payload": payload}).key == "payload"


def endless():
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [object(), {1, object()}, [lambda: 1], endless(), 1j])
def test_c197_a_static_value_that_cannot_be_sent_is_refused(value):
    for entry, key in ((JOB, "payload"), (FLOW, "input")):
        assert only_problem({**entry, key: value if key == "input" else {"x": value}}).key == key


def test_c197_what_a_callable_returns_is_judged_when_it_runs():
    assert read({**JOB, "payload": lambda _: object()}).payload.static is False


def test_the_serializer_is_the_schedules_the_tasks_or_the_apps():
    odd = {"x": 1j}
    pickling = new_app(task_serializer="pickle")
    assert read({**JOB, "payload": odd}, app=pickling).payload.kwargs == odd
    assert read({**JOB, "payload": odd, "options": {"serializer": "pickle"}}).payload.kwargs == odd
    app = new_app()

    @app.task(name="proj.pickled", serializer="pickle", shared=False)
    def pickled(x):
        return x

    entry = {**JOB, "binding": "proj.pickled", "payload": odd}
    assert read(entry, app=app).payload.kwargs == odd
    assert pickled.name
    assert read(entry, app=app).payload.kwargs == odd


def test_an_unknown_serializer_is_refused():
    assert "'jsno'" in only_problem({**JOB, "options": {"serializer": "jsno"}}).hint


def test_later_changes_do_no_harm():
    payload: dict[str, Any] = {"rows": [1, {"deep": [2]}]}
    headers = {"a": [1]}
    entry = {**JOB, "payload": payload, "options": {"headers": headers}}
    definition = read(entry)
    before = definition.fingerprint
    payload["rows"][1]["deep"].append(3)
    headers["a"].append(2)
    entry["payload"] = entry["everyMs"] = None
    for _ in range(2):
        _, kwargs = definition.payload.call(definition.occurrence(0, "id"))
        assert kwargs == {"rows": [1, {"deep": [2]}]}
        kwargs["rows"][1]["deep"].append("changed by a task")
        kwargs["more"] = 1
    assert definition.options.celery == {"headers": {"a": [1]}}
    assert definition.fingerprint == before


def test_all_problems_of_all_definitions_at_once():
    schedules = {
        "a b": {**JOB, "everyMs": 5, "priority": 11},
        "fine": JOB,
        "mixed": {"task": "t", "everyMs": 1000, "overlap": "x", "maxAttempts": 0},
        "flow": {**FLOW, "flow": "NOPE", "deadlineMs": 0},
        "celery": {"task": "", "schedule": "x"},
    }
    with pytest.raises(DefinitionError) as caught:
        read_definitions(new_app(), schedules, bindings={"B": {}}, flows=FLOWS)
    found = [(one.where, one.key) for one in caught.value.problems]
    assert found == [
        ("binding 'B'", "task"),
        ("schedule 'a b'", "name"),
        ("schedule 'a b'", "everyMs"),
        ("schedule 'a b'", "priority"),
        ("schedule 'mixed'", "form"),
        ("schedule 'mixed'", "overlap"),
        ("schedule 'mixed'", "maxAttempts"),
        ("schedule 'flow'", "deadlineMs"),
        ("schedule 'flow'", "flow"),
        ("schedule 'celery'", "schedule"),
        ("schedule 'celery'", "task"),
    ]
    for one in caught.value.problems:
        assert str(one) in str(caught.value)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_c191_a_bad_entry_hides_no_other_wherever_it_stands(place):
    entries = [("x", JOB), ("y", {**JOB, "everyMs": 1})]
    entries.insert(place, ("bad", {"task": "t", "schedule": "x"}))
    found = {(one.where, one.key) for one in problems(dict(entries))}
    assert found == {("schedule 'bad'", "schedule"), ("schedule 'y'", "everyMs")}


def test_a_mix_of_forms_says_which_key_belongs_to_which():
    problem = only_problem({"task": "t", "schedule": 5, "every_ms": 1000})
    assert "every_ms (Tsumugi's form)" in problem.got
    assert "task, schedule (Celery's form)" in problem.got
