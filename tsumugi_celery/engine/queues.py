"""Queues of declared bindings: known to Celery, and consumed by a worker started without `-Q`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from celery import Celery

    from tsumugi_celery.definitions.model import Binding


def queue_names(bindings: Iterable[Binding]) -> list[str]:
    """Return the queues that jobs of these bindings go to, each once."""
    names: dict[str, None] = {}
    for binding in bindings:
        if binding.queue is None:
            continue
        if binding.shards > 1:
            names |= dict.fromkeys(f"{binding.queue}.{n}" for n in range(binding.shards))
        else:
            names[binding.queue] = None
    return list(names)


def add_queues(app: Celery, bindings: Iterable[Binding]) -> None:
    """Make the queues of bindings known to Celery, among those consumed by default.

    A queue that the app declares itself stays as declared. Called before Celery reads `-Q` and
    `-X`, which choose among these as among all others.
    """
    queues = app.amqp.queues
    for name in queue_names(bindings):
        declared = queues.get(name)
        queues.select_add(declared if declared is not None else queues.new_missing(name))
