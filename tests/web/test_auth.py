"""Who may come in."""

import logging
from typing import Any

import pytest
from flask import Flask, Request, redirect

from tests.control.stage import Stage
from tests.web.site import PREFIX, Site, code
from tsumugi_celery.web import bearer_auth, create_blueprint, unsafe_no_auth

TOKEN = "correct horse battery staple — ñ"
PATHS = [
    ("GET", ""),
    ("GET", "/"),
    ("GET", "/nope"),
    ("GET", "/api/schedules"),
    ("POST", "/api/schedules/nightly/trigger"),
    ("GET", "/api/openapi.json"),
    ("POST", "/api/session"),
    ("DELETE", "/api/schedules"),
    ("OPTIONS", "/api/schedules"),
]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}".encode().decode("latin-1")}


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_everything_is_closed_until_auth_is_given(shared_site: Site, method: str, path: str):
    closed = Site(shared_site.stage)
    headers: dict[str, str]
    for headers in ({}, bearer(""), bearer("None"), {"Cookie": "None=None"}):
        response = closed.call(method, path, headers=headers)
        assert code(response) == (404, "not_found")
    assert shared_site.stage.messages() == []


#: The first page is not JSON, and logging in is what the token is for.
GUARDED = [each for each in PATHS if each[1] not in {"/", "/api/session"}]


@pytest.mark.parametrize(("method", "path"), GUARDED)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer(""),
        bearer("wrong"),
        bearer(TOKEN[:-1]),
        bearer(TOKEN + "x"),
        {"Authorization": TOKEN.encode().decode("latin-1")},
        {"Authorization": "Basic " + "eDp5"},
        {"Authorization": "\xff\xfe"},
        {"Cookie": f"tsumugi={'wrong'}"},
        {"X-Tsumugi-CSRF": "1"},
    ],
)
def test_without_the_token_nothing_is_told(
    shared_site: Site, method: str, path: str, headers: dict[str, str]
):
    guarded = Site(shared_site.stage, auth=bearer_auth(TOKEN, cookie="tsumugi"))
    response = guarded.call(method, path, headers=headers)
    assert code(response) == (401, "unauthorized")
    assert "missing or wrong" in response.get_json()["error"]["message"]
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert shared_site.stage.messages() == []


def test_with_the_token_all_is_open(site: Site):
    guarded = Site(site.stage, auth=bearer_auth(TOKEN))
    assert guarded.get("/api/schedules", headers=bearer(TOKEN)).status_code == 200
    headers = {"Authorization": "bearer  " + bearer(TOKEN)["Authorization"][7:] + " "}
    assert guarded.post("/api/schedules/nightly/trigger", headers=headers).status_code == 201
    assert code(guarded.get("/nope", headers=bearer(TOKEN))) == (404, "not_found")
    assert code(guarded.post("/api/schedules", headers=bearer(TOKEN)))[0] == 405


def test_a_callable_decides_on_the_token(shared_site: Site):
    asked: list[str] = []

    def known(token: str) -> bool:
        asked.append(token)
        return token in {"ann", "bob"}

    guarded = Site(shared_site.stage, auth=bearer_auth(known))
    assert guarded.get("/api/schedules", headers=bearer("bob")).status_code == 200
    assert code(guarded.get("/api/schedules", headers=bearer("eve")))[0] == 401
    assert code(guarded.get("/api/schedules"))[0] == 401
    assert asked == ["bob", "eve"]


def test_a_cookie_needs_a_proof_for_calls_that_change_something(site: Site):
    guarded = Site(site.stage, auth=bearer_auth(TOKEN, cookie="tsumugi"))
    guarded.client.set_cookie("tsumugi", TOKEN, path=PREFIX)
    assert guarded.get("/api/schedules").status_code == 200
    path = "/api/schedules/nightly/trigger"
    for headers in ({}, {"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}):
        assert code(guarded.post(path, headers=headers)) == (403, "cross_site")
    assert site.stage.messages() == []
    assert guarded.post(path, headers={"X-Tsumugi-CSRF": "1"}).status_code == 201
    assert guarded.post(path, headers=bearer(TOKEN)).status_code == 201
    assert code(guarded.post(path, headers=bearer("wrong")))[0] == 401


def test_without_a_cookie_set_up_a_cookie_is_nothing(site: Site):
    guarded = Site(site.stage, auth=bearer_auth(TOKEN))
    guarded.client.set_cookie("tsumugi", TOKEN, path=PREFIX)
    assert code(guarded.get("/api/schedules"))[0] == 401
    assert code(guarded.post("/api/session", headers=bearer(TOKEN), json={}))[0] == 404


def test_a_browser_logs_in_and_out(site: Site):
    guarded = Site(site.stage, auth=bearer_auth(TOKEN, cookie="tsumugi"))
    proof = {"X-Tsumugi-CSRF": "1"}
    assert code(guarded.post("/api/session", json={"token": TOKEN})) == (403, "cross_site")
    assert code(guarded.post("/api/session", json={"token": "no"}, headers=proof))[0] == 401
    bodies: list[Any] = [{}, {"token": 1}, [], "x"]
    for body in bodies:
        assert code(guarded.post("/api/session", json=body, headers=proof))[0] == 400
    assert code(guarded.post("/api/session", data="{", headers=proof))[0] == 400
    assert code(guarded.get("/api/session", headers=bearer(TOKEN)))[0] == 405
    response = guarded.post(
        "/api/session", json={"token": TOKEN}, headers=proof, base_url="https://localhost"
    )
    cookie = response.headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Secure", f"Path={PREFIX}"):
        assert part in cookie
    assert TOKEN not in response.get_data(as_text=True)
    assert guarded.get("/api/schedules", base_url="https://localhost").status_code == 200
    # Over plain http a browser would not even keep a cookie marked Secure.
    plain = guarded.post("/api/session", json={"token": TOKEN}, headers=proof)
    assert "Secure" not in plain.headers["Set-Cookie"]
    assert guarded.get("/api/schedules").status_code == 200
    assert guarded.call("DELETE", "/api/session", headers=proof).status_code == 200
    assert code(guarded.get("/api/schedules"))[0] == 401


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({}, True),
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Origin": "http://localhost"}, True),
        ({"Origin": "http://localhost:8000"}, False),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "https://evil.example", "X-Tsumugi-CSRF": "1"}, True),
    ],
)
def test_an_open_site_refuses_what_another_site_makes_a_browser_send(
    site: Site, headers: dict[str, str], passes: bool
):
    response = site.post("/api/schedules/nightly/trigger", headers=headers)
    assert response.status_code == (201 if passes else 403)
    assert site.get("/api/schedules", headers=headers).status_code == 200


def test_auth_of_ones_own(shared_site: Site):
    def own(request: Request) -> Any:
        user = request.headers.get("X-User")
        return redirect("/login") if user is None else user == "ann"

    guarded = Site(shared_site.stage, auth=own)
    assert guarded.get("/api/schedules").location == "/login"
    assert guarded.get("/api/schedules", headers={"X-User": "ann"}).status_code == 200
    assert code(guarded.get("/api/schedules", headers={"X-User": "eve"}))[0] == 401


@pytest.mark.parametrize("auth", ["a token", True, False, 0, {"token": "x"}])
def test_auth_that_is_none(shared_site: Site, auth: Any):
    with pytest.raises(TypeError, match="bearer_auth"):
        create_blueprint(shared_site.stage.tsumugi, auth=auth)


@pytest.mark.parametrize("token", ["", "  ", None, 5, b"bytes"])
def test_a_token_that_is_none(token: Any):
    with pytest.raises((TypeError, ValueError), match="token"):
        bearer_auth(token)


@pytest.mark.parametrize("cookie", ["", " "])
def test_a_cookie_without_a_name(cookie: str):
    with pytest.raises(ValueError, match="cookie"):
        bearer_auth("x", cookie=cookie)


def test_a_flower_address_that_is_none(shared_site: Site):
    with pytest.raises(ValueError, match="flower_url"):
        create_blueprint(shared_site.stage.tsumugi, flower_url="javascript:alert(1)")


def test_the_token_is_in_no_log_and_no_text(site: Site, caplog: pytest.LogCaptureFixture):
    auth = bearer_auth("hunter2", cookie="tsumugi")
    guarded = Site(site.stage, auth=auth)
    with caplog.at_level(logging.DEBUG):
        for token in ("hunter2", "hunter3"):
            guarded.get("/api/schedules", headers=bearer(token))
            guarded.post("/api/schedules/broken/trigger", headers=bearer(token))
    told = caplog.text + repr(auth) + guarded.get("/api/openapi.json").get_data(as_text=True)
    assert "hunter" not in told


def test_two_sites_in_one_app_have_cookies_of_their_own(stage: Stage):
    stage.define({})
    flask = Flask("two")
    for name, token in (("one", "1-token"), ("two", "2-token")):
        blueprint = create_blueprint(
            stage.tsumugi, auth=bearer_auth(token, cookie="tsumugi"), name=name
        )
        flask.register_blueprint(blueprint, url_prefix=f"/{name}")
    client = flask.test_client()
    proof = {"X-Tsumugi-CSRF": "1"}
    assert (
        client.post("/one/api/session", json={"token": "1-token"}, headers=proof).status_code == 200
    )
    assert client.get("/one/api/schedules").status_code == 200
    assert client.get("/two/api/schedules").status_code == 401
    assert unsafe_no_auth()(None)  # type: ignore[arg-type]
