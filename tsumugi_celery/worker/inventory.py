"""What a worker holds: told with its heartbeat, so that nothing it has is taken for lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery.worker import state

from tsumugi_celery.engine.message import HEADER

if TYPE_CHECKING:
    from celery import Celery

#: The most ids one heartbeat tells of.
MOST = 2000


def take(app: Celery) -> dict[str, Any]:
    """Return the queues this worker consumes and the ids of our jobs it has received."""
    reserved = [
        request.id for request in list(state.reserved_requests) if HEADER in request.request_dict
    ]
    return {"queues": sorted(app.amqp.queues.consume_from), "reserved": reserved[:MOST]}
