"""The `bindings` registry: names for tasks, with queue, shards, limits and default options.

Source: section 4 of the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.keys import Report, read_keys
from tsumugi_celery.core.options import (
    JOB_OPTION_KEYS,
    REFUSED_KEYS,
    JobOptions,
    merge_options,
    read_job_options,
    whole,
)
from tsumugi_celery.definitions.model import Binding
from tsumugi_celery.definitions.routing import read_routing
from tsumugi_celery.definitions.targets import read_task

if TYPE_CHECKING:
    from tsumugi_celery.core.errors import Problem

MAX_NAME = 255
MAX_SHARDS = 1024
MAX_CONCURRENCY = 1_000_000

_DEFAULTS = JOB_OPTION_KEYS - {"partitionKey"}
_KEYS = _DEFAULTS | {"task", "queue", "shards", "policy", "options"}
_REFUSED = {
    **REFUSED_KEYS,
    "partitionKey": "one key for all jobs sends them all to one shard; give it in the schedule",
}
#: These would send a job past the queues of its shards.
SHARD_CONFLICTS = ("queue", "exchange", "exchange_type", "routing_key")


def read_bindings(raw: object, problems: list[Problem]) -> dict[str, Binding]:
    """Return the valid bindings of a registry; problems are appended to `problems`."""
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        Report("bindings", problems).add("bindings", raw, "a dict of name to binding")
        return {}
    read = {}
    for name, entry in raw.items():
        report = Report(f"binding {name!r}", problems)
        check_name(name, report)
        binding = _read_binding(str(name), entry, report)
        if binding is not None:
            read[str(name)] = binding
    return read


def check_name(name: object, report: Report) -> None:
    """Report a name of a binding or flow that is no text, empty or too long."""
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME:
        report.add("name", name, f"a text of 1 to {MAX_NAME} characters")


def _read_binding(name: str, entry: object, report: Report) -> Binding | None:
    """Return the binding, with what is right in it, so that its schedules can be checked too."""
    if not isinstance(entry, Mapping):
        report.add("binding", entry, "a dict with task, and queue, shards, policy or job options")
        return None
    given = read_keys(entry, _KEYS, report, _REFUSED)
    task = None
    if "task" in given:
        task = read_task(given["task"], "task", report)
    else:
        report.say("task", "nothing", "a task's name or the task itself", "a binding needs it")
    queue, shards = _read_queue(given, report)
    per_key, total = _read_policy(given.get("policy", {}), report)
    return Binding(
        name=name,
        task=task or name,
        queue=queue,
        shards=shards,
        per_key_concurrency=per_key,
        concurrency=total,
        options=_read_defaults(given, shards, report),
    )


def _read_queue(given: Mapping[str, Any], report: Report) -> tuple[str | None, int]:
    queue, shards = given.get("queue"), given.get("shards", 1)
    if "queue" in given and not (isinstance(queue, str) and 1 <= len(queue) <= MAX_NAME):
        report.add("queue", queue, f"a queue's name, a text of 1 to {MAX_NAME} characters")
        queue = None
    if not whole(shards, 1, MAX_SHARDS):
        report.add("shards", shards, f"an integer from 1 to {MAX_SHARDS}")
        shards = 1
    if shards > 1 and "queue" not in given:
        report.say(
            "queue",
            "nothing",
            "a queue's name",
            f"the {shards} shards are the queues <queue>.0 to <queue>.{shards - 1}",
        )
    return queue, shards


def _read_policy(raw: object, report: Report) -> tuple[int, int | None]:
    if not isinstance(raw, Mapping):
        report.add("policy", raw, "a dict with perKeyConcurrency and concurrency")
        return 1, None
    nested = report.inside("policy")
    given = read_keys(raw, {"perKeyConcurrency", "concurrency"}, nested)
    accepted = f"an integer from 1 to {MAX_CONCURRENCY}"
    per_key = given.get("perKeyConcurrency", 1)
    if not whole(per_key, 1, MAX_CONCURRENCY):
        nested.add("perKeyConcurrency", per_key, accepted)
        per_key = 1
    total = given.get("concurrency")
    if total is not None and not whole(total, 1, MAX_CONCURRENCY):
        nested.add("concurrency", total, f"{accepted}, or None for no limit")
        total = None
    return per_key, total


def _read_defaults(given: Mapping[str, Any], shards: int, report: Report) -> JobOptions:
    own = read_job_options(given, report)
    check_backoff(given, {**own}, JobOptions(), report)
    routing = {}
    if "options" in given:
        routing = read_routing(given["options"], given, report, celery_form=False)
        if "queue" in given and "queue" in routing:
            report.add("options.queue", routing["queue"], "one queue", "delete it or `queue`")
        check_shards(routing, shards, report)
    return merge_options(JobOptions(), own, routing)


def check_backoff(
    given: Mapping[str, Any], own: Mapping[str, Any], defaults: JobOptions, report: Report
) -> None:
    """Report a `backoff` that nothing would use: without `maxAttempts` nothing is tried again."""
    if "backoff" in own and "maxAttempts" not in given and defaults.max_attempts is None:
        report.add("backoff", given["backoff"], "backoff beside maxAttempts", "add maxAttempts")


def check_shards(routing: Mapping[str, Any], shards: int, report: Report) -> None:
    """Report routing that would send a job past its shard."""
    for name in SHARD_CONFLICTS:
        if shards > 1 and name in routing:
            report.add(
                f"options.{name}", routing[name], f"no {name}", "the shard decides the queue"
            )
