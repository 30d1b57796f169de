"""Attempts: how many, when, and what the task's own retry settings have to say (decision 0060)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.jobs.stage import NEVER, Stage

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TASKS = f"""
class Custom(Task):
    abstract = True
    def __call__(self, *args, **kwargs):
        say("called", self.name)
        return super().__call__(*args, **kwargs)

def fail(task):
    say("ran", task.request.headers["x-name"], task.request.retries)
    raise ValueError("no luck")

@app.task(bind=True, name="fails")
def fails(self): fail(self)
@app.task(bind=True, name="autoretries", autoretry_for=(ValueError,), max_retries=10,
          retry_backoff=600, default_retry_delay=600)
def autoretries(self): fail(self)
@app.task(bind=True, name="own", max_retries=2, default_retry_delay=0)
def own(self):
    try: fail(self)
    except ValueError as exc: raise self.retry(exc=exc, countdown=0)
@app.task(bind=True, name="asks", max_retries=50)
def asks(self):
    try: fail(self)
    except ValueError as exc: raise self.retry(exc=exc, max_retries=50)
@app.task(bind=True, name="expected", throws=(ValueError,))
def expected(self): fail(self)
@app.task(bind=True, name="hopeless", autoretry_for=(Exception,), dont_autoretry_for=(ValueError,))
def hopeless(self): fail(self)
@app.task(bind=True, name="ignores")
def ignores(self):
    say("ran", "ignores"); raise Ignore()
@app.task(bind=True, name="rejects")
def rejects(self):
    say("ran", "rejects"); raise Reject("not mine", requeue=False)
@app.task(bind=True, name="requeues", acks_late=True)
def requeues(self): once(self, "requeues")
@app.task(bind=True, name="requeues_early")
def requeues_early(self): once(self, "requeues_early")
def once(task, name):
    say("ran", name)
    if not is_there(name):
        open(os.path.join(FOLDER, name), "w").close()
        raise Reject("later", requeue=True)
class Deaf(Task):
    abstract = True
    def apply_async(self, *args, **kwargs):
        if kwargs.get("retries"): raise OSError("the broker is away")
        return super().apply_async(*args, **kwargs)
@app.task(bind=True, base=Deaf, name="deaf")
def deaf(self): fail(self)
@app.task(bind=True, base=Custom, name="second")
def second(self):
    say("ran", "second", self.request.retries)
    if self.request.retries == 0: raise KeyError("first")

QUICK = {{"kind": "fixed", "delayMs": 100, "jitter": False}}
def job(task, name, **more):
    return {{"binding": task, "payload": {{}}, "everyMs": {NEVER},
            "options": {{"headers": {{"x-name": name}}}}, **more}}
schedules = {{
    "three": job("fails", "three", maxAttempts=3, backoff=QUICK),
    "one": job("fails", "one", maxAttempts=1),
    "none": job("fails", "none"),
    "auto": job("autoretries", "auto", maxAttempts=2, backoff=QUICK),
    "own": job("own", "own"),
    "own-limited": job("own", "own-limited", maxAttempts=2, backoff=QUICK),
    "asks": job("asks", "asks", maxAttempts=3, backoff=QUICK),
    "expected": job("expected", "expected", maxAttempts=2, backoff=QUICK),
    "hopeless": job("hopeless", "hopeless", maxAttempts=5, backoff=QUICK),
    "ignores": job("ignores", "ignores", maxAttempts=3, backoff=QUICK),
    "rejects": job("rejects", "rejects", maxAttempts=3, backoff=QUICK),
    "requeues": job("requeues", "requeues", maxAttempts=1),
    "requeues-early": job("requeues_early", "requeues_early", maxAttempts=1),
    "deaf": job("deaf", "deaf", maxAttempts=2, backoff=QUICK),
    "second": job("second", "second", maxAttempts=3, backoff=QUICK),
    "plain form": {{"task": "fails", "schedule": {NEVER / 1000}, "maxAttempts": 2, "backoff": QUICK,
                   "options": {{"headers": {{"x-name": "plain"}}}}}},
}}
tsumugi = define_tsumugi(app, schedules=schedules)
"""


@pytest.fixture
def running(stage: Stage) -> Stage:
    stage.write(TASKS)
    stage.project.worker("-c", "4")
    stage.beat()
    return stage


def test_attempts_are_counted_and_limited_for_every_kind_of_task(running: Stage):
    """Cases C160 and C161, and the task's own settings beside `maxAttempts`."""
    stage = running
    failing = {
        "three": ("three", 3),
        "one": ("one", 1),
        "none": ("none", 1),
        "auto": ("auto", 2),
        "own": ("own", 3),
        "own-limited": ("own-limited", 2),
        "asks": ("asks", 3),
        "expected": ("expected", 2),
        "hopeless": ("hopeless", 1),
        "plain form": ("plain", 2),
        "deaf": ("deaf", 2),
    }
    stage.fire(*failing, "ignores", "rejects", "requeues", "requeues-early", "second")
    for name, (header, count) in failing.items():
        row = stage.wait_state(name, "FAILED")
        assert (row.attempt, row.error) == (count, "ValueError: no luck"), name
        assert len(stage.said("ran", header)) == count, name
        done = stage.attempts(row.id)
        assert [each.attempt for each in done] == list(range(1, count + 1)), name
        for each in done:
            assert each.state == "FAILED"
            assert each.error == "ValueError: no luck"
            assert each.started_at <= each.ended_at
            assert each.worker.startswith("worker")
        for before, after in pairwise(done):
            assert before.ended_at <= after.started_at
    assert stage.wait_state("ignores", "COMPLETED").attempt == 1
    rejected = stage.wait_state("rejects", "FAILED")
    assert (rejected.attempt, "not mine" in rejected.error) == (1, True)
    for name, told in (("requeues", "requeues"), ("requeues-early", "requeues_early")):
        assert stage.wait_state(name, "COMPLETED").attempt == 1
        assert len(stage.said("ran", told)) == 2
    second = stage.wait_state("second", "COMPLETED")
    assert second.attempt == 2
    assert [each.error for each in stage.attempts(second.id)] == ["KeyError: 'first'"]
    assert len(stage.said("called", "second")) == 2

    # The next occurrence counts anew, and a run by hand has the schedule's options too (C168).
    stage.fire("three")
    assert stage.wait_state("three", "FAILED", count=2).attempt == 3
    identifier = stage.control("print(tsumugi.trigger('three'))")
    stage.wait_state("three", "FAILED", count=3)
    script = f"print(*[each.attempt for each in tsumugi.occurrence({identifier!r}).attempts])"
    assert stage.control(script) == "1 2 3"
    assert len(stage.said("ran", "three")) == 9


def test_a_long_wait_is_kept_and_holds_back_the_next_occurrence(redis_stage: Stage):
    """Case C163, scaled down: the backoff is three times the broker's visibility timeout."""
    stage = redis_stage
    stage.write(
        """
        @app.task(bind=True, name="fails")
        def fails(self):
            say("ran", self.request.id)
            raise ValueError("no luck")
        tsumugi = define_tsumugi(app, schedules={"slow": {
            "binding": "fails", "payload": {}, "everyMs": 1000, "maxAttempts": 3,
            "backoff": {"kind": "fixed", "delayMs": 3000, "jitter": False}}})
        """,
        broker_transport_options={"visibility_timeout": 1},
    )
    stage.project.worker("-c", "2")
    stage.project.worker("-c", "2")
    stage.beat()
    row = stage.wait_state("slow", "SCHEDULED")
    assert row.wait == "broker"
    assert row.due_at >= row.started_at + 3000
    row = stage.wait_state("slow", "FAILED")
    times = [at for at, words in stage.said("ran") if words[1] == row.id]
    assert len(times) == 3
    assert min(after - before for before, after in pairwise(times)) >= 3
    # Regular times went by meanwhile; each was counted, none was executed.
    between = [each for each in stage.rows("slow") if each.scheduled_at <= row.ended_at]
    assert len(between) == 1
    assert stage.schedule("slow").n_overlap >= 4
