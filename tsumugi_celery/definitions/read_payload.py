"""Reading `payload` and `input`: a value, or a function that makes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celery.canvas import Signature

from tsumugi_celery.core.keys import Report
from tsumugi_celery.definitions.payload import Payload, spread
from tsumugi_celery.definitions.static import copied
from tsumugi_celery.definitions.targets import is_task, read_callable


def read_payload(given: Mapping[str, Any], key: str, other: str, report: Report) -> Payload | None:
    """Return the payload of a definition; None, with its problems reported, if it is wrong.

    Args:
        given: the definition, keys in camelCase.
        key: `payload` or `input`.
        other: the other one, which does not belong here.
        report: where problems go.
    """
    target = "binding" if key == "payload" else "flow"
    if other in given:
        fix = f"delete {other}" if key in given else f"rename {other} to {key}"
        report.add(other, given[other], f"{key} with {target}", fix)
    if key not in given:
        if other not in given:
            report.say(
                key, "nothing", "a value or a function", f"a {target} needs it; {{}} will do"
            )
        return None
    value, whole = given[key], key == "input"
    if callable(value) or isinstance(value, Signature) or is_task(value):
        source = read_callable(value, key, report, f"the {key}")
        return None if source is None else Payload(source=source, whole=whole)
    fine, copy = copied(value, key, report)
    if not fine:
        return None
    try:
        args, kwargs = spread(copy, whole=whole)
    except TypeError as error:
        report.add(key, value, "a mapping whose keys are text", str(error))
        return None
    return Payload(args, kwargs, whole=whole)
