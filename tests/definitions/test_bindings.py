"""The bindings registry: what is accepted, merged and refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.definitions.reading import FLOWS, JOB, new_app, only_problem, problems, read
from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.definitions.read import read_definitions

FULL = {
    "task": "proj.sync",
    "queue": "sync",
    "shards": 4,
    "policy": {"perKeyConcurrency": 2, "concurrency": None},
    "maxAttempts": 5,
    "priority": 3,
    "guarantee": "at-most-once",
    "options": {"headers": {"a": 1}, "ignore_result": True},
}
NO_DICT: list[Any] = [None, 5, [], "x"]
BAD_INTEGERS: list[Any] = [0, -1, True, 1.0, math.nan, "1", 10**30, []]


def bind(entry, name="Sync"):
    return read_definitions(new_app(), {}, bindings={name: entry}).bindings[name]


def test_a_full_binding_is_read():
    binding = bind(FULL)
    assert (binding.task, binding.queue, binding.shards) == ("proj.sync", "sync", 4)
    assert (binding.per_key_concurrency, binding.concurrency) == (2, None)
    assert binding.declared
    assert binding.options.max_attempts == 5
    assert binding.options.celery == {"headers": {"a": 1}, "ignore_result": True}


def test_defaults_of_a_binding():
    binding = bind({"task": "proj.sync"})
    assert (binding.queue, binding.shards, binding.per_key_concurrency) == (None, 1, 1)
    assert binding.concurrency is None


def test_snake_case_is_accepted_throughout():
    binding = bind({"task": "t", "max_attempts": 2, "policy": {"per_key_concurrency": 3}})
    assert (binding.options.max_attempts, binding.per_key_concurrency) == (2, 3)


def test_a_schedules_own_options_win():
    entry = {
        **JOB,
        "binding": "Sync",
        "partitionKey": "p",
        "priority": 0,
        "maxAttempts": 1,
        "backoff": {"kind": "fixed", "delayMs": 1},
        "options": {"headers": {"b": 2}},
    }
    options = read(entry, bindings={"Sync": FULL}).options
    assert (options.priority, options.max_attempts, options.partition_key) == (0, 1, "p")
    assert options.guarantee == "at-most-once"
    assert options.backoff == Backoff.fixed(1)
    assert options.celery == {"headers": {"b": 2}, "ignore_result": True}


def test_a_schedules_backoff_may_rest_on_the_bindings_attempts():
    entry = {**JOB, "binding": "B", "backoff": {"kind": "fixed", "delayMs": 1}}
    options = read(entry, bindings={"B": {"task": "t", "maxAttempts": 4}}).options
    assert (options.max_attempts, options.backoff) == (4, Backoff.fixed(1))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        *[({"shards": value}, "shards") for value in [*BAD_INTEGERS, 1025, None]],
        *[({"queue": value}, "queue") for value in ["", 5, None, "q" * 256, ["q"]]],
        *[({"policy": value}, "policy") for value in NO_DICT],
        *[
            ({"policy": {"perKeyConcurrency": value}}, "policy.perKeyConcurrency")
            for value in [*BAD_INTEGERS, None]
        ],
        *[({"policy": {"concurrency": value}}, "policy.concurrency") for value in BAD_INTEGERS],
        ({"policy": {"concurency": 1}}, "policy.concurency"),
        *[({"task": value}, "task") for value in ["", 5, None, print, str, "t" * 256]],
        ({"partitionKey": "p"}, "partitionKey"),
        ({"uniqueKey": "p"}, "uniqueKey"),
        ({"priority": 10}, "priority"),
        ({"shard": 10}, "shard"),
        ({"options": {"queue": "other"}}, "options.queue"),
        ({"options": {"priority": 1}}, "options.priority"),
        ({"options": None}, "options"),
        ({"backoff": {"kind": "fixed", "delayMs": 1}}, "backoff"),
    ],
)
def test_a_bad_binding_is_refused(change, key):
    entry = {"task": "t", "queue": "q", **change}
    found = problems({}, bindings={"B": entry})
    assert [(one.where, one.key) for one in found] == [("binding 'B'", key)]


def test_a_binding_needs_a_task_and_shards_need_a_queue():
    (problem,) = problems({}, bindings={"B": {}})
    assert problem.key == "task"
    (problem,) = problems({}, bindings={"B": {"task": "t", "shards": 2}})
    assert problem.key == "queue"
    assert "<queue>.1" in problem.hint


@pytest.mark.parametrize("name", ["queue", "routing_key", "exchange", "exchange_type"])
def test_a_shard_decides_the_queue(name):
    entry = {**JOB, "binding": "Sync", "partitionKey": "p", "options": {name: "other"}}
    assert only_problem(entry).key == f"options.{name}"


def test_a_sharded_binding_requires_a_partition_key():
    assert only_problem({**JOB, "binding": "Sync"}).key == "partitionKey"
    assert read({**JOB, "binding": "Sync", "partition_key": "p"}).options.partition_key == "p"


@pytest.mark.parametrize("binding", ["Mail", "proj.undeclared"])
def test_a_partition_key_on_an_unsharded_binding_is_refused(binding):
    problem = only_problem({**JOB, "binding": binding, "partitionKey": "p"})
    assert problem.key == "partitionKey"
    assert "shards" in problem.hint


@pytest.mark.parametrize("bindings", [5, [], "Sync"])
def test_bindings_are_a_dict(bindings):
    assert [one.key for one in problems({}, bindings=bindings)] == ["bindings"]


@pytest.mark.parametrize("entry", ["proj.sync", None, 5, []])
def test_a_binding_is_a_dict(entry):
    assert [one.key for one in problems({}, bindings={"B": entry})] == ["binding"]


@pytest.mark.parametrize("name", ["", "n" * 256, 5, None])
def test_names_of_bindings_and_flows(name):
    found = problems({}, bindings={name: {"task": "t"}}, flows={name: FLOWS["REPORT"]})
    assert {one.key for one in found} == {"name"}


def test_a_name_in_both_registries_is_refused():
    (problem,) = problems({}, bindings={"A": {"task": "t"}}, flows={"A": FLOWS["REPORT"]})
    assert (problem.where, problem.key) == ("flow 'A'", "name")


@pytest.mark.parametrize("build", [None, 5, "proj.build", str, lambda: None, lambda _a, _b: None])
def test_a_flow_is_a_function_of_one_argument(build):
    (problem,) = problems({}, flows={"A": build})
    assert (problem.where, problem.key) == ("flow 'A'", "build")


def test_a_task_is_no_builder():
    app = new_app()
    task = app.task(FLOWS["REPORT"], name="proj.t", shared=False)
    for build in (task, task.s(1)):
        assert [one.key for one in problems({}, flows={"A": build})] == ["build"]
