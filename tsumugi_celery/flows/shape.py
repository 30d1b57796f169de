"""The shape of a canvas written as plain dicts: what is in it, and what is sent first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Node = dict[str, Any]

#: Of these a group, a chain or a chord is made; all other nodes are tasks.
COMPOUND = ("chain", "group", "chord")


def kind_of(node: Node) -> str:
    """Return chain, group, chord or task."""
    kind = node.get("subtask_type")
    return str(kind) if kind in COMPOUND else "task"


def members(node: Node) -> list[Node]:
    """Return the parts of a chain or group, or of a chord's header; nothing for a task."""
    kwargs = node["kwargs"]
    kind = kind_of(node)
    if kind == "task":
        return []
    found: list[Node] = kwargs["header"] if kind == "chord" else kwargs["tasks"]
    return found


def sub_canvases(node: Node) -> list[Node]:
    """Return what follows a node: a chord's body, then its callbacks (not its errbacks)."""
    body = [node["kwargs"]["body"]] if kind_of(node) == "chord" else []
    return body + callbacks(node)


def callbacks(node: Node, key: str = "link") -> list[Node]:
    """Return the callbacks of a node (`link`), or its errbacks (`link_error`)."""
    found: list[Node] = node["options"].get(key) or []
    return found


def leaves(node: Node, *, errbacks: bool = False) -> Iterator[Node]:
    """Yield the tasks of a canvas in its order, with callbacks, and with errbacks if wanted."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if kind_of(one) == "task":
            yield one
        parts = [*members(one), *sub_canvases(one)]
        if errbacks:
            parts += callbacks(one, "link_error")
        waiting += reversed(parts)


def has_chord(node: Node) -> bool:
    """Return whether a chord is in a canvas, or what Celery makes one of: a group with a sequel."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if kind_of(one) == "chord":
            return True
        parts = members(one)
        if kind_of(one) == "chain" and any(kind_of(part) == "group" for part in parts[:-1]):
            return True
        waiting += [*parts, *sub_canvases(one)]
    return False


def repeatable(root: Node) -> bool:
    """Return whether sending a canvas twice comes to the same as sending it once.

    The guard drops the second message of a task. But Celery draws a new random id for the header
    of a chord that is not the outermost part, and a header half under one id and half under
    another is never complete.
    """
    if kind_of(root) in {"group", "chord"}:
        return all(_starts_with_tasks(part) for part in members(root))
    return _starts_with_tasks(root)


def _starts_with_tasks(node: Node) -> bool:
    kind = kind_of(node)
    if kind == "task":
        return True
    parts = members(node)
    if kind == "chord" or not parts:
        return kind != "chord"
    if kind == "group":
        return all(map(_starts_with_tasks, parts))
    return kind_of(parts[0]) in {"task", "chain"} and _starts_with_tasks(parts[0])
