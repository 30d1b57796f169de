"""`timeoutMs`: an attempt that takes too long is ended, counts as failed, and is tried again."""

from __future__ import annotations

import pytest

from tests.jobs.stage import NEVER, Stage

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TASKS = f"""
@app.task(bind=True, name="polite")
def polite(self):
    say("ran", "polite", self.request.retries)
    time.sleep(60)

@app.task(bind=True, name="stubborn")
def stubborn(self):
    say("ran", "stubborn")
    while True:
        try: time.sleep(60)
        except SoftTimeLimitExceeded: say("soft", "stubborn")

@app.task(bind=True, name="again")
def again(self):
    say("ran", "again")
    if is_there("again"):
        return
    open(os.path.join(FOLDER, "again"), "w").close()
    while True:
        try: time.sleep(60)
        except SoftTimeLimitExceeded: pass

QUICK = {{"kind": "fixed", "delayMs": 50, "jitter": False}}
def job(task, **more):
    return {{"binding": task, "payload": {{}}, "everyMs": {NEVER}, "timeoutMs": 500, **more}}
tsumugi = define_tsumugi(app, schedules={{
    "polite": job("polite", maxAttempts=2, backoff=QUICK),
    "stubborn": job("stubborn", maxAttempts=2, backoff=QUICK),
    "once": job("stubborn"),
    "again": job("again", maxAttempts=3, backoff=QUICK, guarantee="at-most-once"),
    "every": {{"binding": "stubborn", "payload": {{}}, "everyMs": 4000, "timeoutMs": 300}},
    "plain": {{"task": "polite", "schedule": {NEVER / 1000}, "timeoutMs": 500}},
}})
"""


def test_an_attempt_is_ended_and_tried_again_also_after_the_hard_kill(stage: Stage):
    """Case C149 besides: each regular time has its own run, since none stays unfinished."""
    stage.write(TASKS)
    stage.project.worker("-c", "4")
    stage.beat()
    stage.fire("polite", "stubborn", "once", "again", "plain")
    polite = stage.wait_state("polite", "FAILED")
    assert polite.attempt == 2
    assert "SoftTimeLimitExceeded" in polite.error
    assert [each.attempt for each in stage.attempts(polite.id)] == [1, 2]
    stubborn = stage.wait_state("stubborn", "FAILED")
    assert (stubborn.attempt, "TimeLimitExceeded" in stubborn.error) == (2, True)
    for each in stage.attempts(stubborn.id):
        # The limit is 0.5 s and the grace 0.4 s; a busy machine may be late, but not early.
        assert each.ended_at - each.started_at >= 850
        assert "TimeLimitExceeded" in each.error
    once = stage.wait_state("once", "FAILED")
    assert (once.attempt, "TimeLimitExceeded" in once.error) == (1, True)
    # Killed at its limit it has failed, whatever the guarantee; the next attempt goes well.
    assert stage.wait_state("again", "COMPLETED").attempt == 2
    assert "SoftTimeLimitExceeded" in stage.wait_state("plain", "FAILED").error
    first, second = (stage.wait_state("every", "FAILED", count=n) for n in (1, 2))
    assert second.scheduled_at - first.scheduled_at == 4000
    assert stage.schedule("every").n_overlap == 0


def test_a_pool_that_cannot_keep_limits_says_so_when_it_starts(redis_stage: Stage):
    stage = redis_stage
    stage.write(TASKS)
    worker = stage.project.worker("--pool", "threads")
    worker.wait_log("`timeoutMs` of again, every, once, plain, polite and 1 more is not kept here")
    assert "The pool 'thread' cannot end a running task" in worker.text()
