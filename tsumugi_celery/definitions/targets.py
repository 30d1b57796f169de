"""What may stand where a task, a flow's builder or a payload callable is wanted."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from celery.app.task import Task
from celery.beat import BeatLazyFunc
from celery.canvas import Signature

if TYPE_CHECKING:
    from collections.abc import Callable

    from tsumugi_celery.core.keys import Report

MAX_TASK_NAME = 255


def is_task(value: object) -> bool:
    """Return whether `value` is a Celery task, or the promise of one that `@app.task` makes."""
    return isinstance(value, Task)


def read_task(value: Any, key: str, report: Report) -> str | None:
    """Return the name of the task that `value` is or names; None, reported, for anything else."""
    accepted = "a task's name or the task itself"
    if isinstance(value, str) and 1 <= len(value) <= MAX_TASK_NAME:
        return value
    if is_task(value):
        return str(value.name)
    hint = ""
    if isinstance(value, Signature):
        hint = f"a signature carries arguments; give its task {value.task!r}, or use a flow"
    elif isinstance(value, type):
        hint = "give the task that @app.task made, or its name"
    elif callable(value):
        hint = "a plain function is no task; decorate it with @app.task"
    report.add(key, value, accepted, hint)
    return None


def read_callable(value: Any, key: str, report: Report, role: str) -> Callable[..., Any] | None:
    """Return `value` if it can be called with one argument; None, reported, otherwise.

    Args:
        value: a function, or an object to be called.
        key: where it was found.
        report: where problems go.
        role: what it makes, such as "the input of a flow", for the message.
    """
    accepted = f"a function of one argument that returns {role}"
    hint = ""
    if isinstance(value, Signature) or is_task(value):
        hint = "it is a Celery task or signature, which would run here and now"
    elif isinstance(value, type):
        hint = "it is a class; give a function"
    elif not callable(value):
        hint = "it cannot be called"
    elif not isinstance(value, BeatLazyFunc) and not _takes_one(value):
        hint = "it cannot be called with exactly one argument"
    if hint:
        report.add(key, value, accepted, hint)
        return None
    function: Callable[..., Any] = value
    return function


def _takes_one(value: Callable[..., Any]) -> bool:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some built-ins do not tell
        return True
    try:
        signature.bind(None)
    except TypeError:
        return False
    return True
