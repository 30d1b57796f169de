"""Kept: what the row of a job says of its options, so that it can be sent without its definition.

A job may wait in the ledger for hours. By then its schedule may have been changed or removed, but
the job is still the one that was written down (decision 0062): a change takes effect from the next
occurrence. So all that a message is made of is in the row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone, tzinfo
from typing import TYPE_CHECKING, Any

from kombu import Queue

from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.core.options import JobOptions
from tsumugi_celery.definitions.model import Binding, Definition
from tsumugi_celery.definitions.payload import Payload
from tsumugi_celery.engine.routing import queue_of

if TYPE_CHECKING:
    from sqlalchemy import Row

    from tsumugi_celery.core.timing import Timing


@dataclass(frozen=True)
class _Gone:
    """The times of a schedule that is not defined as it was: there are none any more."""

    every_ms = None
    phase_ms = None
    cron = None
    zone: tzinfo = timezone.utc
    zone_name = None
    celery_schedule = None
    text = "as it was defined before"
    identity = ()

    def timing(self, first_ms: int) -> Timing:
        raise NotImplementedError(f"a former definition has no next time after {first_ms}")


def options_text(definition: Definition) -> str:
    """Return the options of a definition as JSON, for its row and those of its occurrences."""
    options = definition.options
    kept = {
        "backoff": asdict(options.backoff) if options.backoff is not None else None,
        "timeout_ms": options.timeout_ms,
        "priority": options.priority,
        "partition_key": options.partition_key,
        "deadline_ms": definition.deadline_ms,
        "celery": _celery_options(definition) or None,
        "per_key_concurrency": _limit(definition.binding, "per_key_concurrency", 1),
        "concurrency": _limit(definition.binding, "concurrency", None),
        "fingerprint": definition.fingerprint,
    }
    return json.dumps({key: value for key, value in kept.items() if value is not None})


def definition_of(row: Row[Any]) -> Definition:
    """Return the definition that the row of a job was made by, as far as sending needs it.

    Args:
        row: all columns of the occurrence, and the name of its schedule.
    """
    kept = json.loads(row.options or "{}")
    backoff = kept.get("backoff")
    expires = None if row.expires_at is None else row.expires_at - row.scheduled_at
    options = JobOptions(
        max_attempts=row.max_attempts if backoff is not None else None,
        backoff=None if backoff is None else Backoff(**backoff),
        timeout_ms=kept.get("timeout_ms"),
        priority=kept.get("priority"),
        concurrency_key=row.concurrency_key,
        partition_key=kept.get("partition_key"),
        guarantee=row.guarantee,
        expires_ms=expires,
        celery=kept.get("celery", {}),
    )
    binding = Binding(
        name=row.binding or row.target,
        task=row.task,
        per_key_concurrency=kept.get("per_key_concurrency", 1),
        concurrency=kept.get("concurrency"),
        declared=False,
    )
    return Definition(
        name=row.name,
        form="tsumugi",
        kind=row.kind,
        target=row.target,
        when=_Gone(),
        overlap="overlap",
        payload=Payload(),
        task=row.task,
        options=options,
        binding=binding,
    )


def _celery_options(definition: Definition) -> dict[str, Any]:
    """Return the routing that JSON can hold; the queue is the one the shard decided on."""
    kept = {}
    for name, value in definition.options.celery.items():
        try:
            kept[name] = json.loads(json.dumps(value, default=_plain))
        except (TypeError, ValueError):
            # An exchange object, for example: only the code itself can give it again.
            continue
    queue = queue_of(definition) if definition.kind == "job" else None
    return kept | ({"queue": queue} if queue is not None else {})


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Queue):
        return value.name
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


def _limit(binding: Binding | None, name: str, usual: int | None) -> int | None:
    value = getattr(binding, name, usual)
    return None if value == usual else value
