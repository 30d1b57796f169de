"""Who may come in, and where the dashboard is mounted."""

from typing import Any

import pytest
from flask import Flask, Response, redirect
from selenium.webdriver.common.keys import Keys
from werkzeug.middleware.proxy_fix import ProxyFix

from tests.dashboard.browser import Window
from tests.dashboard.scene import Scene, Served, mounted
from tsumugi_celery.web import bearer_auth, create_blueprint, unsafe_no_auth

TOKEN = "right-token-0123456789"


def sign_in(window: Window, token: str = TOKEN) -> None:
    window.type("#token", token + Keys.ENTER)


def cookies(window: Window) -> dict[str, Any]:
    return {each["name"]: each for each in window.browser.get_cookies()}


def test_a_wrong_token_is_told_and_the_right_one_becomes_a_cookie(window: Window, furnished: Scene):
    with Served(mounted(furnished, auth=bearer_auth(TOKEN, cookie="ts"))) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        assert window.one("#sign-in-title").text == "Sign in"
        window.gone("main")
        sign_in(window, "wrong")
        window.see("#sign-in-error", "This token is not right.")
        assert window.one("#token").get_attribute("aria-invalid") == "true"
        window.gone("main")
        sign_in(window)
        window.row("nightly-report")
        window.gone("#sign-in")
        cookie = cookies(window)["ts"]
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
        assert window.run("return sessionStorage.length + localStorage.length") == 0
        window.in_row("nightly-report", "pause").click()
        window.see_in_row("nightly-report", "said", "Paused at")
        furnished.tsumugi.resume("nightly-report")
        window.open("schedule?name=nightly-report")
        window.see("h1.name", "nightly-report")
        # A token that was changed meanwhile: the next poll asks to sign in.
        window.browser.delete_all_cookies()
        window.one("#sign-in")
        window.gone("main")
        sign_in(window)
        window.see("h1.name", "nightly-report")
        window.click("#sign-out")
        window.one("#sign-in")
        assert cookies(window) == {}


def test_without_a_cookie_the_tab_keeps_the_token(window: Window, furnished: Scene):
    with Served(mounted(furnished, auth=bearer_auth(TOKEN))) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        sign_in(window, "wrong")
        window.see("#sign-in-error", "This token is not right.")
        sign_in(window)
        window.row("nightly-report")
        window.open("bindings")
        window.see("#rows", "proj.add")
        window.click("#sign-out")
        window.one("#sign-in")
        assert window.run("return sessionStorage.length") == 0


def test_an_auth_of_ones_own_refuses_or_redirects(furnished: Scene):
    def refuse(_asking: object) -> bool:
        return False

    def to_login(_asking: object) -> Response:
        return redirect("/login")  # type: ignore[return-value] # Flask's redirect is Werkzeug's

    client = mounted(furnished, auth=refuse).test_client()
    answer = client.get("/tsumugi/")
    assert answer.status_code == 401
    assert "Sign in to the application that shows this page" in answer.text
    answer = mounted(furnished, auth=to_login).test_client().get("/tsumugi/")
    assert (answer.status_code, answer.location) == (302, "/login")


def test_a_login_page_in_front_is_a_signed_out_state(window: Window, furnished: Scene):
    inside = [True]

    def elsewhere(_asking: object) -> Any:
        return inside[0] or redirect("https://login.example/?next=dashboard")

    with Served(mounted(furnished, auth=elsewhere)) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        window.row("nightly-report")
        inside[0] = False
        window.see("#sign-in", "Sign in to the application that shows this page")
        window.gone("main")
        inside[0] = True
        window.click("#sign-in-again")
        window.row("nightly-report")


def test_the_bare_prefix_leads_to_the_list(furnished: Scene):
    client = mounted(furnished, auth=unsafe_no_auth()).test_client()
    answer = client.get("/tsumugi", follow_redirects=True)
    assert "<title>Schedules" in answer.text


def test_without_auth_nothing_is_there(furnished: Scene):
    client = mounted(furnished, auth=None).test_client()
    for path in ("", "schedule", "bindings", "ui/base.css", "ui/api.js"):
        assert client.get(f"/tsumugi/{path}").status_code == 404, path


@pytest.mark.parametrize("path", ["", "schedule?name=x", "repeats", "bindings", "run?id=x"])
def test_pages_hold_nothing_inline_and_have_a_strict_policy(furnished: Scene, path: str):
    answer = mounted(furnished, auth=unsafe_no_auth()).test_client().get(f"/tsumugi/{path}")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert " style=" not in answer.text
    assert "<style" not in answer.text
    assert " onclick" not in answer.text
    assert answer.text.count("<script") == answer.text.count('<script type="module" src="ui/')
    assert "//" not in answer.text.replace("http://www.w3.org", "")


def test_files_have_types_and_are_asked_for_anew(furnished: Scene):
    client = mounted(furnished, auth=unsafe_no_auth()).test_client()
    answer = client.get("/tsumugi/ui/api.js")
    assert answer.mimetype == "text/javascript"
    assert "no-cache" in answer.headers["Cache-Control"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    again = client.get("/tsumugi/ui/api.js", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    for path in ("../blueprint.py", "%2e%2e/blueprint.py", "none.js", "api.py", ""):
        assert client.get(f"/tsumugi/ui/{path}").status_code == 404, path


class Stripping:
    """A proxy that hides a folder from the app behind it, and tells nothing of it."""

    def __init__(self, app: Any, folder: str) -> None:
        self.app, self.folder = app, folder

    def __call__(self, environ: dict[str, Any], start: Any) -> Any:
        path = environ["PATH_INFO"]
        assert path.startswith(self.folder), path
        environ["PATH_INFO"] = path.removeprefix(self.folder)
        return self.app(environ, start)


def test_twice_in_one_app_behind_a_proxy_that_strips_a_folder(window: Window, furnished: Scene):
    app = Flask("two")
    for name in ("one", "two"):
        blueprint = create_blueprint(furnished.tsumugi, auth=unsafe_no_auth(), name=name)
        app.register_blueprint(blueprint, url_prefix=f"/{name}/deep")
    app.wsgi_app = Stripping(app.wsgi_app, "/behind")  # type: ignore[method-assign,assignment]
    with Served(app) as server:
        for name in ("one", "two"):
            window.base = f"{server.address}/behind/{name}/deep/"
            window.open()
            window.in_row("nightly-report", "name").click()
            window.see("#entries", "Completed")
            assert window.browser.current_url.startswith(window.base)
            window.click("nav a[href=bindings]")
            window.see("#rows", "proj.add")


def test_at_the_root_and_behind_a_proxy_that_tells_its_folder(window: Window, furnished: Scene):
    app = mounted(furnished, prefix="", auth=bearer_auth(TOKEN, cookie="ts"))
    app.wsgi_app = ProxyFix(Told(app.wsgi_app), x_prefix=1)  # type: ignore[method-assign]
    with Served(app) as server:
        window.base = f"{server.address}/tools/"
        window.open()
        sign_in(window)
        window.row("nightly-report")
        assert cookies(window)["ts"]["path"].startswith("/tools")


class Told:
    """Takes off what the proxy told of."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def __call__(self, environ: dict[str, Any], start: Any) -> Any:
        environ["SCRIPT_NAME"] = "/tools"
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix("/tools")
        return self.app(environ, start)
