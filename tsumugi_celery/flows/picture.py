"""The tree of a Run as an inline SVG: one row a node, lines from parent to child.

Everything that comes from outside (names, errors, links) is escaped; the picture brings its own
colours, as attributes, so that it needs neither style sheet nor script.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tsumugi_celery.core import states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tsumugi_celery.flows.tree import Branch, RunTree

#: Sizes, in pixels.
ROW = 24
INDENT = 22
WIDTH = 640
#: The most rows that are drawn; what is left out is counted.
MOST = 400
#: The longest label, in characters.
LONGEST = 60

COLOURS = {
    states.SCHEDULED: "#9aa0a6",
    states.QUEUED: "#b08800",
    states.RUNNING: "#1a73e8",
    states.COMPLETED: "#188038",
    states.FAILED: "#d93025",
    states.CANCELLED: "#8430ce",
    states.NOT_EXECUTED: "#9aa0a6",
}

Row = tuple[int, int | None, "Branch"]


def picture(tree: RunTree, link: Callable[[str], str | None] | None = None) -> str:
    """Return an inline SVG of a Run.

    Args:
        tree: the Run.
        link: gives the address that a task's id leads to, or None for no link.

    Returns:
        One `svg` element, safe to put into a page.
    """
    rows = [*_rows(tree)]
    drawn = rows[:MOST]
    height = ROW * (max(1, len(drawn)) + (len(rows) > MOST)) + 8
    progress = tree.progress
    title = f"Run {tree.run_id}: {tree.state}, {progress.ended} of {progress.known} tasks ended"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{height}"',
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
    ]
    parts += [_line(index, row) for index, row in enumerate(drawn) if row[1] is not None]
    parts += [_node(index, row, link) for index, row in enumerate(drawn)]
    if not rows:
        parts.append(_text(8, 0, "no tasks"))
    if len(rows) > MOST:
        parts.append(_text(8, len(drawn), f"and {len(rows) - MOST} more"))
    return "".join(parts) + "</svg>"


def _rows(tree: RunTree) -> Iterator[Row]:
    """Yield (depth, row of the parent, node), from top to bottom."""
    tops = [*([tree.root] if tree.root is not None else []), *tree.extras]
    waiting: list[Row] = [(0, None, top) for top in reversed(tops)]
    index = 0
    while waiting:
        depth, parent, node = waiting.pop()
        yield depth, parent, node
        waiting += [(depth + 1, index, child) for child in reversed(node.children)]
        index += 1


def _line(index: int, row: Row) -> str:
    depth, parent, _node = row
    x = 12 + (depth - 1) * INDENT
    top, middle = _middle(parent or 0) + 6, _middle(index)
    return f'<path d="M{x} {top}V{middle}H{x + INDENT - 6}" fill="none" stroke="#c4c7c5"/>'


def _node(index: int, row: Row, link: Callable[[str], str | None] | None) -> str:
    depth, _parent, node = row
    x, y = 12 + depth * INDENT, _middle(index)
    if node.kind != "task":
        shape = f'<rect x="{x - 5}" y="{y - 5}" width="10" height="10" fill="#c4c7c5"/>'
        return f"<g>{shape}{_text(x + 12, index, f'{node.kind} ({node.role})')}</g>"
    state = node.state or states.SCHEDULED
    facts = [node.name, node.task_id, state, node.worker, node.error]
    title = escape(" · ".join(str(fact) for fact in facts if fact))
    shape = f'<circle cx="{x}" cy="{y}" r="5" fill="{COLOURS.get(state, "#9aa0a6")}"/>'
    label = _text(x + 12, index, f"{node.name or '?'} — {state}{_took(node)}")
    drawn = f"<g><title>{title}</title>{shape}{label}</g>"
    address = link(node.task_id) if link is not None and node.task_id is not None else None
    return drawn if address is None else f'<a href="{escape(address)}">{drawn}</a>'


def _took(node: Branch) -> str:
    if node.started_at is None or node.ended_at is None:
        return ""
    return f", {(node.ended_at - node.started_at) / 1000:.1f} s"


def _text(x: int, index: int, text: str) -> str:
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return f'<text x="{x}" y="{_middle(index) + 4}" fill="#1f1f1f">{escape(short)}</text>'


def _middle(index: int) -> int:
    return 4 + index * ROW + ROW // 2
