"""The command that serves the dashboard and the REST interface by itself."""

from __future__ import annotations

import ipaddress
import os
import secrets
from typing import TYPE_CHECKING, Any

import click

from tsumugi_celery.app import state_of
from tsumugi_celery.cli.common import answering
from tsumugi_celery.core.errors import TsumugiError
from tsumugi_celery.handle import Tsumugi

if TYPE_CHECKING:
    from flask import Flask

    from tsumugi_celery.app import AppState
    from tsumugi_celery.control.service import Control

TOKEN = "TSUMUGI_TOKEN"  # noqa: S105 - the name of a variable
COOKIE = "tsumugi_token"


@click.command()
@click.option("--host", default="127.0.0.1", help="The address to listen on (127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), default=5080, help="The port (5080).")
@click.option("--prefix", default="/", help="The path below which everything is served (/).")
@click.option("--unsafe-no-auth", "open_to_all", is_flag=True, help="Ask nobody for a token.")
@click.option("--show-payloads", is_flag=True, help="Show the arguments of jobs.")
@click.option("--flower-url", help="Where Flower is, for links to its task pages.")
@answering
def web(
    control: Control,
    host: str,
    port: int,
    prefix: str,
    flower_url: str | None,
    *,
    open_to_all: bool,
    show_payloads: bool,
) -> None:
    """Serve the dashboard and the REST interface with waitress.

    The token is read from the environment variable TSUMUGI_TOKEN. Without one, a random token is
    made and printed, but only for listening on this machine alone.
    """
    token = _token(host, open_to_all=open_to_all)
    app = make_app(
        state_of(control.source.app),
        token=token,
        prefix=prefix,
        show_payloads=show_payloads,
        flower_url=flower_url,
    )
    try:
        from waitress.server import create_server  # noqa: PLC0415 - only this needs the extra
    except ModuleNotFoundError as exc:
        raise TsumugiError(_MISSING) from exc
    try:
        server: Any = create_server(app, host=host, port=port, threads=8)
    except OSError as exc:
        msg = f"cannot listen on {host}:{port}: {exc.strerror or exc}; choose another --port"
        raise TsumugiError(msg) from exc
    # A name with several addresses is served on each of them.
    listens = getattr(server, "effective_listen", None) or [(host, server.effective_port)]
    for address, number in listens:
        shown = f"[{address}]" if ":" in str(address) else address
        click.echo(f"Serving on http://{shown}:{number}{prefix}")
    if token is not None and os.environ.get(TOKEN) != token:
        click.echo(f"Token: {token}")
    try:
        server.run()
    finally:
        server.close()


_MISSING = "the web interface needs Flask and waitress: pip install 'tsumugi-celery[web]'"


def make_app(
    state: AppState,
    *,
    token: str | None,
    prefix: str = "/",
    show_payloads: bool = False,
    flower_url: str | None = None,
) -> Flask:
    """Return a Flask app with the blueprint alone.

    Args:
        state: of the Celery app.
        token: what lets people in; None lets everyone in.
        prefix: the path below which everything is served.
        show_payloads: show the arguments of jobs.
        flower_url: where Flower is.

    Raises:
        TsumugiError: Flask is not installed.
    """
    try:
        from flask import Flask  # noqa: PLC0415 - only the web interface needs the extra

        from tsumugi_celery.web import bearer_auth, create_blueprint, unsafe_no_auth  # noqa: PLC0415
    except ModuleNotFoundError as exc:
        raise TsumugiError(_MISSING) from exc
    auth = unsafe_no_auth() if token is None else bearer_auth(token, cookie=COOKIE)
    blueprint = create_blueprint(
        Tsumugi(state), auth=auth, show_payloads=show_payloads, flower_url=flower_url
    )
    app = Flask("tsumugi")
    app.register_blueprint(blueprint, url_prefix=prefix.rstrip("/") or None)
    return app


def _token(host: str, *, open_to_all: bool) -> str | None:
    given = os.environ.get(TOKEN, "").strip()
    if open_to_all:
        if not _is_loopback(host):
            msg = (
                f"--unsafe-no-auth with --host {host}: everyone who reaches this machine could "
                f"run and pause schedules. Listen on 127.0.0.1, or set {TOKEN} instead"
            )
            raise TsumugiError(msg)
        return None
    if not given and not _is_loopback(host):
        msg = (
            f"--host {host} is reached from other machines, and there is no token. Set the "
            f"environment variable {TOKEN} to a long random text, or listen on 127.0.0.1"
        )
        raise TsumugiError(msg)
    return given or secrets.token_urlsafe(24)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
