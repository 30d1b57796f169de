"""A definition made ready: what every occurrence of it has in common, computed once."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core import states
from tsumugi_celery.engine import message
from tsumugi_celery.engine.kept import options_text
from tsumugi_celery.engine.routing import celery_options
from tsumugi_celery.ledger.waiting import BINDING, BROKER, RETRY, SLOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celery import Celery

    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.engine.settings import Settings

__all__ = ["BINDING", "BROKER", "RETRY", "SLOT", "Plan", "make_plan", "must_wait"]

#: The key of `Plan.until` among the options that a row keeps.
UNTIL = "until"


@dataclass(frozen=True, slots=True)
class Plan:
    """One definition, ready to be claimed.

    Attributes:
        definition: what it is made of.
        body: the arguments as text; None when they are made anew for each execution.
        body_error: why the fixed arguments cannot be serialized; None when they can.
        options: for `apply_async`, without what differs by occurrence.
        options_text: what the ledger keeps of the job options, as JSON.
        limited: whether `concurrencyKey` or the binding's `concurrency` may hold jobs back.
        until: no attempt starts from here on, epoch ms; None where nothing bounds the retries.
    """

    definition: Definition
    body: str | None
    body_error: Exception | None
    options: Mapping[str, Any]
    options_text: str
    limited: bool
    until: int | None = None

    @property
    def binding_name(self) -> str | None:
        """The binding that a job is counted and paused under."""
        binding = self.definition.binding
        return binding.name if binding is not None else None


def make_plan(app: Celery, settings: Settings, definition: Definition) -> Plan:
    """Prepare a definition.

    Args:
        app: the Celery app, for its serializer and transport.
        settings: for the grace of time limits.
        definition: a valid one.
    """
    body: str | None = None
    error: Exception | None = None
    if definition.kind == "job" and definition.payload.static:
        payload = definition.payload
        try:
            body = message.pack(payload.args, payload.kwargs, serializer_of(app, definition))
        except Exception as exc:  # noqa: BLE001 - whatever a serializer raises is this definition's fault
            error = exc
    binding = definition.binding
    limited = definition.kind == "job" and (
        definition.options.concurrency_key is not None
        or (binding is not None and binding.concurrency is not None)
    )
    return Plan(
        definition,
        body,
        error,
        celery_options(app, settings, definition),
        options_text(definition),
        limited,
    )


def bounded(plan: Plan, until: int | None) -> Plan:
    """Return a plan for one occurrence, whose retries end before the next time of its repeat.

    Args:
        plan: of its definition.
        until: the next time, epoch ms; None where nothing follows.
    """
    if until is None:
        return plan
    text = json.dumps({**json.loads(plan.options_text), UNTIL: until})
    return replace(plan, until=until, options_text=text)


def serializer_of(app: Celery, definition: Definition) -> str:
    """Return the name of the serializer that the messages of a definition use."""
    chosen = definition.options.celery.get("serializer")
    if chosen is None:
        task = app.tasks.get(definition.task) if definition.task else None
        chosen = getattr(task, "serializer", None)
    return str(chosen or app.conf.task_serializer)


def must_wait(plan: Plan, paused_bindings: frozenset[str]) -> str | None:
    """Return why an occurrence is not sent at once: 'binding', 'slot' or None."""
    if plan.binding_name in paused_bindings:
        return BINDING
    return SLOT if plan.limited else None


def occurrence_values(
    plan: Plan,
    *,
    identifier: str,
    schedule_id: int,
    namespace: str,
    scheduled_at: int,
    node_id: str,
    now: int,
    wait: str | None,
    manual: int = 0,
) -> dict[str, Any]:
    """Return the row of a new occurrence.

    Args:
        plan: of its definition.
        identifier: its id.
        schedule_id: the row of its schedule.
        namespace: the namespace of the app.
        scheduled_at: epoch ms.
        node_id: who claims it.
        now: epoch ms.
        wait: why it is held back; None to claim it for sending now.
        manual: n for the n-th started by hand in this millisecond; 0 for a regular one.
    """
    definition = plan.definition
    options = definition.options
    return {
        "id": identifier,
        "schedule_id": schedule_id,
        "namespace": namespace,
        "scheduled_at": scheduled_at,
        "manual": manual,
        "kind": definition.kind,
        "state": states.CLAIMED if wait is None else states.SCHEDULED,
        "target": definition.target,
        "task": definition.task,
        "binding": plan.binding_name,
        "concurrency_key": options.concurrency_key,
        "guarantee": options.guarantee,
        "options": plan.options_text,
        "body": plan.body,
        "claimed_by": node_id,
        "claimed_at": now,
        "wait": wait,
        "due_at": now if wait is not None else None,
        "max_attempts": options.max_attempts,
        "expires_at": None if options.expires_ms is None else scheduled_at + options.expires_ms,
    }
