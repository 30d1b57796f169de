"""Kill -9 of a worker or of one of its processes, at every step of a job.

By the guarantee: at-least-once runs again while attempts remain, else FAILED; at-most-once becomes
STALLED. A 'skip' schedule goes on in every case.
"""

from functools import partial
from typing import Any

import pytest

from tests.reliability.stage import Stage, child_pids, kill_main
from tests.servers import Broker, Database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(150)]

#: Each schedule's first execution kills its pool process at one step of the job.
STEPS = """
@app.task(bind=True)
def dies(self, step):
    started(self)
    if step == "running" and first(self.request.headers["tsumugi"]["schedule"]):
        die()

def at(step):
    def receiver(sender=None, **kwargs):
        header = (sender.request.headers or {}).get("tsumugi")
        if header and header["schedule"].startswith(step) and first(header["schedule"]):
            die()
    return receiver

before, returned, reported = at("before"), at("returned"), at("reported")
signals.task_prerun.connect(before)
signals.task_success.connect(returned)
"""
# Connected when a pool process starts, so after the package's own receiver.
REPORTED = """
@signals.worker_process_init.connect
def last(**kwargs):
    signals.task_postrun.connect(reported)
"""
KINDS: dict[str, dict[str, Any]] = {
    "least": {"maxAttempts": 3, "backoff": {"kind": "fixed", "delayMs": 200, "jitter": False}},
    "most": {"maxAttempts": 3, "guarantee": "at-most-once"},
    "single": {"maxAttempts": 1},
}
BEGAN = {"least": ("COMPLETED", 2), "most": ("STALLED", 1), "single": ("FAILED", 1)}


def expected(step: str, kind: str) -> tuple[str, int]:
    # Lost before it started it is sent again; killed after its report it has ended.
    return BEGAN[kind] if step in {"running", "returned"} else ("COMPLETED", 1)


def goes_on(stage: Stage, name: str) -> bool:
    return any(row.state == "COMPLETED" for row in stage.rows(name)[1:])


@pytest.mark.parametrize("variant", ["plain", "with results", "late acknowledgement"])
def test_a_pool_process_killed_at_each_step(
    make_stage, postgres_database: Database, redis_broker: Broker, variant: str
):
    variants: dict[str, dict[str, Any]] = {
        "plain": {},
        # Celery takes a job for done once its result is stored, and tells nobody of the loss.
        "with results": {"result_backend": redis_broker.url},
        # Celery gives the message back, and tells nobody either.
        "late acknowledgement": {"task_acks_late": True, "task_reject_on_worker_lost": True},
    }
    settings = variants[variant]
    stage: Stage = make_stage(postgres_database, redis_broker, **settings)
    names = {f"{step}-{kind}": (step, kind) for step in POINTS for kind in KINDS}
    schedules = {
        name: {"binding": "proj.dies", "payload": [step], "everyMs": 2000, **KINDS[kind]}
        for name, (step, kind) in names.items()
    }
    stage.write(repr(schedules), STEPS + REPORTED)
    stage.worker("-c", "4")
    stage.beat()
    ended = ("COMPLETED", "FAILED", "STALLED", "CANCELLED")
    found = {name: stage.wait_for_first(name, *ended, timeout=60) for name in names}
    assert {name: (row.state, row.attempt) for name, row in found.items()} == {
        name: expected(*what) for name, what in names.items()
    }
    for name in names:
        stage.wait(partial(goes_on, stage, name), what=f"{name} goes on")
    assert stage.settle().problems == []


POINTS = ("before", "running", "returned", "reported")

HELD = """{
    "least": {"binding": "proj.held", "payload": ["end"], "everyMs": 1000, "maxAttempts": 2},
    "most": {"binding": "proj.held", "payload": ["end"], "everyMs": 1000, "maxAttempts": 2,
             "guarantee": "at-most-once"},
    "single": {"binding": "proj.held", "payload": ["end"], "everyMs": 1000, "maxAttempts": 1},
    "queued": {"binding": "proj.job", "payload": [], "everyMs": 1000},
}"""


@pytest.mark.parametrize("whole", [True, False], ids=["whole worker", "main process alone"])
def test_a_worker_killed_with_jobs_running_and_waiting_in_it(
    make_stage, mariadb_database: Database, rabbitmq_broker: Broker, whole: bool
):
    stage: Stage = make_stage(mariadb_database, rabbitmq_broker)
    stage.write(HELD)
    worker = stage.worker("-c", "3")
    stage.beat()
    stage.wait(lambda: len(stage.lines("holding")) >= 3, what="three jobs running")
    pool = child_pids(worker)
    assert pool
    if whole:
        worker.kill()
    else:
        # Its pool goes on with what it has: an end of it that is reported too late does not count.
        kill_main(worker)
    for name in ("least", "most", "single"):
        row = stage.wait_for_first(name, "SCHEDULED", "QUEUED", "FAILED", "STALLED")
        assert "vanished" in row.error
    stage.go("end")
    stage.worker("-c", "3")
    done = {name: stage.wait_for_first(name, "COMPLETED", "FAILED", "STALLED") for name in BEGAN}
    assert {name: (row.state, row.attempt) for name, row in done.items()} == BEGAN
    for name in (*BEGAN, "queued"):
        stage.wait(partial(goes_on, stage, name), what=f"{name} goes on")
    assert stage.settle().problems == []
