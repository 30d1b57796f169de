"""The blueprint: its parts, and what holds for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, current_app, redirect, request
from werkzeug.exceptions import HTTPException

from tsumugi_celery.web.answers import secured
from tsumugi_celery.web.api import add_api
from tsumugi_celery.web.auth import SAFE, guard
from tsumugi_celery.web.dashboard import add_dashboard
from tsumugi_celery.web.errors import Hidden, MethodNotAllowed, add_errors
from tsumugi_celery.web.metrics import add_metrics
from tsumugi_celery.web.names import NAME, add_converter
from tsumugi_celery.web.openapi import add_openapi
from tsumugi_celery.web.options import Options
from tsumugi_celery.web.session import add_session

if TYPE_CHECKING:
    from flask.blueprints import BlueprintSetupState
    from flask.typing import ResponseReturnValue

    from tsumugi_celery.handle import Tsumugi
    from tsumugi_celery.web.options import Auth

#: Each adds its routes; a view marked with `web.auth.public` is shown before anyone has logged in.
PARTS = (add_api, add_session, add_openapi, add_metrics, add_dashboard)

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "QUERY")
FALLBACK = "no_such_address"
PLACE = "place"


def create_blueprint(
    tsumugi: Tsumugi,
    *,
    auth: Auth | None = None,
    name: str = "tsumugi",
    show_payloads: bool = False,
    flower_url: str | None = None,
) -> Blueprint:
    """Return a blueprint with the dashboard and the REST interface.

    Register it below any prefix: ``app.register_blueprint(bp, url_prefix="/tsumugi")``.

    Args:
        tsumugi: the handle that `define_tsumugi` returned.
        auth: who may come in: `bearer_auth(…)`, `unsafe_no_auth()`, or a callable that is given
            Flask's request and returns true, false, or a response of its own. Until it is given
            everything answers 404.
        name: of the blueprint; two in one app need two names.
        show_payloads: show the arguments of jobs.
        flower_url: where Flower is, for links to its task pages.

    Raises:
        TypeError: `auth` is no callable.
        ValueError: `flower_url` is no http address.
    """
    if auth is not None and not callable(auth):
        raise TypeError(
            f"auth is a {type(auth).__name__}; accepted: bearer_auth(token), unsafe_no_auth(), or "
            f"a callable that is given Flask's request"
        )
    if flower_url is not None and not flower_url.startswith(("http://", "https://", "/")):
        raise ValueError(f"flower_url is {flower_url!r}; accepted: an address such as http://…")
    flower = flower_url.rstrip("/") if flower_url is not None else None
    options = Options(tsumugi.control, auth, show_payloads, flower)
    blueprint = Blueprint(name, __name__)
    blueprint.record(add_converter)
    for add in PARTS:
        add(blueprint, options)
    add_errors(blueprint)
    blueprint.record(_add_fallback)

    @blueprint.before_request
    def let_in() -> ResponseReturnValue | None:
        return guard(options, current_app.view_functions.get(request.endpoint or ""))

    blueprint.after_request(secured)
    return blueprint


def _add_fallback(state: BlueprintSetupState) -> None:
    """Answer unknown addresses as JSON too; below the root of an app those of the API alone."""
    rest = f"<{NAME}:rest>"
    rules = [f"/api/{rest}"]
    if (state.url_prefix or "").strip("/"):
        # Without its slash the place itself would be redirected before anyone asks who comes in.
        rules = ["/", f"/{rest}"]
        state.add_url_rule("", PLACE, _place, methods=METHODS)
    for rule in rules:
        state.add_url_rule(rule, FALLBACK, _fallback, methods=METHODS, merge_slashes=False)


def _place() -> ResponseReturnValue:
    if request.method in SAFE:
        return redirect(f"{request.script_root}{request.path}/")
    raise MethodNotAllowed(headers={"Allow": "GET, HEAD, OPTIONS"})


def _fallback(rest: str = "") -> ResponseReturnValue:  # noqa: ARG001 - what the rule caught
    adapter = current_app.create_url_adapter(request)
    allowed = []
    for method in METHODS:
        try:
            endpoint, _ = adapter.match(method=method)  # type: ignore[union-attr] # in a request
        except HTTPException:
            continue
        if not str(endpoint).endswith(f".{FALLBACK}"):
            allowed.append(method)
    if not allowed:
        raise Hidden
    if "GET" in allowed:
        allowed.append("HEAD")
    raise MethodNotAllowed(headers={"Allow": ", ".join([*allowed, "OPTIONS"])})
