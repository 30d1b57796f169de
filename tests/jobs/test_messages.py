"""What Celery gets: each option as a Celery option where it has one."""

from __future__ import annotations

import json
import time
import zlib
from datetime import datetime

import pytest
from kombu import Queue

from tests.jobs.bench import MINUTE, START
from tsumugi_celery.engine.priorities import priority_warnings
from tsumugi_celery.engine.queues import add_queues
from tsumugi_celery.engine.routing import shard_queue

EVERY = {"everyMs": MINUTE}
JOB = {"binding": "work", "payload": {"a": 1}, **EVERY}


def test_job_options_become_celery_options(bench):
    beat = bench(
        {
            "full": {
                **JOB,
                "maxAttempts": 3,
                "timeoutMs": 1500,
                "priority": 7,
                "expiresMs": 90_000,
                "guarantee": "at-most-once",
                "options": {"headers": {"x": "y"}, "shadow": "nice"},
            }
        }
    )
    beat.pass_time(MINUTE + 10_000)
    (message,) = beat.messages()
    assert message.headers["task"] == "work"
    assert message.headers["id"] == f"bench.full-{START + MINUTE}"
    assert message.headers["timelimit"] == [6.5, 1.5]
    assert message.headers["shadow"] == "nice"
    assert message.headers["x"] == "y"
    assert message.properties["priority"] == 7
    # From the scheduled time, not from the moment of sending: 80 s are left of 90.
    expires = datetime.fromisoformat(message.headers["expires"]).timestamp()
    sent = beat.rows("full")[0]
    assert sent.expires_at == START + MINUTE + 90_000
    assert 60 < expires - time.time() <= 80
    header = message.headers["tsumugi"]
    assert (header["max_attempts"], header["guarantee"]) == (3, "at-most-once")
    assert header["backoff"]["kind"] == "exponential"


def test_a_plain_entry_keeps_what_it_says_under_options(bench):
    """Case C166."""
    beat = bench(
        {
            "plain": {
                "task": "work",
                "schedule": 60.0,
                "options": {"expires": 1, "queue": "q2", "headers": {"a": "b"}, "priority": 3},
                "timeoutMs": 1000,
                "maxAttempts": 2,
            }
        }
    )
    beat.pass_time(MINUTE)
    (message,) = beat.messages("q2")
    assert message.headers["expires"] is not None
    assert message.headers["a"] == "b"
    assert message.headers["timelimit"] == [6.0, 1.0]
    assert message.headers["tsumugi"]["max_attempts"] == 2
    assert message.properties["priority"] == 3
    assert beat.rows("plain")[0].queue == "q2"


def test_without_options_celery_decides(bench):
    beat = bench({"bare": JOB})
    beat.pass_time(MINUTE)
    (message,) = beat.messages()
    assert message.headers["timelimit"] == [None, None]
    assert message.headers["expires"] is None
    assert "max_attempts" not in message.headers["tsumugi"]


SHARDED = {"Sync": {"task": "work", "queue": "sync", "shards": 4}}


def test_a_shard_is_the_crc32_of_the_partition_key(bench):
    beat = bench({"s": {**JOB, "binding": "Sync", "partitionKey": "tenant-ü"}}, SHARDED)
    beat.pass_time(MINUTE)
    queue = f"sync.{zlib.crc32('tenant-ü'.encode()) % 4}"
    assert len(beat.messages(queue)) == 1
    assert beat.rows("s")[0].queue == queue


@pytest.mark.parametrize(("key", "number"), [("a", 3), ("b", 1), ("tenant-42", 0), ("ü", 1)])
def test_the_shards_of_these_keys_never_change(bench, key, number):
    binding = bench({}, SHARDED).state.read().bindings["Sync"]
    assert shard_queue(binding, "sync", key) == f"sync.{number}"


def test_queues_of_bindings_are_consumed_unless_others_are_chosen(bench):
    bindings = {**SHARDED, "Mail": {"task": "work", "queue": "mail"}, "Any": {"task": "work"}}
    own = Queue("mail", routing_key="post", max_priority=5)
    beat = bench({}, bindings, task_queues=[Queue("usual"), own])
    queues = beat.app.amqp.queues
    add_queues(beat.app, beat.state.read().bindings.values())
    assert sorted(queues.consume_from) == sorted(
        ["usual", "mail", "sync.0", "sync.1", "sync.2", "sync.3"]
    )
    assert (queues["mail"].routing_key, queues["mail"].max_priority) == ("post", 5)
    assert queues["sync.1"].routing_key == "sync.1"
    queues.deselect(["sync.2"])
    assert "sync.2" not in queues.consume_from
    queues.select(["sync.3"])
    assert list(queues.consume_from) == ["sync.3"]


def warnings_of(bench, broker_url, priorities, **settings):
    schedules = {f"p{each}": {**JOB, "priority": each} for each in priorities}
    beat = bench(schedules)
    beat.app.conf.update(broker_url=broker_url, **settings)
    return priority_warnings(beat.app, beat.cycle.plans)


@pytest.mark.parametrize("transport", ["memory://", "filesystem://", "sqs://", "sqla+sqlite://"])
def test_a_transport_without_priorities_is_said_once(bench, transport):
    (words,) = warnings_of(bench, transport, [1, 9])
    assert "'p1', 'p9' has no effect" in words


def test_priorities_that_redis_does_not_tell_apart_are_said(bench):
    (words,) = warnings_of(bench, "redis://localhost", [0, 4, 5])
    assert "4 and 5 count as one" in words
    assert "priority_steps" in words
    steps = {"priority_steps": list(range(10))}
    assert warnings_of(bench, "redis://", [4, 5], broker_transport_options=steps) == []
    assert warnings_of(bench, "rediss://localhost", [0, 3, 6, 9]) == []


def test_a_queue_of_rabbitmq_without_priorities_is_said(bench):
    (words,) = warnings_of(bench, "amqp://", [1, 2])
    assert "has no x-max-priority" in words
    assert "max_priority=9" in words
    assert warnings_of(bench, "amqp://", [1, 2], task_queue_max_priority=9) == []


@pytest.mark.parametrize(
    ("queue", "told"),
    [
        (Queue("q", max_priority=9), None),
        (Queue("q", queue_arguments={"x-max-priority": 10}), None),
        (Queue("q", max_priority=3), "has x-max-priority 3, below 8"),
        (Queue("q", queue_arguments={"x-queue-type": "quorum"}), "quorum"),
        (Queue("q"), "has no x-max-priority"),
    ],
)
def test_what_the_queue_of_a_job_can_do_is_checked(bench, queue, told):
    beat = bench({"p8": {**JOB, "priority": 8, "options": {"queue": "q"}}}, task_queues=[queue])
    beat.app.conf.broker_url = "amqp://"
    found = priority_warnings(beat.app, beat.cycle.plans)
    assert len(found) == (told is not None)
    assert told is None or told in found[0]


def test_the_row_keeps_all_that_a_message_is_made_of(bench):
    queue = Queue("q3")
    beat = bench({"k": {**JOB, "priority": 2, "options": {"queue": queue, "headers": {"x": "y"}}}})
    beat.pass_time(MINUTE)
    kept = json.loads(beat.rows("k")[0].options)
    assert kept["celery"] == {"queue": "q3", "headers": {"x": "y"}}
    assert kept["fingerprint"] == beat.cycle.plans["k"].definition.fingerprint
