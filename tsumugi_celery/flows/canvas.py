"""From what a builder returned to a canvas that can be kept, and sent more than once.

The canvas is copied, every task in it gets an id derived from the Run's id and its place, and the
whole is written as text by the serializer its messages will use. The ledger keeps that text before
the first message is sent, so a start that was interrupted is repeated as it was (decision 0071).
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from celery.canvas import Signature, maybe_signature
from kombu.serialization import dumps, loads, prepare_accept_content

from tsumugi_celery.core.errors import DispatchError
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.flows.check import check_backend, check_names
from tsumugi_celery.flows.names import task_id_of
from tsumugi_celery.flows.plain import plain
from tsumugi_celery.flows.shape import leaves, members, repeatable, sub_canvases

if TYPE_CHECKING:
    from collections.abc import Collection

    from celery import Celery

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Planned:
    """A task of a canvas: its Celery task id, its task's name and its place in the order."""

    task_id: str
    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Canvas:
    """A canvas that can be sent.

    Attributes:
        text: the canvas as the ledger keeps it.
        planned: the tasks in it, in the order of the canvas.
        repeatable: whether it may be sent twice without harm.
    """

    text: str
    planned: tuple[Planned, ...]
    repeatable: bool

    def signature(self, app: Celery) -> Signature:
        """Return a fresh Celery signature, which sending it may change."""
        return maybe_signature(unpack(self.text), app=app)


def prepare(
    app: Celery, flow: str, run_id: str, made: object, remote: Collection[str] = ()
) -> Canvas:
    """Return the canvas of a Run.

    Args:
        app: the Celery app.
        flow: the name of the flow, for messages.
        run_id: the id of the Run.
        made: what the builder returned.
        remote: names of tasks that need not be registered here.

    Raises:
        DispatchError: it cannot be started; the text says why and what to do.
    """
    root = plain(app, flow, made)
    check_names(app, flow, root, remote)
    check_backend(app, flow, root)
    text = _pack(app, flow, root)
    root = unpack(text)
    _assign(root, run_id)
    return _canvas(_pack(app, flow, root), root)


def restore(text: str) -> Canvas:
    """Return the canvas that the ledger has kept."""
    return _canvas(text, unpack(text))


def unpack(text: str) -> Node:
    """Return the canvas as plain dicts and lists.

    The text comes from this project's own ledger, so its content type is accepted as it is.
    """
    content_type, encoding, body = json.loads(text)
    data = base64.b64decode(body[7:]) if body.startswith("base64:") else body
    node: Node = loads(data, content_type, encoding, accept=prepare_accept_content([content_type]))
    return node


def _canvas(text: str, root: Node) -> Canvas:
    planned = tuple(
        Planned(node["options"]["task_id"], node["task"], position)
        for position, node in enumerate(leaves(root))
    )
    return Canvas(text, planned, repeatable(root))


def _assign(root: Node, run_id: str) -> None:
    """Give every task, group and chord an id; ids that the builder chose stay."""
    taken: set[str] = set()
    waiting = [(root, "0")]
    while waiting:
        node, path = waiting.pop()
        options = node["options"]
        if node.get("subtask_type") == "chain":
            # A chain has no id of its own: it would become its last task's.
            options.pop("task_id", None)
        else:
            own = options.get("task_id")
            if own is None or own in taken:
                options["task_id"] = task_id_of(run_id, path)
            taken.add(options["task_id"])
        parts = [*members(node), *sub_canvases(node)]
        waiting += [(part, f"{path}.{index}") for index, part in reversed([*enumerate(parts)])]


def _pack(app: Celery, flow: str, root: Node) -> str:
    serializer = _serializer(app, root)
    try:
        content_type, encoding, data = dumps(root, serializer=serializer)
    except Exception as exc:
        raise DispatchError(
            f"the canvas of flow {flow!r} cannot be written by the serializer {serializer!r}: "
            f"{reason(exc)}; accepted: arguments that it can write"
        ) from exc
    text = data if isinstance(data, str) else "base64:" + base64.b64encode(data).decode()
    return json.dumps([content_type, encoding, text])


def _serializer(app: Celery, root: Node) -> str:
    """Return the serializer that loses nothing of what the tasks' own ones would keep."""
    default = str(app.conf.task_serializer)
    used = set()
    for node in leaves(root):
        task = app.tasks.get(node["task"])
        chosen = node["options"].get("serializer") or getattr(task, "serializer", None)
        used.add(str(chosen or default))
    others = sorted(used - {default})
    return (
        "pickle" if "pickle" in used else others[0] if others and default not in used else default
    )
