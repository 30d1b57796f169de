"""Repeats and handlers with a real beat, a real worker and a real broker."""

import time

import pytest

from tests.waiting import wait_for
from tsumugi_celery import define_tsumugi
from tsumugi_celery.core.repeat import phase_of

SOURCE = """
    from celery import Celery
    from tsumugi_celery import define_tsumugi
    app = Celery("proj")
    app.conf.update({settings!r})
    tsumugi = define_tsumugi(app, database_url={url!r})

    @app.task(name="proj.probe")
    def probe(url):
        print(f"probed {{url}}", flush=True)

    probes = tsumugi.repeats("probes", binding="proj.probe")

    @tsumugi.schedule("handled", every="2s")
    async def handled(run):
        print(f"handled {{run.name}} {{run.attempt}} {{run.at.tzinfo}}", flush=True)
"""


@pytest.mark.e2e
def test_set_while_beat_runs_and_a_handler(project, redis_broker, sqlite_database):
    """C189: a repeat that is set while beat runs needs no restart of it."""
    from celery import Celery

    url = sqlite_database.url
    project.write(SOURCE.format(settings=redis_broker.settings, url=url))
    worker = project.worker()
    beat = project.beat()
    beat.wait_log("New schedules")
    worker.wait_log("handled handled 1 UTC", 60)
    tsumugi = define_tsumugi(Celery("proj", set_as_current=False), database_url=url)
    probes = tsumugi.repeats("probes", binding="proj.probe")
    soon = int(time.time() * 1000) + 20_000
    # Of a thousand ids one has its phase some 20 s from now; all others are due within the hour.
    hour = 3_600_000
    name = min(
        (f"site:{number}" for number in range(5000)),
        key=lambda each: (phase_of("probes", each, hour) - soon) % hour,
    )
    probes.set(name, {"url": "https://example.org"}, every="1h")
    worker.wait_log("probed https://example.org", 90)

    def in_the_ledger():
        view = probes.get(name)
        return view is not None and view.last_job_id is not None

    wait_for(in_the_ledger, 30, what="the run in the ledger")
    assert beat.running
