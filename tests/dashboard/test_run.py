"""The page of a Run, in a real browser."""

from typing import Any

from celery import chain, chord, group
from sqlalchemy import select, update

from tests.control.stage import HOUR, TASK
from tests.dashboard.browser import NARROW, Window
from tests.dashboard.conftest import FLOWER
from tests.dashboard.scene import HOSTILE, Scene, Served, mounted
from tsumugi_celery.ledger.schema import run_task
from tsumugi_celery.web import unsafe_no_auth


def begin(scene: Scene) -> str:
    """Start a Run of a task, then a chord of three, then one more; two have ended."""

    def build(_given: Any) -> Any:
        add = scene.app.tasks[TASK].si
        return chain(add(1), chord(group(add(2), add(3), add(4)), add(5)), add(6))

    scene.define(
        {"report": {"flow": "REPORT", "input": {}, "everyMs": HOUR}},
        tsumugi_flows={"REPORT": build},
        result_backend="cache+memory://",
    )
    scene.beat()
    run_id = scene.tsumugi.trigger("report")
    with scene.tsumugi._state.ledger.begin() as connection:
        ids = connection.execute(
            select(run_task.c.task_id)
            .where(run_task.c.run_id == run_id, run_task.c.internal.is_(False))
            .order_by(run_task.c.position)
        ).scalars()
        first, second, third, *_ = ids
        for task_id, values in (
            (first, {"state": "COMPLETED", "ended_at": scene.now + 900}),
            (second, {"state": "FAILED", "ended_at": scene.now + 70, "error": HOSTILE}),
            (third, {"state": "RUNNING"}),
        ):
            told = {"queued_at": scene.now, "started_at": scene.now, "worker": "celery@w1"}
            connection.execute(
                update(run_task).where(run_task.c.task_id == task_id).values(told | values)
            )
    return run_id


def test_a_run_shows_its_tree_and_is_cancelled(window: Window, scene: Scene):
    run_id = begin(scene)
    with Served(mounted(scene, auth=unsafe_no_auth(), flower_url=FLOWER)) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        link = window.in_row("report", "flower")
        assert link.text == "Tasks of this Run"
        link.click()
        window.see("h1.name", run_id)
        window.see("#progress-text", "2 of 6 known tasks ended")
        shapes = [each.text for each in window.all("#tree .name")]
        assert shapes.count(TASK) == 6
        assert {"chain", "chord"} <= {*shapes}
        assert "Running" in window.text("#tree")
        assert HOSTILE in window.text("#tree")
        assert window.all("main img") == []
        assert len(window.all("#tree svg .dot")) == len(shapes)
        address = window.one("#tree a").get_attribute("href") or ""
        assert address.startswith(f"{FLOWER}/task/")
        window.size(NARROW)
        assert window.run("return document.documentElement.scrollWidth") <= NARROW[0]
        window.click("[data-f=cancel]")
        window.see("#run [data-f=said]", "Press again")
        window.click("[data-f=cancel]")
        window.see("#run > .heading .outcome", "Cancelled")
        assert scene.tsumugi.occurrence(run_id).state == "CANCELLED"
        window.gone("[data-f=cancel]")


def test_rest_answers_a_run_as_a_tree(scene: Scene):
    run_id = begin(scene)
    client = mounted(scene, auth=unsafe_no_auth()).test_client()
    answer = client.get(f"/tsumugi/api/runs/{run_id}")
    run = answer.get_json()
    assert (run["id"], run["state"], run["known"], run["ended"]) == (run_id, "RUNNING", 6, 2)
    (chain_of_all,) = run["tasks"]
    assert (chain_of_all["shape"], chain_of_all["state"]) == ("chain", None)
    first = chain_of_all["children"][0]
    assert (first["role"], first["state"], first["worker"]) == ("step", "COMPLETED", "celery@w1")
    again = client.get(
        f"/tsumugi/api/runs/{run_id}", headers={"If-None-Match": answer.headers["ETag"]}
    )
    assert again.status_code == 304
    missing = client.get("/tsumugi/api/runs/none")
    assert (missing.status_code, missing.get_json()["error"]["code"]) == (404, "unknown_occurrence")


def test_a_job_is_no_run(page: Window, furnished: Scene):
    identifier = furnished.tsumugi.get("nightly-report").last_job_id
    page.open(f"run?id={identifier}")
    page.see("#unknown", "No such Run")
