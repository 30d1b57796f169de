"""By what a task is known to belong to a Run.

A Run is all tasks with its id as their root id. Messages published where this package is installed
say so in a header; of the others only the root id speaks, and that it may be one of ours is told
by its form.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The message header of a Run's tasks: ledger, ledger_url, namespace.
RUN_HEADER = "tsumugi_run"
#: Celery's own helpers that appear in a Run without being part of what its author wrote.
INTERNAL = frozenset({"celery.chord_unlock"})
#: One `replace` outweighs every number of retries.
NESTING = 1_000_000

_SPACE = UUID("6f0cf3f0-6f2b-4c55-9d0a-7a1a5d3a0b52")
_RUN_ID = re.compile(r".+\..+-m?\d+(-\d+-manual)?", re.ASCII)


def task_id_of(run_id: str, path: str) -> str:
    """Return the id of the task at a place of a Run's canvas: the same whenever it is computed."""
    return str(uuid5(_SPACE, f"{run_id}/{path}"))


def may_be_run(root_id: str | None, task_id: str | None) -> bool:
    """Return whether a root id has the form of a Run's id, for tasks other than the root itself.

    The first test settles nearly all tasks of other people: a plain task is its own root.
    """
    if root_id is None or root_id == task_id or "." not in root_id:
        return False
    return _RUN_ID.fullmatch(root_id) is not None


def turn_of(retries: int | None, nesting: int | None) -> int:
    """Return the rank of a message among those of one task id: later ones are greater.

    A retry and a `replace` publish again under the same task id; a `replace` starts counting
    retries anew.
    """
    return (nesting or 0) * NESTING + (retries or 0) + 1


def turn_of_headers(headers: Mapping[str, Any]) -> int:
    """Return the same from a message's headers."""
    return turn_of(headers.get("retries"), headers.get("replaced_task_nesting"))
