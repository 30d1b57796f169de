"""`priority`: larger is sooner, whatever the broker counts like."""

from __future__ import annotations

import random

import pytest

from tests.jobs.stage import NEVER, Stage

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def test_larger_is_sooner_on_a_blocked_worker(stage: Stage):
    stage.write(
        f"""
        from kombu import Queue
        @app.task(name="block")
        def block():
            say("blocked")
            while not is_there("go"): time.sleep(0.02)
        @app.task(name="work")
        def work(number): say("ran", number)
        def job(task, payload, **more):
            return {{"binding": task, "payload": payload, "everyMs": {NEVER}, **more}}
        tsumugi = define_tsumugi(app, schedules={{
            "block": job("block", {{}}, priority=9),
            **{{f"p{{n}}": job("work", [n], priority=n) for n in range(10)}},
        }})
        """,
        task_acks_late=True,  # else a worker with one process takes one message ahead
        task_queue_max_priority=9,
        broker_transport_options={"priority_steps": list(range(10))}
        if stage.broker.kind == "redis"
        else {},
    )
    stage.project.worker("-c", "1")
    beat = stage.beat()
    stage.fire("block")
    stage.wait_said("blocked")
    order = random.Random(4).sample(range(10), 10)
    for number in order:
        stage.fire(f"p{number}")
        stage.wait_state(f"p{number}", "QUEUED")
    stage.touch("go")
    stage.wait_said("ran", count=10)
    assert [words[1] for _, words in stage.said("ran")] == [str(n) for n in reversed(range(10))]
    assert "no effect" not in beat.text()
