"""Every job option with every kind of bad value, and the ends of what is accepted."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.definitions.reading import CELERY, FLOW, JOB, only_problem, problems, read
from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.core.keys import snake
from tsumugi_celery.core.options import MAX_SPAN_MS, MAX_TIMEOUT_MS

NO_INTEGER: list[Any] = [True, False, 1.0, math.nan, math.inf, "1", None, [], {}]
RANGES = {
    "maxAttempts": (1, 1000),
    "timeoutMs": (1, MAX_TIMEOUT_MS),
    "priority": (0, 9),
    "expiresMs": (1, MAX_SPAN_MS),
}
BAD_KEYS: list[Any] = ["", "x" * 256, 5, None, True, b"x", ["x"], lambda _: "x"]
FIELDS = {
    "maxAttempts": "max_attempts",
    "timeoutMs": "timeout_ms",
    "priority": "priority",
    "expiresMs": "expires_ms",
    "concurrencyKey": "concurrency_key",
    "guarantee": "guarantee",
}

BAD_GUARANTEES: list[Any] = ["at_least_once", "AT-MOST-ONCE", "", None, 1, True, []]
BAD_BACKOFFS: list[Any] = [None, 1000, "exponential", True, [], math.nan]
REFUSED = [
    *[
        (key, value)
        for key, (low, high) in RANGES.items()
        for value in [*NO_INTEGER, low - 1, -(10**30), high + 1, 10**30]
    ],
    *[("concurrencyKey", value) for value in BAD_KEYS],
    *[("guarantee", value) for value in BAD_GUARANTEES],
    *[("backoff", value) for value in BAD_BACKOFFS],
]


@pytest.mark.parametrize("entry", [JOB, CELERY], ids=["tsumugi", "celery"])
@pytest.mark.parametrize(("key", "value"), REFUSED)
def test_a_bad_value_is_refused_in_either_spelling(entry, key, value):
    for spelling in (key, snake(key)):
        problem = only_problem({**entry, spelling: value})
        assert problem.where == "schedule 'one'"
        assert problem.key == spelling
        assert problem.accepted


@pytest.mark.parametrize("entry", [JOB, CELERY], ids=["tsumugi", "celery"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[(key, value) for key, ends in RANGES.items() for value in ends],
        ("concurrencyKey", "x"),
        ("concurrencyKey", "ü" * 255),
        ("guarantee", "at-least-once"),
        ("guarantee", "at-most-once"),
    ],
)
def test_the_ends_of_the_range_are_accepted_in_either_spelling(entry, key, value):
    for spelling in (key, snake(key)):
        assert getattr(read({**entry, spelling: value}).options, FIELDS[key]) == value


def test_without_options_the_task_keeps_its_own_settings():
    options = read(JOB).options
    assert (options.max_attempts, options.backoff, options.timeout_ms) == (None, None, None)
    assert (options.priority, options.expires_ms) == (None, None)
    assert options.guarantee == "at-least-once"


def test_max_attempts_alone_waits_exponentially():
    expected = Backoff("exponential", base_ms=1000, factor=2, max_ms=3_600_000, jitter=True)
    assert read({**JOB, "maxAttempts": 3}).options.backoff == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"kind": "exponential"}, Backoff()),
        (
            {"kind": "exponential", "baseMs": 5, "factor": 1.5, "maxMs": 5, "jitter": False},
            Backoff(base_ms=5, factor=1.5, max_ms=5, jitter=False),
        ),
        ({"kind": "exponential", "base_ms": 7, "max_ms": 8}, Backoff(base_ms=7, max_ms=8)),
        (
            {"kind": "exponential", "baseMs": 7_200_000},
            Backoff(base_ms=7_200_000, max_ms=7_200_000),
        ),
        ({"kind": "fixed", "delayMs": 0}, Backoff.fixed(0)),
        ({"kind": "fixed", "delay_ms": 9, "jitter": True}, Backoff.fixed(9, jitter=True)),
    ],
)
def test_backoff_is_read(raw, expected):
    assert read({**JOB, "maxAttempts": 2, "backoff": raw}).options.backoff == expected


MONTH = 30 * 86_400_000


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        ({}, "backoff.kind"),
        ({"baseMs": 1000}, "backoff.kind"),
        *[({"kind": kind}, "backoff.kind") for kind in ["linear", "Fixed", "", None, 1, ["fixed"]]],
        *[
            ({"kind": "exponential", key: value}, f"backoff.{key}")
            for key in ("baseMs", "base_ms", "maxMs", "max_ms")
            for value in [*NO_INTEGER, 0, -1, MONTH + 1, 10**30]
        ],
        *[
            ({"kind": "fixed", key: value}, f"backoff.{key}")
            for key in ("delayMs", "delay_ms")
            for value in [*NO_INTEGER, -1, MONTH + 1, 10**30]
        ],
        *[
            ({"kind": "exponential", "factor": value}, "backoff.factor")
            for value in [0, 0.99, -2, True, "2", None, math.nan, math.inf, 1001, 10**400]
        ],
        *[({"kind": "exponential", "jitter": v}, "backoff.jitter") for v in [0, 1, "yes", None]],
        ({"kind": "exponential", "delayMs": 5}, "backoff.delayMs"),
        ({"kind": "fixed", "delayMs": 5, "baseMs": 5}, "backoff.baseMs"),
        ({"kind": "fixed", "delayMs": 5, "factor": 2}, "backoff.factor"),
        ({"kind": "fixed", "delayMs": 5, "maxMs": 5}, "backoff.maxMs"),
        ({"kind": "fixed"}, "backoff.delayMs"),
        ({"kind": "exponential", "baseMs": 10, "maxMs": 9}, "backoff.maxMs"),
        ({"kind": "exponential", "maxMs": 999}, "backoff.maxMs"),
        ({"kind": "exponential", "basems": 10}, "backoff.basems"),
        ({"kind": "exponential", 5: 10}, "backoff.5"),
        ({"kind": "exponential", "baseMs": 10, "base_ms": 10}, "backoff.baseMs"),
    ],
)
def test_a_bad_backoff_is_refused(raw, key):
    assert only_problem({**JOB, "maxAttempts": 2, "backoff": raw}).key == key


def test_a_near_miss_in_backoff_gets_a_hint():
    problem = only_problem(
        {**JOB, "maxAttempts": 2, "backoff": {"kind": "fixed", "delayms": 1, "delayMs": 1}}
    )
    assert problem.hint == "did you mean 'delayMs'?"


@pytest.mark.parametrize("entry", [JOB, CELERY], ids=["tsumugi", "celery"])
def test_backoff_needs_max_attempts(entry):
    problem = only_problem({**entry, "backoff": {"kind": "fixed", "delayMs": 5}})
    assert (problem.key, problem.hint) == ("backoff", "add maxAttempts")


@pytest.mark.parametrize(
    "key", ["uniqueKey", "delayMs", "runAt", "unique_key", "delay_ms", "run_at"]
)
@pytest.mark.parametrize("entry", [JOB, FLOW, CELERY], ids=["job", "flow", "celery"])
def test_c096_refused_keys_say_why(entry, key):
    problem = only_problem({**entry, key: "x"})
    assert problem.key == key
    assert len(problem.hint) > 40


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("maxAttempts", 1),
        ("timeoutMs", 1),
        ("priority", 1),
        ("concurrencyKey", "x"),
        ("partitionKey", "x"),
        ("guarantee", "at-most-once"),
        ("expiresMs", 1),
        ("options", {}),
        ("backoff", {"kind": "exponential"}),
    ],
)
def test_job_options_do_not_go_with_a_flow(key, value):
    problem = only_problem({**FLOW, key: value})
    assert (problem.key, problem.accepted) == (key, "with binding only")


@pytest.mark.parametrize("value", [*NO_INTEGER, 0, -1, MAX_SPAN_MS + 1])
def test_a_bad_deadline_is_refused(value):
    assert only_problem({**FLOW, "deadline_ms": value}).key == "deadline_ms"


def test_deadline_belongs_to_flows():
    assert read({**FLOW, "deadlineMs": 5}).deadline_ms == 5
    assert only_problem({**JOB, "deadlineMs": 5}).accepted == "with flow only"


def test_all_bad_options_are_reported_together():
    entry = {**JOB, "maxAttempts": 0, "priority": 10, "timeout_ms": -1, "backoff": {"kind": "x"}}
    keys = {problem.key for problem in problems({"one": entry})}
    assert keys == {"maxAttempts", "priority", "timeout_ms", "backoff.kind"}
