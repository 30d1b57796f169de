"""Fingerprints: the same in every process, different for every difference."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from celery.beat import BeatLazyFunc
from celery.schedules import crontab, schedule, solar
from kombu import Queue

from tests.definitions.reading import CELERY, FLOW, JOB, new_app, read, without
from tsumugi_celery.definitions.fingerprint import fingerprint_of

PRINT_ALL = """
from tests.definitions.test_fingerprint import samples
from tests.definitions.reading import read
for entry in samples():
    definition = read(entry)
    print(definition.fingerprint, definition.timing_fingerprint)
"""


class Tide(schedule):
    def __init__(self, harbours):
        self.harbours = harbours
        super().__init__(timedelta(hours=12))

    def remaining_estimate(self, _last_run_at):
        return timedelta(hours=12)


def one(occurrence):
    return []


def two(occurrence):
    return []


def samples():
    return [
        {**JOB, "payload": {"names": ["a", "b"], "b": 1, "a": 2.5}},
        {**JOB, "payload": one, "options": {"queue": Queue("q"), "headers": {"b": 1, "a": 2}}},
        {**FLOW, "input": {"x": None}},
        {**without(JOB, "everyMs"), "cron": "0 9 * * *", "timeZone": "Asia/Tokyo"},
        {**CELERY, "schedule": crontab(minute="*/5", day_of_week="mon,fri")},
        {**CELERY, "schedule": solar("sunset", 59.9, 10.7)},
        {**CELERY, "schedule": Tide({"oslo", "kobe", "lima", "cork"})},
        {**CELERY, "args": [BeatLazyFunc(one, 1)], "kwargs": {"b": 1, "a": [1]}},
    ]


def test_the_same_in_processes_with_different_hash_seeds():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PRINT_ALL],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
    assert len(set(outputs.pop().split())) == 14  # three of the samples have the same interval


@pytest.mark.parametrize(
    ("entry", "change"),
    [
        (JOB, {"binding": "proj.other"}),
        (JOB, {"binding": "Mail"}),
        (JOB, {"payload": {"a": 1}}),
        (JOB, {"payload": one}),
        ({**JOB, "payload": one}, {"payload": two}),
        ({**JOB, "payload": {"a": 1}}, {"payload": {"a": "1"}}),
        ({**JOB, "payload": {"a": 1}}, {"payload": {"a": True}}),
        (JOB, {"overlap": "overlap"}),
        (JOB, {"maxAttempts": 2}),
        ({**JOB, "maxAttempts": 2}, {"backoff": {"kind": "fixed", "delayMs": 5}}),
        (JOB, {"timeoutMs": 5}),
        (JOB, {"priority": 0}),
        (JOB, {"concurrencyKey": "x"}),
        (JOB, {"guarantee": "at-most-once"}),
        (JOB, {"expiresMs": 5}),
        (JOB, {"options": {"queue": "q"}}),
        (FLOW, {"deadlineMs": 5}),
        (FLOW, {"input": 2}),
        (CELERY, {"args": [1]}),
        (CELERY, {"kwargs": {"a": 1}}),
        (CELERY, {"task": "proj.other"}),
        (CELERY, {"options": {"queue": Queue("q", queue_arguments={"x-max-priority": 5})}}),
    ],
)
def test_any_change_shows_and_leaves_the_times_alone(entry, change):
    before, after = read(entry), read({**entry, **change})
    assert before.fingerprint != after.fingerprint
    assert before.timing_fingerprint == after.timing_fingerprint


def cron(text, **more):
    return {**without(JOB, "everyMs"), "cron": text, **more}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (JOB, {**JOB, "everyMs": 1001}),
        (JOB, cron("* * * * *")),
        (cron("0 9 * * *"), cron("0 8 * * *")),
        (cron("0 9 * * *"), cron("0 9 * * *", timeZone="Asia/Tokyo")),
        (CELERY, {**CELERY, "schedule": 11}),
        (CELERY, {**CELERY, "relative": True}),
        ({**CELERY, "schedule": crontab(0)}, {**CELERY, "schedule": crontab(1)}),
        (
            {**CELERY, "schedule": solar("sunset", 1, 2)},
            {**CELERY, "schedule": solar("sunset", 1, 3)},
        ),
        ({**CELERY, "schedule": Tide({1})}, {**CELERY, "schedule": Tide({2})}),
    ],
)  # fmt: skip
def test_a_change_of_the_times_shows_in_both(first, second):
    assert read(first).timing_fingerprint != read(second).timing_fingerprint
    assert read(first).fingerprint != read(second).fingerprint


def test_a_crontab_changes_with_the_zone_of_the_app():
    entry = {**CELERY, "schedule": crontab(0)}
    here, there = (read(entry, app=new_app(timezone=zone)) for zone in ("UTC", "Asia/Tokyo"))
    assert here.timing_fingerprint != there.timing_fingerprint


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (JOB, {**JOB, "every_ms": 1000}),
        (cron("0 9 * * *"), cron("0 9 * * *", timeZone="UTC")),
        (cron("0 9 * * *"), cron(" 0  9 * *\t*")),
        ({**JOB, "everyMs": 10_000}, CELERY),
        ({**CELERY, "schedule": 10.0}, {**CELERY, "schedule": timedelta(seconds=10)}),
        ({**CELERY, "schedule": crontab("*/30")}, {**CELERY, "schedule": crontab([0, 30])}),
    ],
)
def test_equal_times_have_equal_fingerprints(first, second):
    if "every_ms" in second:
        second = without(second, "everyMs")
    assert read(first).timing_fingerprint == read(second).timing_fingerprint


def test_neither_addresses_nor_cycles_matter():
    class Node:
        def __init__(self):
            self.me = self
            self.values = {3, 1, 2}

    assert fingerprint_of(Node()) == fingerprint_of(Node())
    assert fingerprint_of(object()) == fingerprint_of(object())
    assert fingerprint_of([threading.Lock()]) == fingerprint_of([threading.Lock()])
