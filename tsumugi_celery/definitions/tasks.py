"""Tasks as far as they are registered, without finalizing the app.

Finalizing (which `app.tasks` does) while modules are still being imported would keep handlers
that are connected later from ever being called.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tsumugi_celery.definitions.payload import Payload


@dataclass(frozen=True)
class KnownTask:
    """A registered task, or one that `@app.task` has promised.

    Attributes:
        name: of the task.
        header: raises TypeError for arguments that do not fit; None where any will do.
        serializer: the task's own; None where it has none.
    """

    name: str
    header: Callable[..., Any] | None
    serializer: str | None


def find_task(app: Any, name: str) -> KnownTask | None:
    """Return the task of this name; None if it is not registered by now."""
    registry = app._tasks  # noqa: SLF001 - `app.tasks` would finalize the app
    if name in registry:
        task = registry[name]
        header = getattr(task, "__header__", None) if task.typing else None
        return KnownTask(name, header, task.serializer)
    return next((task for task in _promised(app) if task.name == name), None)


def misfit(task: KnownTask, payload: Payload) -> str | None:
    """Return why the arguments do not fit the task; None when they do."""
    if task.header is None:
        return None
    try:
        task.header(*payload.args, **payload.kwargs)
    except TypeError as error:
        text = str(error)
        if payload.args == (None,):
            text += "; for no arguments write {}"
        return text
    return None


def _promised(app: Any) -> Iterator[KnownTask]:
    """Yield the tasks that are decorated but not made yet; making one loads the settings."""
    for promise in tuple(app._pending):  # noqa: SLF001 - where Celery keeps them
        try:
            (function,) = object.__getattribute__(promise, "_Proxy__args")
            options = object.__getattribute__(promise, "_Proxy__kwargs")
        except (AttributeError, ValueError):
            continue
        name = options.get("name") or app.gen_task_name(function.__name__, function.__module__)
        yield KnownTask(name, _header(app, function, options), options.get("serializer"))


def _header(app: Any, function: Any, options: dict[str, Any]) -> Callable[..., Any] | None:
    base = options.get("base")
    typing = options.get("typing", getattr(base, "typing", None))
    if not (app.strict_typing if typing is None else typing):
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    if options.get("bind"):
        return lambda *args, **kwargs: signature.bind(None, *args, **kwargs)
    return signature.bind
