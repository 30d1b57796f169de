"""Checks of static arguments: they can be copied, and the app's serializer can write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery.beat import BeatLazyFunc
from kombu.serialization import dumps

from tsumugi_celery.definitions.snapshot import snapshot

if TYPE_CHECKING:
    from tsumugi_celery.core.keys import Report
    from tsumugi_celery.definitions.payload import Payload


def copied(value: Any, key: str, report: Report) -> tuple[bool, Any]:
    """Return whether `value` could be copied, and the copy."""
    try:
        return True, snapshot(value)
    except Exception as error:  # noqa: BLE001 - whatever an unusual object raises is the problem
        report.add(key, value, "a value that can be copied", f"{type(error).__name__}: {error}")
        return False, None


def serialization_problem(payload: Payload, name: str | None, app: Any) -> str | None:
    """Return why the message of a schedule cannot be written; None when it can.

    Callables and lazy arguments are not asked: what they return shows only when they run.

    Args:
        payload: the arguments.
        name: the serializer that the schedule or its task asks for; None for the app's.
        app: the Celery app. Its settings are not loaded for values that JSON can write: once
            they are, handlers of `on_after_configure` are no longer called.
    """
    values = (
        [None if isinstance(one, BeatLazyFunc) else one for one in payload.args],
        {k: None if isinstance(v, BeatLazyFunc) else v for k, v in payload.kwargs.items()},
    )
    if name is None and not app.configured and _failure(values, "json") is None:
        return None
    name = name or app.conf.task_serializer
    failure = _failure(values, name)
    return None if failure is None else f"the serializer {name!r} cannot write it: {failure}"


def _failure(values: Any, serializer: str) -> str | None:
    try:
        dumps(values, serializer=serializer)
    except Exception as error:  # noqa: BLE001 - encoders raise what they like
        return str(error) or type(error).__name__
    return None
