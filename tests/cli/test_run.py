"""A Run on the command line, started by a trigger and run by a real worker."""

import json

import pytest

PROJECT = """
    import os
    from celery import Celery, chord
    from tsumugi_celery import define_tsumugi
    app = Celery("proj", broker=os.environ["BROKER"], backend=os.environ["BROKER"])

    @app.task
    def square(x): return x * x

    @app.task
    def total(values): return sum(values)

    define_tsumugi(
        app,
        flows={"SUM": lambda n: chord([square.s(i) for i in range(n)], total.s())},
        schedules={"sum": {"flow": "SUM", "input": 3, "cron": "0 0 1 1 *"}},
    )
"""


@pytest.mark.e2e
def test_a_run_and_its_tasks(project, redis_broker):
    project.write(PROJECT)
    project.env |= {"BROKER": redis_broker.url}
    identifier = project.celery("tsumugi", "trigger", "sum").stdout.split()[-1]
    waiting = json.loads(project.celery("tsumugi", "run", identifier, "--json").stdout)
    assert waiting["state"] == "RUNNING"
    assert (waiting["ended"], waiting["known"]) == (0, 4)
    project.worker()

    def ended() -> bool:
        told = project.celery("tsumugi", "run", identifier, "--json").stdout
        return bool(json.loads(told)["state"] == "COMPLETED")

    project.wait_for(ended, 60, what="the end of the Run")
    text = project.celery("tsumugi", "run", identifier).stdout
    assert "4 of 4 tasks ended" in text
    assert text.count("proj.square") == 3
    assert "body: proj.total" in text
    unknown = project.celery("tsumugi", "run", "proj.sum-1")
    assert unknown.returncode == 3
    assert "Traceback" not in unknown.stdout
