"""A real Flower shows our tasks: readable ids, retries, times."""

import base64
import json
import socket
import urllib.request
from typing import Any

import pytest

PROJECT = """
    import os
    from celery import Celery
    from tsumugi_celery import define_tsumugi
    app = Celery("proj", broker=os.environ["BROKER"])
    app.conf.result_backend = os.environ["BROKER"]
    app.conf.worker_send_task_events = True
    app.conf.task_send_sent_event = True

    @app.task
    def add(x, y):
        return x + y

    @app.task
    def fragile():
        raise ConnectionError("not there")

    define_tsumugi(app, schedules={
        "sum": {"binding": add, "payload": [20, 22], "everyMs": 1000},
        "fragile": {
            "binding": fragile, "payload": {}, "everyMs": 1000,
            "maxAttempts": 2, "backoff": {"kind": "fixed", "delayMs": 100, "jitter": False},
        },
    })
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.e2e
@pytest.mark.timeout(180)
def test_flower_shows_ids_retries_and_times(project, redis_broker):
    project.write(PROJECT)
    project.env |= {"BROKER": redis_broker.url}
    port = free_port()
    options = ("--address=127.0.0.1", f"--port={port}", "--basic-auth=user:pass")
    flower = project.start("flower", *project.command("flower", *options))

    def ask(path: str) -> bytes:
        secret = base64.b64encode(b"user:pass").decode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Basic {secret}"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())

    def answers() -> bool:
        try:
            ask("/")
        except OSError:
            return False
        return True

    project.wait_for(answers, 60, what="an answer of Flower")
    assert flower.running
    project.worker("-E")
    project.beat()

    def tasks() -> Any:
        return json.loads(ask("/api/tasks?limit=1000"))

    def seen(name: str, state: str) -> Any:
        found = [each for each in tasks().values() if each["name"] == name]
        return next((each for each in found if each["state"] == state), None)

    project.wait_for(lambda: seen("proj.add", "SUCCESS"), 60, what="a sum in Flower")
    done = seen("proj.add", "SUCCESS")
    assert done["uuid"].startswith("proj.sum-")
    assert done["uuid"].rpartition("-")[2].isdigit()
    assert done["result"] == "42"
    assert done["received"] <= done["started"] <= done["succeeded"]
    project.wait_for(lambda: seen("proj.fragile", "FAILURE"), 60, what="a failure in Flower")
    failed = seen("proj.fragile", "FAILURE")
    assert failed["retries"] == 1
    assert failed["retried"]
    assert "not there" in failed["exception"]
    page = ask(f"/task/{failed['uuid']}").decode()
    assert failed["uuid"] in page
    assert "proj.fragile" in page
