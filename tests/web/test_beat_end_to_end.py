"""A real beat and a real worker, steered through REST from another process."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.processes import Project
from tests.servers.kinds import Broker, Database
from tests.waiting import wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

PROJECT = """
    import time
    from celery import Celery
    from tsumugi_celery import define_tsumugi

    app = Celery("proj", broker={url!r})
    app.conf.update({settings!r})
    app.conf.update(tsumugi_poll_interval=0.2, result_expires=None)

    @app.task(name="proj.note")
    def note(at):
        return at

    @app.task(name="proj.long")
    def long():
        time.sleep(120)

    tsumugi = define_tsumugi(app, database_url={database!r}, schedules={{
        "often": {{"binding": "proj.note", "payload": lambda o: {{"at": o.scheduled_at_ms}},
                  "everyMs": 1000, "overlap": "overlap"}},
        "yearly": {{"binding": "proj.note", "payload": {{"at": 0}}, "cron": "0 0 1 1 *"}},
        "long": {{"binding": "proj.long", "payload": {{}}, "cron": "0 0 1 1 *"}},
    }})
"""

SITE = """
    import sys
    from flask import Flask
    from tsumugi_celery.web import bearer_auth, create_blueprint
    from proj import tsumugi

    flask = Flask("site")
    flask.register_blueprint(create_blueprint(tsumugi, auth=bearer_auth("t")), url_prefix="/ops")
    client = flask.test_client()
    for line in sys.stdin:
        method, path = line.split()
        headers = {"Authorization": "Bearer t"}
        answer = client.open("/ops/api" + path, method=method, headers=headers)
        print(answer.status_code, answer.get_data(as_text=True).strip(), flush=True)
"""


class Remote:
    """The site in a process of its own: asked by lines on its standard input."""

    def __init__(self, project: Project) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "import site_of_proj"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=project.folder,
            env=project.env,
            text=True,
        )

    def __call__(self, method: str, path: str, status: int = 200) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{method} {path}\n")
        self._process.stdin.flush()
        answered, _, text = self._process.stdout.readline().partition(" ")
        assert int(answered) == status, text
        return json.loads(text)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def ask(project: Project, redis_broker: Broker, sqlite_database: Database) -> Any:
    source = PROJECT.format(
        url=redis_broker.url, settings=redis_broker.settings, database=sqlite_database.url
    )
    project.write(source)
    project.write(SITE, module="site_of_proj")
    remote = Remote(project)
    yield remote
    remote.close()


def test_a_running_beat_is_paused_triggered_and_resumed(project: Project, ask: Any):
    """Issue 5: the pause stops it, what passes is counted and not run, the next time stays."""
    beat = project.beat()
    project.worker()
    history = "/schedules/often/occurrences?limit=500"

    def executed() -> list[int]:
        return [
            each["scheduled_at"]
            for each in ask("GET", history)["occurrences"]
            if each["state"] == "COMPLETED" and not each["manual"]
        ]

    wait_for(lambda: len(executed()) >= 2, 60, what="two runs", logs=project.processes)
    before = ask("GET", "/schedules/yearly")["next_run_at"]
    paused_at = ask("POST", "/schedules/often/pause")["paused_at"]

    def counted() -> int:
        return int(ask("GET", "/schedules/often")["not_executed"]["pause"])

    wait_for(lambda: counted() >= 3, 60, what="three times counted", logs=project.processes)
    # Triggered while it is paused, from a process that is neither beat nor worker.
    manual = ask("POST", "/schedules/often/trigger", 201)["id"]

    def state(identifier: str) -> str:
        return str(ask("GET", f"/occurrences/{identifier}")["state"])

    wait_for(
        lambda: state(manual) == "COMPLETED", 60, what="the manual run", logs=project.processes
    )
    yearly = ask("POST", "/schedules/yearly/trigger", 201)["id"]
    wait_for(lambda: state(yearly) == "COMPLETED", 60, what="the other one", logs=project.processes)
    assert ask("GET", "/schedules/yearly")["next_run_at"] == before
    # A restart does not end the pause.
    assert beat.terminate() == 0
    project.beat()
    last = counted()
    wait_for(lambda: counted() > last, 60, what="the new beat counting", logs=project.processes)
    resumed = ask("POST", "/schedules/often/resume")
    resumed_by = resumed["next_run_at"]
    at_resume = executed()
    wait_for(
        lambda: len(executed()) >= len(at_resume) + 2,
        60,
        what="runs after the resume",
        logs=project.processes,
    )
    assert not [at for at in executed() if paused_at < at < resumed_by]
    # Every second of it is explained, and once.
    found = ask("GET", history)["occurrences"]
    regular = [each for each in found if not each["manual"]]
    first, until = min(at_resume), max(executed())
    count = sum(each["count"] for each in regular if first <= each["scheduled_at"] <= until)
    assert count == (until - first) // 1000 + 1
    assert {each["cause"] for each in regular} <= {None, "pause", "delay"}


def test_a_running_job_is_cancelled(project: Project, ask: Any):
    project.worker()
    identifier = ask("POST", "/schedules/long/trigger", 201)["id"]

    def found() -> dict[str, Any]:
        answer: dict[str, Any] = ask("GET", f"/occurrences/{identifier}")
        return answer

    wait_for(lambda: found()["state"] == "RUNNING", 60, what="the job", logs=project.processes)
    ask("POST", f"/occurrences/{identifier}/cancel")
    wait_for(lambda: found()["state"] == "CANCELLED", 60, what="its end", logs=project.processes)
    assert found()["attempts"][-1]["state"] == "CANCELLED"


def test_where_the_pool_cannot_end_a_job_it_stays_running(project: Project, ask: Any):
    project.worker("-P", "threads")
    identifier = ask("POST", "/schedules/long/trigger", 201)["id"]

    def state() -> str:
        return str(ask("GET", f"/occurrences/{identifier}")["state"])

    wait_for(lambda: state() == "RUNNING", 60, what="the job", logs=project.processes)
    assert ask("POST", f"/occurrences/{identifier}/cancel")["state"] == "RUNNING"
    assert state() == "RUNNING"
