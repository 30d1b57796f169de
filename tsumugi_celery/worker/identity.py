"""Who this process is in the ledger; children of a pool inherit it from the main process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Identity:
    """The node that runs tasks here.

    Attributes:
        node_id: the row of its heartbeat; None outside of workers and beats.
        hostname: the node's name, as Celery shows it.
    """

    node_id: str | None = None
    hostname: str | None = None


here = Identity()
