"""Celery's own routing under `options`: which names, which types, and what clashes with ours.

Source: section 1 of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tsumugi_celery.core.keys import Report, guess
from tsumugi_celery.definitions.routing_table import (
    CELERY_ONLY,
    DELAYS,
    HEADER_PREFIX,
    HEADERS,
    OURS,
    REFUSED,
    ROUTING,
)
from tsumugi_celery.definitions.snapshot import snapshot


def read_routing(
    raw: object, own: Mapping[str, Any], report: Report, *, celery_form: bool
) -> dict[str, Any]:
    """Return the valid Celery options in `raw`, copied; problems go to `report`.

    Args:
        raw: the value of `options`.
        own: the job options given beside it, camelCase.
        report: where problems go.
        celery_form: Celery's form keeps Celery's freedom: unknown names are message properties
            or stamps, and priority, expires, time limits and delays may be given here.
    """
    if raw is None and celery_form:
        return {}
    if not isinstance(raw, Mapping):
        report.add("options", raw, "a dict of Celery's options, such as {'queue': 'slow'}")
        return {}
    nested = report.inside("options")
    stamps = raw.get("stamped_headers")
    stamped = set(stamps) if isinstance(stamps, (list, tuple, set)) else set()
    read = {}
    for name, value in raw.items():
        if _fits(name, value, own, nested, celery_form=celery_form, stamped=stamped):
            read[name] = _copied(value)
    return read


def _fits(
    name: Any,
    value: Any,
    own: Mapping[str, Any],
    report: Report,
    *,
    celery_form: bool,
    stamped: set[Any],
) -> bool:
    before = len(report.problems)
    known = {**ROUTING, **CELERY_ONLY}
    if not isinstance(name, str):
        report.add(str(name), value, "names that are text")
    elif name in REFUSED:
        report.add(name, value, f"no {name}", REFUSED[name])
    elif name in OURS and not celery_form:
        report.add(name, value, f"no {name} here", f"give {OURS[name]} beside options")
    elif name in OURS and OURS[name] in own:
        report.add(name, value, f"either {name} here or {OURS[name]} beside it, not both")
    elif name in DELAYS and not celery_form:
        report.add(name, value, f"no {name}", "the schedule alone decides when a job starts")
    elif name in known:
        _check_value(name, value, known[name], report)
    elif not celery_form and name not in stamped:
        names = ", ".join(sorted(ROUTING))
        report.say(name, f"{name!r}, an unknown option", f"one of {names}", guess(name, ROUTING))
    return len(report.problems) == before


def _check_value(
    name: str, value: Any, rule: tuple[str, Callable[[Any], bool]], report: Report
) -> None:
    accepted, check = rule
    if value is not None and not check(value):
        report.add(name, value, accepted)
    elif name == "headers":
        _check_headers(value or {}, report.inside("headers"))


def _check_headers(headers: Mapping[Any, Any], report: Report) -> None:
    for name in headers:
        if not isinstance(name, str):
            report.add(str(name), headers[name], "names that are text")
        elif name in HEADERS or name.startswith(HEADER_PREFIX):
            report.add(
                name, headers[name], f"no header {name}", "it is a header of the message's own"
            )


def _copied(value: Any) -> Any:
    # Plain containers only: kombu's entities are compared and bound by identity.
    return snapshot(value) if isinstance(value, (dict, list, tuple)) else value
