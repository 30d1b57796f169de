"""Log in with a browser: the token goes into a cookie that no script can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Response, request

from tsumugi_celery.web.answers import answer
from tsumugi_celery.web.auth import PROOF, BearerAuth, public
from tsumugi_celery.web.errors import BadRequest, Forbidden, Unauthorized

if TYPE_CHECKING:
    from flask import Blueprint

    from tsumugi_celery.web.options import Options

PATH = "/api/session"
#: How long a browser stays logged in, seconds.
LASTS = 30 * 24 * 3600


def add_session(blueprint: Blueprint, options: Options) -> None:
    """Add log-in and log-out, where `auth` has a cookie."""
    auth = options.auth
    if not isinstance(auth, BearerAuth) or auth.cookie is None:
        return
    cookie = auth.cookie

    @public
    def session() -> Response:
        # Logging someone in, or out, from another site would be a nuisance too.
        if not request.headers.get(PROOF):
            raise Forbidden
        response = answer({"ok": True})
        place: Any = {
            "path": _root(),
            "secure": request.is_secure,
            "httponly": True,
            "samesite": "Strict",
        }
        if request.method == "DELETE":
            response.delete_cookie(cookie, **place)
            return response
        given = request.get_json(silent=True)
        token = given.get("token") if isinstance(given, dict) else None
        if not isinstance(token, str):
            raise BadRequest('the body is not understood; accepted: JSON such as {"token": "…"}')
        if not auth.is_right(token):
            raise Unauthorized("this token is not right")
        response.set_cookie(cookie, token, max_age=LASTS, **place)
        return response

    blueprint.add_url_rule(
        PATH, endpoint="api_session", view_func=session, methods=["POST", "DELETE"]
    )


def _root() -> str:
    """Return where the blueprint is mounted, so that the cookie goes nowhere else."""
    return (request.script_root + request.path).removesuffix(PATH) or "/"
