"""Limits, shards and paused bindings with real beats and workers."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from tests.jobs.stage import NEVER, Stage
from tests.waiting import wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def overlaps(stage: Stage, key: str) -> int:
    """The most jobs of a key that ran at the same time."""
    told = [(at, words[0]) for at, words in stage.said() if words[1] == key]
    most = now = 0
    for _, what in sorted(told):
        now += 1 if what == "starts" else -1
        most = max(most, now)
    return most


def test_jobs_of_one_key_run_one_at_a_time_whoever_dies(stage: Stage):
    """Case C170: three workers with prefetch 4, two beats; then a holder's worker is killed."""
    stage.write(
        f"""
        @app.task(bind=True, name="work")
        def work(self, key, seconds):
            say("starts", key, self.request.id, os.getpid())
            time.sleep(seconds)
            say("ends", key, self.request.id)
        @app.task(bind=True, name="hang")
        def hang(self):
            say("hangs", os.getppid())
            while not is_there("go"): time.sleep(0.05)
        def job(key, seconds=0.7, **more):
            return {{"binding": "work", "payload": [key, seconds], "everyMs": {NEVER},
                    "concurrencyKey": key, **more}}
        tsumugi = define_tsumugi(app,
            schedules={{
                "a1": job("a"), "a2": job("a"), "a3": job("a"),
                **{{f"p{{n}}": job("p", binding="Pair") for n in range(4)}},
                "holder": {{"binding": "Dies", "payload": {{}}, "everyMs": {NEVER}}},
                "next": job("n", 0, binding="Next", concurrencyKey="n"),
                "after": {{"binding": "Dies", "payload": {{}}, "everyMs": {NEVER}}},
            }},
            bindings={{
                "Pair": {{"task": "work", "policy": {{"perKeyConcurrency": 2}}}},
                "Dies": {{"task": "hang", "policy": {{"concurrency": 1}}, "maxAttempts": 1}},
                "Next": {{"task": "work"}},
            }})
        """,
        worker_prefetch_multiplier=4,
    )
    workers = [stage.project.worker("-c", "2") for _ in range(3)]
    stage.beat()
    stage.beat()
    names = ["a1", "a2", "a3", *(f"p{n}" for n in range(4))]
    stage.fire(*names)
    for name in names:
        stage.wait_state(name, "COMPLETED")
    assert overlaps(stage, "a") == 1
    assert overlaps(stage, "p") == 2
    starts = [words[2] for _, words in stage.said("starts", "a")]
    assert [each.split(".")[1][:2] for each in starts] == ["a1", "a2", "a3"]
    # Released within a second; what else there is comes from this machine being busy.
    turns = [at for at, words in stage.said() if words[1] == "a"]
    assert max(after - before for before, after in list(pairwise(turns))[1::2]) < 2.5

    stage.fire("holder")
    stage.wait_said("hangs")
    stage.fire("after")
    stage.wait_state("after", "SCHEDULED")
    killed = int(stage.said("hangs")[0][1][1])
    next(each for each in workers if each.pid == killed).kill()
    assert "vanished" in stage.wait_state("holder", "FAILED").error
    stage.wait_state("after", "RUNNING")
    stage.touch("go")
    stage.wait_state("after", "COMPLETED")


def test_a_paused_binding_stops_what_the_broker_holds_and_shards_are_consumed(stage: Stage):
    stage.write(
        f"""
        @app.task(name="block")
        def block():
            say("blocked")
            while not is_there("go"): time.sleep(0.02)
        @app.task(bind=True, name="work")
        def work(self, name):
            say("ran", name, self.request.delivery_info["routing_key"])
        def job(binding, payload, **more):
            return {{"binding": binding, "payload": payload, "everyMs": {NEVER}, **more}}
        tsumugi = define_tsumugi(app,
            schedules={{
                "block": job("block", {{}}),
                "b1": job("B", ["b1"]), "b2": job("B", ["b2"]), "b3": job("B", ["b3"]),
                **{{f"s{{key}}": job("S", [key], partitionKey=key) for key in "abg"}},
            }},
            bindings={{"B": {{"task": "work", "queue": "bees", "maxAttempts": 1}},
                      "S": {{"task": "work", "queue": "sync", "shards": 3}}}})
        """
    )
    worker = stage.project.worker("-c", "1")
    stage.beat()
    stage.fire("block")
    stage.wait_said("blocked")
    for name in ("b1", "b2"):
        stage.fire(name)
        stage.wait_state(name, "QUEUED")
    stage.control("tsumugi.pause_binding('B')")
    stage.fire("b3")
    assert stage.wait_state("b3", "SCHEDULED").wait == "binding"
    stage.touch("go")
    for name in ("b1", "b2"):
        row = stage.wait_state(name, "SCHEDULED")
        assert (row.wait, row.attempt) == ("binding", 0)
    # The pause outlives the worker; other bindings go on, in all their shards.
    worker.terminate()
    stage.project.worker("-c", "1")
    stage.fire("sa", "sb", "sg")
    stage.wait_said("ran", count=3)
    assert {tuple(words[1:]) for _, words in stage.said("ran")} == {
        ("a", "sync.0"),
        ("b", "sync.2"),
        ("g", "sync.1"),
    }
    shown = "print(*[each.name for each in tsumugi.bindings() if each.paused])"
    assert stage.control(f"{shown}; tsumugi.resume_binding('B')") == "B"
    for name in ("b1", "b2", "b3"):
        assert stage.wait_state(name, "COMPLETED").attempt == 1
    done = [words[1] for _, words in stage.said("ran")][3:]
    assert done == ["b1", "b2", "b3"]


def test_with_q_only_what_it_names_is_consumed(redis_stage: Stage):
    stage = redis_stage
    stage.write(
        f"""
        @app.task(name="work")
        def work(name): say("ran", name)
        tsumugi = define_tsumugi(app,
            schedules={{"x": {{"binding": "S", "payload": ["x"], "everyMs": {NEVER},
                             "partitionKey": "b", "expiresMs": 1500}},
                       "y": {{"binding": "work", "payload": ["y"], "everyMs": {NEVER}}}}},
            bindings={{"S": {{"task": "work", "queue": "sync", "shards": 3}}}})
        """
    )
    stage.project.worker("-Q", "celery")
    stage.beat()
    stage.fire("x")
    stage.wait_state("x", "QUEUED")
    stage.fire("y")
    stage.wait_state("y", "COMPLETED")
    assert stage.wait_state("x", "QUEUED").queue == "sync.2"
    expires = stage.rows("x")[0].expires_at
    wait_for(lambda: time.time() * 1000 > expires, 5, what="the job to expire")
    # Expired on the queue: the worker that comes too late cancels it.
    stage.project.worker("-Q", "sync.2")
    assert "expired" in stage.wait_state("x", "CANCELLED").error
    assert [words for _, words in stage.said("ran")] == [["ran", "y"]]
