"""Job options as Celery task options: what Celery has a word for, Celery gets."""

from __future__ import annotations

import zlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tsumugi_celery.engine.message import HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celery import Celery

    from tsumugi_celery.definitions.model import Binding, Definition
    from tsumugi_celery.engine.settings import Settings

#: Transports that serve the lower number first.
LOWER_IS_SOONER = ("redis", "rediss", "valkey", "valkeys", "sentinel")


def transport_name(app: Celery) -> str:
    """Return the scheme of the broker that the app publishes to."""
    url = app.conf.broker_write_url or app.conf.broker_url or "amqp"
    first = url[0] if isinstance(url, (list, tuple)) else url
    return str(first).split(";", maxsplit=1)[0].partition(":")[0].partition("+")[0]


def celery_options(app: Celery, settings: Settings, definition: Definition) -> dict[str, Any]:
    """Return the `apply_async` options that all occurrences of a job have in common."""
    options = dict(definition.options.celery)
    job = definition.options
    if job.priority is not None:
        lower = transport_name(app) in LOWER_IS_SOONER
        options["priority"] = 9 - job.priority if lower else job.priority
    if job.timeout_ms is not None:
        options["soft_time_limit"] = job.timeout_ms / 1000
        options["time_limit"] = job.timeout_ms / 1000 + settings.timeout_grace
    queue = queue_of(definition)
    if queue is not None:
        options["queue"] = queue
    return options


def queue_of(definition: Definition) -> str | None:
    """Return the queue of a job; None leaves it to Celery's routing."""
    binding = definition.binding
    if binding is None:
        return None
    own = definition.options.celery.get("queue")
    base = own if isinstance(own, str) else binding.queue
    if binding.shards < 2 or definition.options.partition_key is None:  # noqa: PLR2004 - one shard is none
        return base
    return shard_queue(binding, base or binding.name, definition.options.partition_key)


def shard_queue(binding: Binding, base: str, partition_key: str) -> str:
    """Return `<queue>.<n>`: n is the CRC-32 of the key's UTF-8 bytes modulo the shards.

    CRC-32 is the same in every process, on every machine and in every version.
    """
    return f"{base}.{zlib.crc32(partition_key.encode()) % binding.shards}"


def header(
    definition: Definition,
    *,
    ledger_id: str,
    ledger_url: str,
    namespace: str,
    schedule: str,
    scheduled_at: int,
    base: int,
    until: int | None = None,
) -> dict[str, Any]:
    """Return the header by which the worker side knows a job of ours.

    Args:
        definition: of the job.
        ledger_id: which ledger the job is written down in.
        ledger_url: the same for people, without a password.
        namespace: the namespace of the app.
        schedule: the name of the schedule.
        scheduled_at: epoch ms.
        base: attempts that earlier messages of this occurrence have used up.
        until: no attempt starts from here on, epoch ms; None without such a bound.
    """
    options = definition.options
    fields: dict[str, Any] = {
        "ledger": ledger_id,
        "ledger_url": ledger_url,
        "namespace": namespace,
        "schedule": schedule,
        "at": scheduled_at,
        "base": base,
        "guarantee": options.guarantee,
    }
    if options.max_attempts is not None:
        fields["max_attempts"] = options.max_attempts
    if options.backoff is not None:
        fields["backoff"] = asdict(options.backoff)
    if until is not None:
        fields["until"] = until
    return fields


def with_header(options: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return options whose headers carry ours beside the user's."""
    headers = dict(options.get("headers") or {})
    headers[HEADER] = dict(fields)
    # Celery marks what beat sent with this header, and so do we.
    headers.setdefault("celery_beat_task", True)
    return {**options, "headers": headers}
