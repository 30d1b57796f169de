"""The project that real `celery beat` and `celery worker` commands of the benchmarks run.

Everything comes from the environment: BENCH_BROKER, BENCH_LEDGER (empty: without this package),
BENCH_SECONDLY (how many schedules of one second) and BENCH_REPEATS (whether data owns repeats).
"""

import os

from celery import Celery
from celery.schedules import schedule

app = Celery("proj", broker=os.environ["BENCH_BROKER"])
# The measured queue has no worker of its own, and nothing may wait for one.
app.conf.update(timezone="UTC", worker_hijack_root_logger=False)


@app.task(name="proj.noop", ignore_result=True, shared=False)
def noop(*_args: object) -> None:
    """Nothing."""


ledger = os.environ.get("BENCH_LEDGER", "")
secondly = int(os.environ.get("BENCH_SECONDLY", "0"))
if ledger:
    import tsumugi_celery

    handle = tsumugi_celery.define_tsumugi(app, database_url=ledger, schedules={})
    app.conf.beat_schedule = {
        f"s{i}": {"binding": "proj.noop", "payload": [i], "everyMs": 1000, "overlap": "overlap"}
        for i in range(secondly)
    }
    if os.environ.get("BENCH_REPEATS"):
        repeats = handle.repeats("accounts", binding="proj.noop")
else:
    app.conf.beat_schedule = {
        f"s{i}": {"task": "proj.noop", "schedule": schedule(1.0), "args": [i]}
        for i in range(secondly)
    }
