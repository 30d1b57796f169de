"""Errors as JSON: `{"error": {"code", "message"}}` (section 7 of the contract)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from werkzeug.exceptions import HTTPException

from tsumugi_celery.core.errors import (
    AlreadyFinished,
    DefinitionError,
    DispatchError,
    LedgerAway,
    LedgerError,
    NotDefinedHere,
    TsumugiError,
    UnknownBinding,
    UnknownOccurrence,
    UnknownRepeat,
    UnknownSchedule,
)
from tsumugi_celery.web.answers import answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Blueprint, Response

log = logging.getLogger(__name__)

#: The first class that fits counts.
CODES: tuple[tuple[type[TsumugiError], int, str], ...] = (
    (UnknownSchedule, 404, "unknown_schedule"),
    (UnknownOccurrence, 404, "unknown_occurrence"),
    (UnknownBinding, 404, "unknown_binding"),
    (UnknownRepeat, 404, "unknown_repeat"),
    (NotDefinedHere, 409, "not_defined_here"),
    (AlreadyFinished, 409, "already_finished"),
    (DispatchError, 502, "dispatch_failed"),
    (LedgerAway, 503, "ledger_away"),
    (LedgerError, 503, "ledger_unusable"),
    (DefinitionError, 500, "definition_error"),
)


class WebError(Exception):
    """The base of what is wrong with a request."""

    status = 400
    code = "bad_request"
    message = "the request cannot be understood"
    headers: Mapping[str, str] = {}

    def __init__(
        self, message: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message or self.message)
        if headers is not None:
            self.headers = headers


class BadRequest(WebError):  # noqa: N818 - HTTP's name for it
    """A parameter is not what is accepted."""


class Hidden(WebError):  # noqa: N818 - HTTP's name for it
    """There is nothing here."""

    status = 404
    code = "not_found"
    message = "there is nothing at this address"


class Unauthorized(WebError):  # noqa: N818 - HTTP's name for it
    """The request carries no token, or a wrong one."""

    status = 401
    code = "unauthorized"
    message = "the token is missing or wrong; send it as 'Authorization: Bearer <token>'"
    headers: Mapping[str, str] = {"WWW-Authenticate": "Bearer"}


class Forbidden(WebError):  # noqa: N818 - HTTP's name for it
    """The request may come from another site."""

    status = 403
    code = "cross_site"
    message = (
        "a call that changes something must prove that no other site caused it: "
        "send the header 'X-Tsumugi-CSRF: 1', or the token in the Authorization header"
    )


class MethodNotAllowed(WebError):  # noqa: N818 - HTTP's name for it
    """The address is right, the method is not."""

    status = 405
    code = "method_not_allowed"
    message = "this method is not accepted here; the header Allow names those that are"


class NotInstalled(WebError):  # noqa: N818 - HTTP's name for it is "not implemented"
    """What the request needs is not installed on the server."""

    status = 501
    code = "not_installed"


def add_errors(blueprint: Blueprint) -> None:
    """Answer every error below a blueprint as JSON."""
    blueprint.register_error_handler(WebError, _web_error)
    blueprint.register_error_handler(TsumugiError, _tsumugi_error)
    blueprint.register_error_handler(HTTPException, _http_error)
    blueprint.register_error_handler(Exception, _fault)


def error(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error as a response."""
    response = answer({"error": {"code": code, "message": message}}, status)
    response.headers.update(headers or {})
    return response


def _web_error(exc: WebError) -> Response:
    return error(exc.status, exc.code, str(exc), exc.headers)


def _tsumugi_error(exc: TsumugiError) -> Response:
    for kind, status, code in CODES:
        if isinstance(exc, kind):
            headers = {"Retry-After": "2"} if kind is LedgerAway else {}
            return error(status, code, str(exc), headers)
    return _fault(exc)


def _http_error(exc: HTTPException) -> Response:
    status = exc.code or 500
    return error(status, exc.name.lower().replace(" ", "_"), exc.description or exc.name)


def _fault(exc: Exception) -> Response:
    log.error("A request failed", exc_info=exc, extra={"action": "web.fault"})
    return error(500, "internal_error", "the server failed; its log says why")
