"""The REST interface: every route, every parameter, every error."""

import logging
from typing import Any
from urllib.parse import quote

import pytest

from tests.control.stage import MINUTE, Stage, job, ms
from tests.control.test_listing import FIELDS
from tests.servers import Server
from tests.web.site import Site, code
from tsumugi_celery.web import unsafe_no_auth


def test_the_list(site: Site):
    response = site.get("/api/schedules")
    body = response.get_json()
    assert response.status_code == 200
    assert response.mimetype == "application/json"
    assert [each["name"] for each in body["schedules"]] == ["broken", "nightly"]
    assert set(FIELDS) <= set(body["schedules"][1])
    assert body["schedules"][1]["next_run_at"] == ms("2026-03-02T00:00:00Z")
    assert (body["total"], body["limit"], body["offset"]) == (2, 200, 0)
    assert body["schedules"][0] == site.get("/api/schedules/broken").get_json()


def test_filters_and_parts_of_the_list(site: Site):
    def names(query: str) -> list[str]:
        body = site.get(f"/api/schedules?{query}").get_json()
        return [each["name"] for each in body["schedules"]]

    site.post("/api/schedules/nightly/pause")
    assert names("paused=true") == names("search=NIGHT") == names("limit=1&offset=1") == ["nightly"]
    assert names("paused=false") == names("limit=1") == ["broken"]
    assert names("kind=flow") == names("failing=true") == names("offset=7") == []
    site.post("/api/schedules/broken/trigger")
    (listed,) = site.get("/api/schedules?failing=true&recent=3").get_json()["schedules"]
    assert [(each["state"], each["cause"]) for each in listed["recent"]] == [
        ("NOT_EXECUTED", "failure")
    ]


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("GET", "/api/schedules?limit=0", "limit: got '0'; accepted: an integer from 1 to 1000"),
        ("GET", "/api/schedules?limit=1001", "limit"),
        ("GET", "/api/schedules?limit=", "limit"),
        ("GET", "/api/schedules?limit=1_0", "limit"),
        ("GET", "/api/schedules?limit=%D9%A3", "limit"),
        ("GET", "/api/schedules?limit=5&limit=6", "limit: given 2 times"),
        ("GET", "/api/schedules?offset=-1", "offset"),
        ("GET", "/api/schedules?paused=yes", "paused: got 'yes'; accepted: true or false"),
        ("GET", "/api/schedules?kind=task", "kind"),
        ("GET", "/api/schedules?search=%00", "search"),
        ("GET", f"/api/schedules?search={'x' * 201}", "search"),
        ("GET", "/api/schedules?serach=x", "did you mean 'search'?"),
        ("GET", "/api/schedules/nightly?x=1", "unknown parameter 'x'; accepted: recent"),
        ("GET", "/api/schedules/nightly/occurrences?state=DONE", "state: got 'DONE'"),
        ("GET", "/api/schedules/nightly/occurrences?cause=rain", "cause"),
        ("GET", "/api/schedules/nightly/occurrences?since=yesterday", "since"),
        ("GET", "/api/schedules/nightly/occurrences?until=99999999999999999999", "until"),
        ("GET", "/api/schedules/nightly/occurrences?cursor=nope", "cursor: got 'nope'"),
        ("GET", "/api/schedules/nightly/upcoming?count=501", "count"),
        ("GET", "/api/schedules/nightly/why", "at: missing"),
        ("GET", "/api/schedules/nightly/why?at=253402300799999", "at"),
        ("POST", "/api/schedules/nightly/pause?until=tomorrow", "unknown parameter 'until'"),
        ("POST", "/api/schedules/nightly/trigger?force=1", "unknown parameter 'force'"),
        ("GET", "/api/bindings?x=1", "accepted: none"),
    ],
)
def test_a_parameter_that_is_not_accepted(shared_site: Site, method: str, path: str, told: str):
    response = shared_site.call(method, path)
    assert code(response) == (400, "bad_request")
    assert told in response.get_json()["error"]["message"]


def test_pause_resume_and_trigger(site: Site):
    paused = site.post("/api/schedules/nightly/pause")
    assert (paused.status_code, paused.get_json()["paused"]) == (200, True)
    assert site.post("/api/schedules/nightly/pause").get_json() == paused.get_json()
    triggered = site.post("/api/schedules/nightly/trigger")
    assert triggered.status_code == 201
    assert list(triggered.get_json()) == ["id"]
    found = site.get(f"/api/occurrences/{triggered.get_json()['id']}").get_json()
    assert (found["state"], found["manual"], found["payload"]) == ("QUEUED", True, None)
    resumed = site.post("/api/schedules/nightly/resume").get_json()
    assert (resumed["paused"], resumed["last_job_id"]) == (False, found["id"])
    cancelled = site.post(f"/api/occurrences/{found['id']}/cancel")
    assert cancelled.get_json()["state"] == "CANCELLED"


def test_a_history_in_parts(site: Site):
    for _ in range(3):
        site.post("/api/schedules/nightly/trigger")
        site.stage.clock.time += 1_000
    found, query = [], "limit=2"
    while True:
        body = site.get(f"/api/schedules/nightly/occurrences?{query}").get_json()
        found += [each["scheduled_at"] for each in body["occurrences"]]
        if body["next"] is None:
            break
        query = f"limit=2&cursor={body['next']}"
    assert found == sorted(found, reverse=True)
    assert len(found) == 3
    path = "/api/schedules/nightly/occurrences"
    for query, count in (
        ("state=QUEUED&state=FAILED", 3),
        ("state=QUEUED,FAILED", 3),
        ("state=FAILED", 0),
        ("cause=failure", 0),
        (f"since={found[1]}", 2),
        (f"until={found[1]}", 1),
    ):
        assert len(site.get(f"{path}?{query}").get_json()["occurrences"]) == count, query


def test_coming_times_and_reasons(shared_site: Site):
    after = ms("2026-05-01T00:00:00Z")
    (time,) = shared_site.get(f"/api/schedules/nightly/upcoming?count=1&after={after}").get_json()[
        "upcoming"
    ]
    assert time == {
        "at": ms("2026-05-02T00:00:00Z"),
        "local": "2026-05-02T09:00:00+09:00",
        "utc_offset": "GMT+09:00",
        "status": "runs",
    }
    told = shared_site.get(f"/api/schedules/nightly/why?at={time['at']}").get_json()
    assert told["outcome"] == "coming"
    assert "2026-05-02 09:00:00 GMT+09:00" in told["text"]


def test_bindings(site: Site):
    (binding,) = site.get("/api/bindings").get_json()["bindings"]
    assert (binding["name"], binding["paused"]) == ("proj.add", False)
    assert site.post("/api/bindings/proj.add/pause").get_json()["paused"] is True
    assert site.post("/api/bindings/proj.add/resume").get_json()["paused"] is False


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/schedules/nope", "unknown_schedule"),
        ("GET", "/api/schedules/nope/occurrences", "unknown_schedule"),
        ("GET", "/api/schedules/nope/upcoming", "unknown_schedule"),
        ("GET", "/api/schedules/nope/why?at=1", "unknown_schedule"),
        ("POST", "/api/schedules/nope/pause", "unknown_schedule"),
        ("POST", "/api/schedules/nope/resume", "unknown_schedule"),
        ("POST", "/api/schedules/nope/trigger", "unknown_schedule"),
        ("GET", "/api/schedules/%00", "unknown_schedule"),
        ("GET", "/api/schedules/%ff", "unknown_schedule"),
        ("GET", f"/api/schedules/{'x' * 3000}", "unknown_schedule"),
        ("GET", "/api/occurrences/nope", "unknown_occurrence"),
        ("POST", "/api/occurrences/nope/cancel", "unknown_occurrence"),
        ("POST", "/api/bindings/nope/pause", "unknown_binding"),
        ("POST", "/api/bindings/nope/resume", "unknown_binding"),
        ("GET", "/api", "not_found"),
        ("GET", "/api/", "not_found"),
        ("GET", "/api/schedules/", "not_found"),
        ("GET", "/api/nope", "not_found"),
        ("PUT", "/api//nope//", "not_found"),
        ("GET", "/nope", "not_found"),
        ("DELETE", "/nope/../x", "not_found"),
    ],
)
def test_what_is_not_there(shared_site: Site, method: str, path: str, expected: str):
    assert code(shared_site.call(method, path)) == (404, expected)


def test_a_near_miss_is_named(shared_site: Site):
    response = shared_site.post("/api/schedules/nigthly/pause")
    assert "did you mean 'nightly'?" in response.get_json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/api/schedules", "GET"),
        ("DELETE", "/api/schedules", "GET"),
        ("TRACE", "/api/schedules", "GET"),
        ("PATCH", "/api/schedules/nightly", "GET"),
        ("POST", "/api/schedules/nightly/occurrences", "GET"),
        ("GET", "/api/schedules/nightly/pause", "POST"),
        ("GET", "/api/schedules/nightly/resume", "POST"),
        ("GET", "/api/schedules/nightly/trigger", "POST"),
        ("PUT", "/api/schedules/nightly/trigger", "POST"),
        ("GET", "/api/occurrences/x/cancel", "POST"),
        ("GET", "/api/bindings/proj.add/pause", "POST"),
        ("POST", "/api/bindings", "GET"),
        ("POST", "/api/openapi.json", "GET"),
    ],
)
def test_a_wrong_method(shared_site: Site, method: str, path: str, allowed: str):
    response = shared_site.call(method, path)
    assert code(response) == (405, "method_not_allowed")
    assert allowed in response.headers["Allow"].split(", ")


def test_what_cannot_be_enqueued(site: Site):
    response = site.post("/api/schedules/broken/trigger")
    assert code(response) == (502, "dispatch_failed")
    assert "ZeroDivisionError" in response.get_json()["error"]["message"]
    listed = site.get("/api/schedules/broken").get_json()
    assert listed["not_executed"]["failure"] == 1
    assert "ZeroDivisionError" in listed["last_error"]


def test_what_cannot_be_done(site: Site):
    identifier = site.post("/api/schedules/nightly/trigger").get_json()["id"]
    site.stage.finish()
    assert code(site.post(f"/api/occurrences/{identifier}/cancel")) == (409, "already_finished")
    site.stage.close()
    site.stage.define({})
    other = Site(site.stage, auth=unsafe_no_auth())
    assert code(other.post("/api/schedules/nightly/trigger")) == (409, "not_defined_here")


#: Names of Celery's form that an address, a quoting rule or a database may trip over.
HOSTILE = [
    "a/b",
    "/a",
    "a/",
    "a//b",
    "//",
    "a/pause",
    "a/occurrences",
    "pause",
    "occurrences",
    "a b+c%20d%",
    "<script>alert('x')</script>",
    "\"'; DROP TABLE tsumugi_schedule;--",
    "日本語 ñ 🦆",
    "a?b#c&d=e",
    "..a..",
    "a\\b\n\t\r",
    "\u202eright to left",
    "x" * 300,
]


def test_hostile_names_are_found(stage: Stage):
    definitions = {name: {"task": "proj.add", "schedule": 60.0} for name in HOSTILE}
    stage.define(definitions)
    stage.beat()
    site = Site(stage, auth=unsafe_no_auth())
    listed = site.get("/api/schedules").get_json()["schedules"]
    assert [each["name"] for each in listed] == sorted(HOSTILE)
    for name in HOSTILE:
        path = f"/api/schedules/{quote(name, safe='')}"
        assert site.get(path).get_json()["name"] == name
        assert site.post(f"{path}/pause").get_json()["name"] == name
        assert site.post(f"{path}/resume").get_json()["paused"] is False
        identifier = site.post(f"{path}/trigger").get_json()["id"]
        (occurrence,) = site.get(f"{path}/occurrences").get_json()["occurrences"]
        assert (occurrence["id"], occurrence["schedule"]) == (identifier, name)
        found = site.get(f"/api/occurrences/{quote(identifier, safe='')}").get_json()
        assert found["schedule"] == name
        assert site.get(f"{path}/upcoming").get_json()["upcoming"]
    assert site.get("/api/schedules?search=DROP%20table").get_json()["total"] == 1


def test_polling_is_cheap(site: Site):
    for path in ("/api/schedules", "/api/schedules/nightly", "/api/bindings", "/api/openapi.json"):
        first = site.get(path)
        assert first.headers["Cache-Control"] == "private, no-cache"
        etag = first.headers["ETag"]
        again = site.get(path, headers={"If-None-Match": etag})
        assert (again.status_code, again.get_data()) == (304, b"")
        assert again.headers["ETag"] == etag
        assert site.get(path, headers={"If-None-Match": 'W/"other"'}).status_code == 200
    etag = site.get("/api/schedules").headers["ETag"]
    site.post("/api/schedules/nightly/pause")
    assert site.get("/api/schedules", headers={"If-None-Match": etag}).status_code == 200


def test_every_answer_is_safe_for_browsers(site: Site):
    for method, path in (
        ("GET", "/api/schedules"),
        ("HEAD", "/api/schedules"),
        ("OPTIONS", "/api/schedules"),
        ("GET", "/nope"),
        ("PUT", "/api/schedules"),
        ("POST", "/api/schedules/broken/trigger"),
    ):
        headers = site.call(method, path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["Cache-Control"] in {"no-store", "private, no-cache"}
        assert "Access-Control-Allow-Origin" not in headers


def test_payloads_are_shown_only_when_asked_for(stage: Stage):
    stage.define({"s": job(everyMs=MINUTE, payload={"x": "hunter2"})})
    for shown in (False, True):
        site = Site(stage, auth=unsafe_no_auth(), show_payloads=shown)
        identifier = site.post("/api/schedules/s/trigger").get_json()["id"]
        answers = [
            site.get(path).get_data(as_text=True)
            for path in ("/api/schedules?recent=5", "/api/schedules/s/occurrences")
        ]
        assert "hunter2" not in "".join(answers)
        found = site.get(f"/api/occurrences/{identifier}").get_data(as_text=True)
        assert ("hunter2" in found) == shown


def test_an_app_with_json_of_its_own(site: Site):
    """C196: neither payloads nor the app's own JSON rules break the list."""
    site.flask.json.sort_keys = True  # type: ignore[attr-defined]
    site.flask.json.ensure_ascii = False  # type: ignore[attr-defined]
    assert next(iter(site.get("/api/schedules").get_json())) == "schedules"


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_is_json_too_and_tells_nothing(
    site: Site, caplog: pytest.LogCaptureFixture, debug: bool
):
    site.flask.debug = site.flask.testing = debug

    def fails(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("the inside")

    site.stage.tsumugi.control.bindings = fails  # type: ignore[method-assign]
    with caplog.at_level(logging.ERROR):
        response = site.get("/api/bindings")
    assert code(response) == (500, "internal_error")
    assert "inside" not in response.get_data(as_text=True)
    assert [each.action for each in caplog.records] == ["web.fault"]  # type: ignore[attr-defined]


def test_a_ledger_that_is_away(postgres_server: Server, postgres_database: Any):
    stage = Stage(postgres_database.url)
    stage.define({"s": job(everyMs=MINUTE, payload={"x": "hunter2"})})
    stage.beat()
    site = Site(stage, auth=unsafe_no_auth())
    assert site.get("/api/schedules").status_code == 200
    postgres_server.stop()
    try:
        for method, path in (
            ("GET", "/api/schedules"),
            ("GET", "/api/schedules/s"),
            ("POST", "/api/schedules/s/pause"),
            ("POST", "/api/schedules/s/trigger"),
            ("GET", "/api/occurrences/x"),
            ("GET", "/api/bindings"),
        ):
            response = site.call(method, path)
            assert code(response) == (503, "ledger_away")
            assert response.headers["Retry-After"] == "2"
            assert "hunter2" not in response.get_data(as_text=True)
            assert "SELECT" not in response.get_data(as_text=True)
    finally:
        postgres_server.start()
    assert site.get("/api/schedules").status_code == 200
    stage.close()


def test_a_ledger_that_is_not_ours(tmp_path: Any):
    (tmp_path / "folder").mkdir()
    stage = Stage(f"sqlite:///{tmp_path / 'folder'}")
    stage.define({})
    site = Site(stage, auth=unsafe_no_auth())
    assert code(site.get("/api/schedules")) == (503, "ledger_unusable")
