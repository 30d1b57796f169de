"""The description of the REST interface (OpenAPI 3.1), made from what the routes accept."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from flask import request

from tsumugi_celery.core import states
from tsumugi_celery.core.repeat import MAX_ID
from tsumugi_celery.web import api
from tsumugi_celery.web.answers import polled
from tsumugi_celery.web.auth import BearerAuth
from tsumugi_celery.web.params import LATEST, LONGEST
from tsumugi_celery.web.schemas import reference, schemas

if TYPE_CHECKING:
    from flask import Blueprint, Response

    from tsumugi_celery.web.options import Options

PATH = "/api/openapi.json"
_BOOLEAN = {"type": "string", "enum": ["true", "false"]}
_MOMENT = {"type": "integer", "minimum": 0, "maximum": LATEST}


def add_openapi(blueprint: Blueprint, options: Options) -> None:
    """Add the address of the description."""

    def openapi() -> Response:
        return polled(describe(options.auth, _prefix()))

    blueprint.add_url_rule(PATH, endpoint="api_openapi", view_func=openapi)


def describe(auth: object, prefix: str) -> dict[str, Any]:
    """Return the whole description.

    Args:
        auth: of the blueprint, for how to come in.
        prefix: where the blueprint is mounted.
    """
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "tsumugi_celery",
            "version": _version(),
            "description": "All times are epoch milliseconds; absent is null.",
        },
        "servers": [{"url": prefix or "/"}],
        "paths": _paths(),
        "components": {"schemas": schemas()},
    }
    if isinstance(auth, BearerAuth):
        ways: dict[str, Any] = {"bearer": {"type": "http", "scheme": "bearer"}}
        if auth.cookie is not None:
            ways["cookie"] = {
                "type": "apiKey",
                "in": "cookie",
                "name": auth.cookie,
                "description": "Calls that change something need the header X-Tsumugi-CSRF too.",
            }
        described["components"]["securitySchemes"] = ways
        described["security"] = [{way: []} for way in ways]
    return described


def _paths() -> dict[str, Any]:
    name = _path("name", "of the schedule")
    binding = _path("name", "of the binding")
    identifier = _path("id", "of the occurrence")
    recent = _query(
        "recent", _number(0, api.MOST_RECENT), "tell this many last occurrences of each"
    )
    one = "/api/schedules/{name}"
    return {
        "/api/schedules": {
            "get": _operation(
                "listSchedules",
                "The schedules, ordered by name.",
                "SchedulePage",
                [
                    _query("search", _text(), "words in the name or target"),
                    _query("paused", _BOOLEAN, "only those that are paused, or are not"),
                    _query("kind", {"type": "string", "enum": list(api.KINDS)}, "only this kind"),
                    _query("failing", _BOOLEAN, "only those with a last error, or without"),
                    _query("limit", _number(1, api.LARGEST_PAGE, api.PAGE), "how many"),
                    _query("offset", _number(0, api.MOST_OFFSET, 0), "how many to leave out"),
                    recent,
                ],
            )
        },
        one: {
            "get": _operation("getSchedule", "One schedule.", "Schedule", [name, recent], (404,))
        },
        f"{one}/occurrences": {
            "get": _operation(
                "listOccurrences",
                "The history, newest first; times in a row that were not executed are one.",
                "OccurrencePage",
                [
                    name,
                    _query("state", _several(states.STATES), "only these states"),
                    _query("cause", _several(states.CAUSES), "only not executed for these causes"),
                    _query("since", _MOMENT, "from this time on"),
                    _query("until", _MOMENT, "before this time"),
                    _query("limit", _number(1, api.LARGEST_HISTORY, api.HISTORY), "how many"),
                    _query("cursor", _cursor(), "`next` of the page before"),
                ],
                (404,),
            )
        },
        f"{one}/upcoming": {
            "get": _operation(
                "listUpcoming",
                "The times to come, and the local times that daylight saving drops.",
                "Upcoming",
                [
                    name,
                    _query("count", _number(1, 500, 10), "how many"),
                    _query("after", _MOMENT, "from when on; now by default"),
                ],
                (404, 409),
            )
        },
        f"{one}/why": {
            "get": _operation(
                "explainTime",
                "What became of one time, and why.",
                "Explanation",
                [name, _query("at", _MOMENT, "the time", required=True)],
                (404,),
            )
        },
        f"{one}/pause": {
            "post": _operation("pauseSchedule", "Pause it. Idempotent.", "Schedule", [name], (404,))
        },
        f"{one}/resume": {
            "post": _operation(
                "resumeSchedule", "Resume it. Idempotent.", "Schedule", [name], (404,)
            )
        },
        f"{one}/trigger": {
            "post": _operation(
                "triggerSchedule",
                "Run it once now.",
                "Triggered",
                [name],
                (404, 409, 502),
                status=201,
            )
        },
        "/api/occurrences/{id}": {
            "get": _operation(
                "getOccurrence",
                "One occurrence, with attempts.",
                "Occurrence",
                [identifier],
                (404,),
            )
        },
        "/api/occurrences/{id}/cancel": {
            "post": _operation(
                "cancelOccurrence", "Cancel it.", "Occurrence", [identifier], (404, 409, 502)
            )
        },
        "/api/runs/{id}": {
            "get": _operation(
                "getRun", "One Run, with the tree of its tasks.", "Run", [identifier], (404,)
            )
        },
        "/api/repeats": {
            "get": _operation("listCollections", "The collections of repeats.", "Collections", [])
        },
        **{
            f"/api/repeats/{{name}}/{action}": {
                "post": _operation(
                    f"{action}Repeat",
                    summary,
                    "Repeat",
                    [
                        _path("name", "of the collection"),
                        _query("id", _id(), "of the repeat", required=True),
                    ],
                    (404,),
                )
            }
            for action, summary in (
                ("pause", "Let one repeat rest. Idempotent."),
                ("resume", "Let it run again, from its first time after now. Idempotent."),
                ("cancel", "End it; a run under way finishes. The repeat as it was."),
            )
        },
        "/api/repeats/{name}": {
            "get": _operation(
                "listRepeats",
                "Repeats that the data owns, in the order of their ids' bytes.",
                "RepeatPage",
                [
                    _path("name", "of the collection"),
                    _query("prefix", _part_of_id(), "only ids that begin so"),
                    _query("after", _part_of_id(), "only ids behind this one"),
                    _query("limit", _number(1, api.LARGEST_PAGE, api.PAGE), "how many"),
                ],
                (404,),
            )
        },
        "/api/bindings": {"get": _operation("listBindings", "The bindings.", "Bindings", [])},
        "/api/bindings/{name}/pause": {
            "post": _operation(
                "pauseBinding", "Hold back its jobs. Idempotent.", "Binding", [binding], (404,)
            )
        },
        "/api/bindings/{name}/resume": {
            "post": _operation(
                "resumeBinding", "Let its jobs run. Idempotent.", "Binding", [binding], (404,)
            )
        },
    }


def _part_of_id() -> dict[str, Any]:
    return {**_text(), "maxLength": MAX_ID}


def _id() -> dict[str, Any]:
    return {**_part_of_id(), "minLength": 1}


def _operation(
    identifier: str,
    summary: str,
    schema: str,
    parameters: list[dict[str, Any]],
    errors: tuple[int, ...] = (),
    *,
    status: int = 200,
) -> dict[str, Any]:
    answers: dict[str, Any] = {str(status): _answer(summary, schema)}
    if status == 200 and not identifier.startswith(("pause", "resume", "cancel")):  # noqa: PLR2004
        answers["304"] = {"description": "Nothing has changed since the ETag that was sent."}
    for each in (400, 401, 403, 503, *errors):
        answers[str(each)] = _answer(_ERRORS[each], "Error")
    return {
        "operationId": identifier,
        "summary": summary,
        "parameters": parameters,
        "responses": answers,
    }


_ERRORS = {
    400: "A parameter is not accepted.",
    401: "No token, or a wrong one.",
    403: "The call may come from another site.",
    404: "There is none of this name or id.",
    409: "It cannot be done to this one; the message says why.",
    502: "The broker did not take it; recorded.",
    503: "The ledger is away.",
}


def _answer(description: str, schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": reference(schema)}}
    return {"description": description, "content": content}


def _path(name: str, description: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1}
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
    }


def _query(
    name: str, schema: dict[str, Any], description: str, *, required: bool = False
) -> dict[str, Any]:
    described = {"name": name, "in": "query", "description": description, "schema": schema}
    return described | {"required": required}


def _number(least: int, most: int, default: int = 0) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


def _text() -> dict[str, Any]:
    return {"type": "string", "maxLength": LONGEST, "pattern": "^[^\\u0000]*$"}


def _cursor() -> dict[str, Any]:
    causes = "|".join(states.CAUSES)
    return {"type": "string", "pattern": f"^-?[0-9]{{1,15}}~(1~[0-9]{{1,9}}|0~({causes}))$"}


def _several(choices: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "enum": list(choices)}}


def _prefix() -> str:
    return (request.script_root + request.path).removesuffix(PATH)


def _version() -> str:
    try:
        return version("tsumugi-celery")
    except PackageNotFoundError:  # run from a checkout
        return "0"
