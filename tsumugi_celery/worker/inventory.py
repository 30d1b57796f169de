"""What a worker holds: told with its heartbeat, so that nothing it has is taken for lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery.worker import state

from tsumugi_celery.engine.message import HEADER
from tsumugi_celery.flows.names import RUN_HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celery import Celery

#: The most ids one heartbeat tells of.
MOST = 2000


def held() -> set[str]:
    """Return the ids of our tasks that this worker has received and not ended.

    Those that run are looked at by themselves: Celery forgets what it had received when it loses
    the broker, while the pool goes on.
    """
    requests = [*state.reserved_requests, *state.active_requests]
    return {request.id for request in requests if is_ours(request.request_dict)}


def is_ours(headers: Mapping[str, Any]) -> bool:
    """Return whether a message with these headers is a job, or belongs to a Run, of ours."""
    return HEADER in headers or RUN_HEADER in headers


def take(app: Celery) -> dict[str, Any]:
    """Return the queues this worker consumes and the ids of our jobs it has."""
    return {
        "queues": sorted(app.amqp.queues.consume_from),
        "reserved": sorted(held())[:MOST],
    }
