"""The dashboard: pages that a browser fills from the REST interface (decision 0056).

A page holds no data of the ledger, so it may be shown before anyone has signed in. All addresses
in it are relative: it works below any prefix, also one that only a proxy knows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flask import Response, request, send_from_directory
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from werkzeug import Response as BaseResponse

from tsumugi_celery.web.auth import BearerAuth, public
from tsumugi_celery.web.errors import Hidden

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Blueprint

    from tsumugi_celery.web.options import Options

HERE = Path(__file__).parent
#: Address, template. All lie at the same depth, next to `ui/` and `api/`.
PAGES = (
    ("", "schedules"),
    ("schedule", "schedule"),
    ("repeats", "repeats"),
    ("bindings", "bindings"),
    ("run", "run"),
)
#: Not asked of the system, whose table may differ: a browser runs no script of another type.
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

#: Not the app's own: its templates must not replace ours, nor ours its.
_templates = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def add_dashboard(blueprint: Blueprint, options: Options) -> None:
    """Add the pages and their files to a blueprint."""
    for address, template in PAGES:
        blueprint.add_url_rule(
            f"/{address}",
            endpoint=f"page_{template}",
            view_func=_page(options, template),
            methods=["GET"],
        )
    blueprint.add_url_rule("/ui/<path:name>", endpoint="page_file", view_func=_file)


def _page(options: Options, template: str) -> Callable[[], BaseResponse]:
    @public
    def page() -> BaseResponse:
        let_in = options.auth(request) if options.auth is not None else False
        if isinstance(let_in, BaseResponse):
            # Of the user's own, such as a redirect to a login page.
            return let_in
        text = _templates.get_template(f"{template}.html").render(
            page=template,
            signed_in=bool(let_in),
            sign_in=_way(options.auth),
            flower=options.flower_url or "",
        )
        return Response(text, status=200 if let_in else 401, mimetype="text/html")

    return page


def _way(auth: object) -> str:
    """Return how one signs in: the token as a cookie, held by the tab, or the app's own way."""
    if not isinstance(auth, BearerAuth):
        return "app"
    return "token" if auth.cookie is None else "cookie"


@public
def _file(name: str) -> Response:
    """Return a file of the dashboard, with an ETag that the browser asks again with."""
    mimetype = TYPES.get(Path(name).suffix)
    if mimetype is None:
        raise Hidden
    return send_from_directory(HERE / "static", name, mimetype=mimetype)
