"""Celery's own form of an entry: `task` and `schedule`, as `beat_schedule` has always had it.

Source: section 1 of the contract; `celery.beat.ScheduleEntry`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.keys import Report, read_keys
from tsumugi_celery.core.options import REFUSED_KEYS, JobOptions, merge_options, read_job_options
from tsumugi_celery.definitions.bindings import check_backoff
from tsumugi_celery.definitions.celery_when import read_celery_when
from tsumugi_celery.definitions.forms import (
    CELERY,
    CELERY_IGNORED,
    CELERY_KEYS,
    CELERY_REFUSED,
)
from tsumugi_celery.definitions.model import Binding, Definition
from tsumugi_celery.definitions.payload import Payload
from tsumugi_celery.definitions.routing import read_routing
from tsumugi_celery.definitions.static import copied
from tsumugi_celery.definitions.targets import read_task

if TYPE_CHECKING:
    from tsumugi_celery.definitions.context import Context


def read_celery_form(
    name: str, entry: Mapping[Any, Any], context: Context, report: Report
) -> Definition | None:
    """Return the definition; None, with all its problems reported, if it is wrong."""
    before = len(report.problems)
    kept = {key: entry[key] for key in entry if key not in CELERY_IGNORED}
    given = read_keys(kept, CELERY_KEYS, report, {**REFUSED_KEYS, **CELERY_REFUSED})
    when = read_celery_when(given, context.app, report)
    overlap = context.read_overlap(given, report)
    task = _read_task(given, report)
    own = read_job_options(given, report)
    check_backoff(given, own, JobOptions(), report)
    if "partitionKey" in given:
        hint = "use binding and payload with a binding that has shards"
        report.add("partitionKey", given["partitionKey"], "no partitionKey in Celery's form", hint)
    routing = read_routing(given.get("options"), given, report, celery_form=True)
    payload = _read_payload(given, context, task, routing, report)
    if when is None or task is None or payload is None or len(report.problems) > before:
        return None
    return Definition(
        name=name,
        form=CELERY,
        kind="job",
        target=task,
        when=when,
        overlap=overlap,
        payload=payload,
        task=task,
        options=merge_options(JobOptions(), own, routing),
        binding=Binding(name=task, task=task, declared=False),
    )


def _read_task(given: Mapping[str, Any], report: Report) -> str | None:
    if given.get("task") is None:
        report.say("task", "nothing", "a task's name", "an entry of Celery's form needs it")
        return None
    return read_task(given["task"], "task", report)


def _read_payload(
    given: Mapping[str, Any],
    context: Context,
    task: str | None,
    routing: Mapping[str, Any],
    report: Report,
) -> Payload | None:
    args, kwargs = given.get("args"), given.get("kwargs")
    args = () if args is None else args
    kwargs = {} if kwargs is None else kwargs
    before = len(report.problems)
    if not isinstance(args, Sequence) or isinstance(args, (str, bytes, bytearray)):
        report.add("args", args, "a list or tuple", "one argument alone is written (value,)")
    if not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs):
        report.add("kwargs", kwargs, "a dict with text as keys")
    if len(report.problems) > before:
        return None
    fine, args = copied(tuple(args), "args", report)
    right, kwargs = copied(dict(kwargs), "kwargs", report)
    if not (fine and right):
        return None
    payload = Payload(args, kwargs)
    key = "kwargs" if kwargs and not args else "args"
    context.check_arguments(payload, key, report, task, routing)
    return payload
