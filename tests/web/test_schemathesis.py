"""The REST interface against its own description, with whatever schemathesis thinks of."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from tests.control.stage import MINUTE, Stage, job
from tests.web.site import PREFIX, Site
from tsumugi_celery.web import bearer_auth
from tsumugi_celery.web.openapi import describe

TOKEN = "a token of the tests"
NAMES = ["nightly", "a/b c", "proj.add"]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    stage = Stage(f"sqlite:///{tmp_path_factory.mktemp('api') / 'ledger.sqlite3'}")
    stage.define(
        {
            "nightly": job(cron="0 9 * * *", timeZone="Asia/Tokyo"),
            "a/b c": {"task": "proj.add", "schedule": 60.0},
        }
    )
    beat = stage.beat()
    stage.clock.time += 3 * MINUTE
    beat.claim_all()
    site = Site(stage, auth=bearer_auth(TOKEN, cookie="tsumugi"), show_payloads=True)
    # Existing names and ids, so that more than 404 is seen.
    ids = [stage.tsumugi.trigger("nightly") for _ in range(3)]
    schema = schemathesis.openapi.from_wsgi(
        f"{PREFIX}/api/openapi.json", site.flask, headers={"Authorization": f"Bearer {TOKEN}"}
    )

    @schema.hook
    def map_path_parameters(_context: Any, path_parameters: dict[str, Any] | None) -> Any:
        for key, known in (("name", NAMES), ("id", ids)):
            if path_parameters and key in path_parameters:
                text = str(path_parameters[key])
                if len(text) % 2:
                    path_parameters[key] = known[len(text) % len(known)]
        return path_parameters

    yield schema
    stage.close()


#: Any text may be a name, so without a query nothing can be wrong.
OPERATIONS = [
    (path, method, mode)
    for path, methods in describe(None, "")["paths"].items()
    for method, operation in methods.items()
    for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    if mode == schemathesis.GenerationMode.POSITIVE
    or any(each["in"] == "query" for each in operation["parameters"])
]


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_it_does_what_it_says(
    described: Any, path: str, method: str, mode: schemathesis.GenerationMode
):
    operation = described[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=8,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def check(case: Any) -> None:
        case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"})

    check()
