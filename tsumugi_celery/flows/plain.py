"""What a builder returned, as plain dicts and lists; refused if it is no canvas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from celery.canvas import Signature, chunks, maybe_signature, xmap, xstarmap
from celery.result import ResultBase

from tsumugi_celery.core.errors import DispatchError
from tsumugi_celery.core.wording import shown
from tsumugi_celery.definitions.targets import is_task
from tsumugi_celery.flows.shape import COMPOUND

if TYPE_CHECKING:
    from celery import Celery

ACCEPTED = "accepted: a Celery signature: task.s(…), chain, group or chord"


def plain(app: Celery, flow: str, made: object) -> dict[str, Any]:
    """Return a canvas as dicts that own all they hold; generators in it are run to their end.

    Raises:
        DispatchError: it is no canvas.
    """
    if isinstance(made, Signature):
        return _plain(app, flow, made)
    if made is None:
        got = "None"
        hint = "; does the function end without return?"
    elif is_task(made):
        got = f"the task {getattr(made, 'name', made)!r} itself"
        hint = "; write .s(…) or .si(…) behind it"
    elif isinstance(made, ResultBase):
        got = "the result of tasks that it has started itself"
        hint = "; leave out .delay(), .apply_async() and calls: the Run is started by beat"
    else:
        got, hint = shown(made), ""
    raise DispatchError(f"the builder of flow {flow!r} returned {got}; {ACCEPTED}{hint}")


def _plain(app: Celery, flow: str, one: Any) -> dict[str, Any]:
    if not isinstance(one, Mapping) or "task" not in one:
        raise DispatchError(f"the canvas of flow {flow!r} contains {shown(one)}; {ACCEPTED}")
    signature = maybe_signature(
        dict(one) if type(one) is not dict and not isinstance(one, Signature) else one, app=app
    )
    if isinstance(signature, chunks):
        # Celery would cut it up at the moment of sending, under random ids.
        signature = signature.group()
    node = dict(signature)
    node["args"] = list(signature.args or ())
    options = node["options"] = dict(signature.options or {})
    kwargs = node["kwargs"] = dict(signature.kwargs or {})
    kind = signature.subtask_type
    if kind == "chord":
        if kwargs.get("body") is None:
            raise DispatchError(f"the canvas of flow {flow!r} has a chord without a body; give one")
        header = kwargs["header"]
        parts = header.tasks if isinstance(header, Signature) else header
        kwargs["header"] = [_plain(app, flow, part) for part in parts]
        kwargs["body"] = _plain(app, flow, kwargs["body"])
    elif kind in COMPOUND:
        kwargs["tasks"] = [_plain(app, flow, part) for part in kwargs["tasks"]]
    elif isinstance(signature, (xmap, xstarmap)):
        kwargs["task"] = _plain(app, flow, kwargs["task"])
        kwargs["it"] = list(kwargs["it"])
    for key in ("link", "link_error"):
        if options.get(key):
            given = options[key]
            given = [given] if isinstance(given, Mapping) else given
            options[key] = [_plain(app, flow, part) for part in given]
    return node
