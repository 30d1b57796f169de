"""(e) What the package adds to one task, without a pool and a broker: processor time.

    python benchmarks/tracing.py '{"kind": "tracked", "n": 1000, "ledger": "sqlite:///…"}'

Each kind has processes of its own: what the package connects to Celery's signals meets every app.
"""

import json
import statistics
import sys
import time
from typing import Any

from celery import Celery
from celery.app.trace import build_tracer

TASK = "proj.noop"
SCRIPT = "benchmarks/tracing.py"
#: A task not ours costs a few microseconds more, which one process's luck may hide.
TURNS = 3


def measure(stage: Any, n: int) -> list[dict[str, Any]]:
    """Microseconds of one task as a pool process runs it: the median of some processes."""
    from benchmarks.stage import python  # noqa: PLC0415 - the measured process has no use for it

    kinds = ("tracked", "not ours", "without the package")
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(TURNS):
        for kind in kinds:
            given = {"kind": kind, "n": n, "ledger": stage.database("sqlite")}
            with python(SCRIPT, json.dumps(given)) as child:
                assert child.stdout is not None
                taken[kind].append(float(child.stdout.readline()))
    return [
        {
            "what": f"{kind}: the task alone",
            "n": n,
            "ledger": "sqlite" if kind == "tracked" else None,
            "rate": None,
            "cpu_us_each": round(statistics.median(each), 1),
        }
        for kind, each in taken.items()
    ]


def main() -> None:
    given = json.loads(sys.argv[1])
    n: int = given["n"]
    app = Celery("proj", broker="memory://", set_as_current=False)

    @app.task(name=TASK, ignore_result=True, shared=False)
    def noop() -> None:
        """Nothing."""

    app.finalize()
    more = {} if given["kind"] == "without the package" else _with_package(app, n, given["ledger"])
    if given["kind"] != "tracked":
        more = {}
    trace = build_tracer(TASK, app.tasks[TASK], app=app)
    requests = [{"id": f"proj.s-{at}", "retries": 0, "hostname": "here", **more} for at in range(n)]
    before = time.process_time()
    for request in requests:
        trace(request["id"], (), {}, request)
    print(1e6 * (time.process_time() - before) / n, flush=True)


def _with_package(app: Celery, n: int, url: str) -> dict[str, Any]:
    """Set the package up, with n jobs that wait to be started, and return their header."""
    import sqlalchemy as sa  # noqa: PLC0415 - a worker without the package has no use for it

    from tsumugi_celery import define_tsumugi  # noqa: PLC0415
    from tsumugi_celery.app import state_of  # noqa: PLC0415
    from tsumugi_celery.ledger.schema import occurrence  # noqa: PLC0415
    from tsumugi_celery.worker.install import install  # noqa: PLC0415

    define_tsumugi(app, schedules={}, database_url=url)
    install(app)
    ledger = state_of(app).ledger
    ledger.open()
    same = {"schedule_id": 1, "namespace": "proj", "kind": "job", "state": "QUEUED"}
    same |= {"target": TASK, "guarantee": "at-least-once"}
    with ledger.begin() as connection:
        rows = [{"id": f"proj.s-{at}", "scheduled_at": at, **same} for at in range(n)]
        connection.execute(sa.insert(occurrence), rows)
    return {"tsumugi": {"ledger": ledger.id, "namespace": "proj", "schedule": "s", "base": 0}}


if __name__ == "__main__":
    main()
