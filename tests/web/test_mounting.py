"""The blueprint in apps of all kinds: any prefix, twice, nested, behind a proxy, beside others."""

from typing import Any

import pytest
from flask import Blueprint, Flask
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.test import Client

from tests.control.stage import MINUTE, Stage, job
from tests.web.site import code
from tsumugi_celery.web import create_blueprint, unsafe_no_auth


@pytest.fixture
def stage(stage: Stage) -> Stage:
    stage.define({"s": job(everyMs=MINUTE), "a/b": {"task": "proj.add", "schedule": 60.0}})
    stage.beat()
    return stage


def blueprint(stage: Stage, **options: Any) -> Blueprint:
    return create_blueprint(stage.tsumugi, **{"auth": unsafe_no_auth(), **options})


def works(client: Any, prefix: str) -> bool:
    assert client.get(f"{prefix}/api/schedules").get_json()["total"] == 2
    assert client.get(f"{prefix}/api/schedules/a%2Fb").get_json()["name"] == "a/b"
    assert client.post(f"{prefix}/api/schedules/s/pause").status_code == 200
    assert code(client.get(f"{prefix}/api/nope")) == (404, "not_found")
    assert code(client.put(f"{prefix}/api/schedules")) == (405, "method_not_allowed")
    described = client.get(f"{prefix}/api/openapi.json").get_json()
    assert described["servers"] == [{"url": prefix or "/"}]
    return True


@pytest.mark.parametrize("prefix", ["/t", "/deep/er/tsumugi", "/ünï", "", "/api"])
def test_any_prefix(stage: Stage, prefix: str):
    flask = Flask("app")
    flask.register_blueprint(blueprint(stage), url_prefix=prefix)
    assert works(flask.test_client(), prefix)


def test_a_prefix_with_a_variable_is_not_for_us_but_does_no_harm(stage: Stage):
    flask = Flask("app")
    flask.register_blueprint(blueprint(stage), url_prefix="/t/")
    assert flask.test_client().get("/t/api/schedules").status_code == 200


def test_twice_in_one_app(stage: Stage):
    other = Stage(stage.url)
    other.define({"x": job(everyMs=MINUTE), "a/b": {"task": "proj.add", "schedule": 60.0}})
    flask = Flask("app")
    flask.register_blueprint(blueprint(stage), url_prefix="/one")
    flask.register_blueprint(blueprint(other, name="other"), url_prefix="/two")
    flask.register_blueprint(blueprint(stage, name="closed", auth=None), url_prefix="/one/closed")
    client = flask.test_client()
    assert works(client, "/one")
    assert [each["name"] for each in client.get("/two/api/schedules").get_json()["schedules"]] == [
        "a/b",
        "x",
    ]
    assert code(client.get("/one/closed/api/schedules")) == (404, "not_found")
    other.close()


def test_one_blueprint_in_two_places_and_two_apps(stage: Stage):
    made = blueprint(stage)
    for name in ("app", "another"):
        flask = Flask(name)
        flask.register_blueprint(made, url_prefix="/a")
        flask.register_blueprint(made, url_prefix="/b", name="again")
        assert works(flask.test_client(), "/a")
        assert works(flask.test_client(), "/b")


def test_nested_in_a_blueprint(stage: Stage):
    parent = Blueprint("parent", __name__, url_prefix="/parent")
    parent.register_blueprint(blueprint(stage), url_prefix="/child")
    flask = Flask("app")
    flask.register_blueprint(parent)
    assert works(flask.test_client(), "/parent/child")


def test_behind_a_proxy_and_below_another_app(stage: Stage):
    flask = Flask("app")
    flask.register_blueprint(blueprint(stage), url_prefix="/t")
    proxied = Flask("app")
    proxied.register_blueprint(blueprint(stage), url_prefix="/t")
    proxied.wsgi_app = ProxyFix(proxied.wsgi_app, x_prefix=1, x_host=1)  # type: ignore[method-assign]
    client = proxied.test_client()
    headers = {"X-Forwarded-Prefix": "/outer", "X-Forwarded-Host": "ops.example"}
    described = client.get("/t/api/openapi.json", headers=headers).get_json()
    assert described["servers"] == [{"url": "/outer/t"}]
    same = {**headers, "Origin": "https://ops.example"}
    assert client.post("/t/api/schedules/s/pause", headers=same).status_code == 200
    mounted = Client(DispatcherMiddleware(Flask("outer"), {"/below": flask}))
    assert works(mounted, "/below/t")


@pytest.mark.parametrize("prefix", ["/t", ""])
def test_other_blueprints_are_left_alone(stage: Stage, prefix: str):
    others = Blueprint("others", __name__)

    @others.get("/things/<path:name>")
    def thing(name: str) -> str:
        return name

    @others.errorhandler(404)
    def gone(_error: object) -> tuple[str, int]:
        return "theirs", 404

    flask = Flask("app")
    flask.register_blueprint(blueprint(stage), url_prefix=prefix)
    flask.register_blueprint(others)
    client = flask.test_client()
    assert works(client, prefix)
    answer = client.get("/things/a/b")
    assert answer.get_data() == b"a/b"
    assert "Content-Security-Policy" not in answer.headers
    assert client.post("/things/a").mimetype == "text/html"
    assert client.get("/elsewhere").mimetype == "text/html"
    assert client.get("/things//a").status_code == 308


def test_errors_of_the_app_are_not_taken_over(stage: Stage):
    flask = Flask("app")
    flask.register_blueprint(blueprint(stage), url_prefix="/t")

    @flask.get("/fails")
    def fails() -> str:
        raise RuntimeError("theirs")

    flask.testing = True
    with pytest.raises(RuntimeError, match="theirs"):
        flask.test_client().get("/fails")
