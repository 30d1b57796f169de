"""Repeats in REST and on the command line, a page at a time."""

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from flask import Flask

from tsumugi_celery import UnknownSchedule
from tsumugi_celery.cli import tsumugi
from tsumugi_celery.web import create_blueprint, unsafe_no_auth


@pytest.fixture
def filled(world):
    digests = world.tsumugi.repeats("digests", binding="proj.probe")
    digests.set_many({"id": f"user:{n}", "payload": {"n": n}, "every": "1h"} for n in range(7))
    digests.set("other", {}, cron="0 20 * * *", time_zone="Asia/Tokyo")
    digests.pause("user:3")
    return world


def test_rest_pages_by_prefix(filled):
    flask = Flask("site")
    flask.register_blueprint(create_blueprint(filled.tsumugi, auth=unsafe_no_auth()))
    client = flask.test_client()
    first = client.get("/api/repeats/digests?prefix=user:&limit=4").get_json()
    assert [each["id"] for each in first["repeats"]] == [f"user:{n}" for n in range(4)]
    assert (first["total"], first["next"]) == (7, "user:3")
    assert first["repeats"][3]["paused"]
    last = client.get("/api/repeats/digests?prefix=user:&limit=4&after=user:3").get_json()
    assert [each["id"] for each in last["repeats"]] == ["user:4", "user:5", "user:6"]
    assert last["next"] is None
    assert first["repeats"][0]["payload"] is None
    assert client.get("/api/repeats/nobody").status_code == 404
    assert client.get("/api/repeats/digests?limit=0").status_code == 400
    assert client.get("/api/repeats/digests?after=%00").status_code == 400
    assert client.post("/api/repeats/digests").status_code == 405


def test_rest_pauses_resumes_and_cancels_by_id(filled):
    flask = Flask("site")
    flask.register_blueprint(create_blueprint(filled.tsumugi, auth=unsafe_no_auth()))
    client = flask.test_client()
    headers = {"X-Tsumugi-CSRF": "1"}

    def post(action, identifier):
        path = f"/api/repeats/digests/{action}"
        return client.post(path, query_string={"id": identifier}, headers=headers)

    listed = client.get("/api/repeats").get_json()["collections"]
    assert listed == [{"name": "digests", "target": "proj.probe", "defined_here": True}]
    digests = filled.tsumugi.repeats("digests", binding="proj.probe")
    for _ in range(2):
        assert post("pause", "other").get_json()["paused"]
    assert digests.get("other").paused
    resumed = post("resume", "other").get_json()
    assert resumed["next_run_local"] == "2026-05-02T20:00:00+09:00"
    assert post("cancel", "other").get_json()["id"] == "other"
    assert digests.get("other") is None
    for action in ("pause", "resume", "cancel"):
        answer = post(action, "other")
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "unknown_repeat")
        assert post(action, "").status_code == 400
        assert client.get(f"/api/repeats/digests/{action}").status_code == 405


def test_the_command_lists_them(filled):
    def call(*args):
        return CliRunner().invoke(tsumugi, ["repeats", *args], obj=SimpleNamespace(app=filled.app))

    result = call("digests", "--limit", "2")
    assert result.exit_code == 0
    assert "0 20 * * * (Asia/Tokyo)" in result.output
    assert "2026-05-02 20:00:00 GMT+09:00" in result.output
    assert "2 of 8" in result.output
    listed = json.loads(call("digests", "--prefix", "user:", "--json").output)
    assert [each["id"] for each in listed["repeats"]] == [f"user:{n}" for n in range(7)]
    assert call("digest").exit_code == 3
    assert "digests" in call("digest").output
    with pytest.raises(UnknownSchedule):
        filled.tsumugi.control.repeats("digest")
