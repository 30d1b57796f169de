"""A Flask app over a stage of the control tests."""

from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from tests.control.stage import Stage
from tsumugi_celery.web import create_blueprint

PREFIX = "/ops/tsumugi"


class Site:
    """A Flask app with the blueprint below a prefix, and a client for it."""

    def __init__(self, stage: Stage, prefix: str = PREFIX, **options: Any) -> None:
        self.stage = stage
        self.prefix = prefix
        self.flask = Flask("site")
        self.flask.register_blueprint(create_blueprint(stage.tsumugi, **options), url_prefix=prefix)
        self.client = self.flask.test_client()
        self.headers: dict[str, str] = {}

    def call(self, method: str, path: str, **more: Any) -> TestResponse:
        headers = {**self.headers, **more.pop("headers", {})}
        return self.client.open(self.prefix + path, method=method, headers=headers, **more)

    def get(self, path: str, **more: Any) -> TestResponse:
        return self.call("GET", path, **more)

    def post(self, path: str, **more: Any) -> TestResponse:
        return self.call("POST", path, **more)


def code(response: TestResponse) -> tuple[int, str]:
    """The status and the code of an error, which must be JSON of exactly one shape."""
    body = response.get_json()
    assert response.mimetype == "application/json", response.get_data()
    assert list(body) == ["error"]
    assert sorted(body["error"]) == ["code", "message"]
    assert body["error"]["message"]
    return response.status_code, body["error"]["code"]
