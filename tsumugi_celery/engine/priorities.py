"""Priorities: what the broker makes of them, and what to change where it makes nothing of them.

Sources: kombu 5.7's transports, RabbitMQ's documentation of priority queues.
"""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING, Any

from tsumugi_celery.engine.routing import LOWER_IS_SOONER, transport_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celery import Celery
    from kombu import Queue

    from tsumugi_celery.engine.plan import Plan

AMQP = ("amqp", "amqps", "pyamqp", "librabbitmq")
#: Transports that keep priorities without being told to.
KEEPING = ("mongodb", "zookeeper")
#: kombu's default for Redis: the ten priorities share four lists.
STEPS = (0, 3, 6, 9)


def priority_warnings(app: Celery, plans: Mapping[str, Plan]) -> list[str]:
    """Return what keeps the priorities of these schedules from taking effect; one line each."""
    wanted = {
        name: plan.definition.options.priority
        for name, plan in plans.items()
        if plan.definition.options.priority is not None
    }
    if not wanted:
        return []
    transport = transport_name(app)
    if transport in AMQP:
        return _of_amqp(app, {name: plans[name] for name in wanted})
    if transport in LOWER_IS_SOONER:
        return _of_redis(app, set(wanted.values()))
    if transport in KEEPING:
        return []
    return [_NOWHERE.format(transport, _listed(sorted(wanted)))]


_NOWHERE = (
    "The transport {!r} knows no priorities: the `priority` of {} has no effect. Use RabbitMQ or "
    "Redis, or give urgent schedules a queue and a worker of their own (options: {{'queue': ...}})."
)


def _of_redis(app: Celery, wanted: set[int]) -> list[str]:
    options = app.conf.broker_transport_options or {}
    steps = sorted(options.get("priority_steps") or STEPS)
    together: dict[int, list[int]] = {}
    for priority in sorted(wanted):
        step = steps[bisect(steps, 9 - priority) - 1]
        together.setdefault(step, []).append(priority)
    return [
        f"On Redis the priorities {' and '.join(map(str, same))} count as one: kombu keeps "
        f"{len(steps)} steps for ten priorities. Set broker_transport_options = "
        f"{{'priority_steps': list(range(10))}} for beat and all workers, at the same time."
        for same in together.values()
        if len(same) > 1
    ]


def _of_amqp(app: Celery, plans: Mapping[str, Plan]) -> list[str]:
    by_queue: dict[str, list[str]] = {}
    queues: dict[str, Queue] = {}
    for name, plan in plans.items():
        try:
            queue = _queue(app, plan)
        except KeyError:
            # Celery refuses this queue when the job is sent, and says so then.
            continue
        queues[queue.name] = queue
        by_queue.setdefault(queue.name, []).append(name)
    warnings = []
    for queue_name, names in by_queue.items():
        highest = max(plans[name].definition.options.priority or 0 for name in names)
        problem = _problem(queues[queue_name], highest)
        if problem is not None:
            warnings.append(f"{problem}: the `priority` of {_listed(sorted(names))} {_REMEDY}")
    return warnings


_REMEDY = (
    "has no full effect. Declare the queue with kombu.Queue(name, max_priority=9) in task_queues, "
    "or set task_queue_max_priority = 9; delete the queue in RabbitMQ first, since the arguments "
    "of one that exists cannot be changed."
)


def _problem(queue: Queue, highest: int) -> str | None:
    arguments: dict[str, Any] = queue.queue_arguments or {}
    if arguments.get("x-queue-type") == "quorum":
        return f"The queue {queue.name!r} is a quorum queue, which tells only 0-4 from 5-9"
    most = queue.max_priority or arguments.get("x-max-priority")
    if most is None:
        return f"The queue {queue.name!r} has no x-max-priority"
    if most < highest:
        return f"The queue {queue.name!r} has x-max-priority {most}, below {highest}"
    return None


def _queue(app: Celery, plan: Plan) -> Queue:
    given = plan.options.get("queue")
    if given is not None and not isinstance(given, str):
        return given
    if given is None:
        task = plan.definition.task or ""
        route = app.amqp.router.route({}, task, (), {})
        routed = route.get("queue")
        if routed is not None:
            return routed if not isinstance(routed, str) else app.amqp.queues[routed]
        given = app.conf.task_default_queue
    return app.amqp.queues[given]


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"  # noqa: PLR2004
