"""Tsumugi's own form of a definition: `binding` or `flow`, with `everyMs` or `cron`.

Source: section 1 of the contract.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.keys import Report, guess, read_keys
from tsumugi_celery.core.options import (
    FLOW_OPTION_KEYS,
    JOB_OPTION_KEYS,
    REFUSED_KEYS,
    merge_options,
    read_deadline,
    read_job_options,
)
from tsumugi_celery.definitions.bindings import check_backoff, check_shards
from tsumugi_celery.definitions.forms import TSUMUGI, TSUMUGI_KEYS
from tsumugi_celery.definitions.model import Binding, Definition
from tsumugi_celery.definitions.read_payload import read_payload
from tsumugi_celery.definitions.read_when import read_when
from tsumugi_celery.definitions.routing import read_routing
from tsumugi_celery.definitions.targets import read_task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tsumugi_celery.definitions.context import Context

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def read_tsumugi_form(
    name: str, entry: Mapping[Any, Any], context: Context, report: Report
) -> Definition | None:
    """Return the definition; None, with all its problems reported, if it is wrong."""
    before = len(report.problems)
    if not NAME.fullmatch(name):
        report.add("name", name, "1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'")
    given = read_keys(entry, TSUMUGI_KEYS, report, REFUSED_KEYS)
    when = read_when(given, report)
    overlap = context.read_overlap(given, report)
    kind = _read_kind(given, report)
    if kind == "job":
        parts = _read_job(given, context, report)
    elif kind == "flow":
        parts = _read_flow(given, context, report)
    else:
        _check_rest(given, context, report)
        return None
    if when is None or len(report.problems) > before:
        return None
    return Definition(name=name, form=TSUMUGI, kind=kind, when=when, overlap=overlap, **parts)


def _read_kind(given: Mapping[str, Any], report: Report) -> str | None:
    if ("binding" in given) == ("flow" in given):
        got = "binding and flow" if "binding" in given else "neither binding nor flow"
        hint = "binding enqueues a job, flow starts a Run"
        report.say("binding", got, "exactly one of the two", hint)
        return None
    return "job" if "binding" in given else "flow"


def _check_rest(given: Mapping[str, Any], context: Context, report: Report) -> None:
    """Report what can be told of a definition that is neither job nor flow."""
    read_job_options(given, report)
    read_deadline(given, report)
    if "options" in given:
        read_routing(given["options"], given, report, celery_form=False)
    for key in ("payload", "input"):
        payload = read_payload(given, key, "", report) if key in given else None
        if payload is not None:
            context.check_arguments(payload, key, report)


def _read_job(given: Mapping[str, Any], context: Context, report: Report) -> dict[str, Any]:
    _refuse(given, FLOW_OPTION_KEYS, "with flow only", report)
    binding = read_binding(given["binding"], context, report)
    own = read_job_options(given, report)
    check_backoff(given, own, binding.options, report)
    routing = {}
    if "options" in given:
        routing = read_routing(given["options"], given, report, celery_form=False)
        check_shards(routing, binding.shards, report)
    _check_partition(given, binding, report)
    options = merge_options(binding.options, own, routing)
    payload = read_payload(given, "payload", "input", report)
    if payload is not None:
        context.check_arguments(payload, "payload", report, binding.task, options.celery)
    return {
        "target": binding.name,
        "payload": payload,
        "task": binding.task,
        "options": options,
        "binding": binding,
    }


def _read_flow(given: Mapping[str, Any], context: Context, report: Report) -> dict[str, Any]:
    _refuse(given, JOB_OPTION_KEYS | {"options"}, "with binding only", report)
    deadline = read_deadline(given, report)
    flow = given["flow"]
    build = context.flows.get(flow) if isinstance(flow, str) else None
    if build is None:
        names = ", ".join(map(repr, context.flows)) or "none is defined"
        hint = guess(flow, context.flows)
        if isinstance(flow, str) and flow in context.bindings:
            hint = "it is the name of a binding; write binding in place of flow"
        report.add("flow", flow, f"a name in flows ({names})", hint)
    payload = read_payload(given, "input", "payload", report)
    if payload is not None:
        context.check_arguments(payload, "input", report)
    remote = frozenset(each.task for each in context.bindings.values() if each.declared)
    return {
        "target": str(flow),
        "payload": payload,
        "flow": build,
        "deadline_ms": deadline,
        "remote_tasks": remote,
    }


def read_binding(written: Any, context: Context, report: Report) -> Binding:
    """Return the declared binding of this name, or one for the task that is written there."""
    if isinstance(written, str) and written in context.bindings:
        return context.bindings[written]
    if isinstance(written, str) and written in context.flows:
        hint = "write flow in place of binding"
        report.add("binding", written, "a name in bindings, or a task; this is a flow", hint)
    name = read_task(written, "binding", report)
    if name is None:
        return Binding(name="?", task="?", declared=False)
    context.check_registered(name, written, report)
    return Binding(name=name, task=name, declared=False)


def _check_partition(given: Mapping[str, Any], binding: Binding, report: Report) -> None:
    if binding.shards > 1 and "partitionKey" not in given:
        report.say(
            "partitionKey",
            "nothing",
            f"a text, as binding {binding.name!r} has {binding.shards} shards",
            "jobs of one partitionKey go to one shard",
        )
    if binding.shards == 1 and "partitionKey" in given:
        accepted = f"no partitionKey, as binding {binding.name!r} has no shards"
        hint = "delete it, or give the binding shards of 2 or more"
        report.add("partitionKey", given["partitionKey"], accepted, hint)


def _refuse(given: Mapping[str, Any], keys: frozenset[str], accepted: str, report: Report) -> None:
    for key in sorted(keys & given.keys()):
        report.add(key, given[key], accepted, "delete it")
