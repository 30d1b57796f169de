"""Definitions under section 6 of the contract: collections of repeats, and handlers.

Both have a binding's job options, in either spelling. Neither has `overlap`, since it never
overlaps itself, nor a payload: that of a repeat is in its row, and a handler gets the run alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.keys import read_keys
from tsumugi_celery.core.options import (
    JOB_OPTION_KEYS,
    REFUSED_KEYS,
    JobOptions,
    merge_options,
    read_job_options,
)
from tsumugi_celery.core.repeat import HANDLER, REPEAT
from tsumugi_celery.definitions.bindings import check_backoff, check_shards
from tsumugi_celery.definitions.model import Binding, Definition, Payload
from tsumugi_celery.definitions.repeat_when import read_repeat_times
from tsumugi_celery.definitions.routing import read_routing
from tsumugi_celery.definitions.tsumugi_form import NAME, read_binding
from tsumugi_celery.definitions.when import Every

if TYPE_CHECKING:
    from tsumugi_celery.core.keys import Report
    from tsumugi_celery.definitions.context import Context

_KEYS = JOB_OPTION_KEYS | {"options"}
_REFUSED = {**REFUSED_KEYS, "overlap": "it never overlaps itself (section 6 of the contract)"}
#: Stands for the times of a collection, which are in its rows.
_IN_ROWS = Every(1000)


@dataclass(frozen=True)
class RepeatsEntry:
    """What `tsumugi.repeats(name, …)` was given."""

    binding: Any
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HandlerEntry:
    """What `@tsumugi.schedule(name, …)` was given.

    Attributes:
        function: the handler.
        task: the name of the Celery task that was made of it.
        every: how often, or None.
        cron: five fields or an alias, or None.
        time_zone: beside cron.
        options: job options.
    """

    function: Callable[..., Any]
    task: str
    every: Any = None
    cron: Any = None
    time_zone: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)


def read_repeats(
    name: str, entry: RepeatsEntry, context: Context, report: Report
) -> Definition | None:
    """Return what the repeats of a collection have in common; None if it is wrong.

    With `shards`, a repeat without `partitionKey` is its own partition: see `Plans`.
    """
    before = len(report.problems)
    _check_name(name, report)
    binding = read_binding(entry.binding, context, report)
    options = _read_options(entry.options, binding, report)
    if len(report.problems) > before:
        return None
    return Definition(
        name=name,
        form=REPEAT,
        kind="job",
        target=binding.name,
        when=_IN_ROWS,
        overlap="skip",
        payload=Payload(),
        task=binding.task,
        options=options,
        binding=binding,
    )


def read_handler(name: str, entry: HandlerEntry, report: Report) -> Definition | None:
    """Return the definition of a handler; None, with all its problems reported, if it is wrong."""
    before = len(report.problems)
    _check_name(name, report)
    times = read_repeat_times(entry.every, entry.cron, entry.time_zone, report)
    binding = Binding(name=entry.task, task=entry.task, declared=False)
    options = _read_options(entry.options, binding, report)
    if times is None or len(report.problems) > before:
        return None
    return Definition(
        name=name,
        form=HANDLER,
        kind="job",
        target=entry.task,
        when=times.of("", name),
        overlap="skip",
        payload=Payload(),
        task=entry.task,
        options=options,
        binding=binding,
    )


def _check_name(name: str, report: Report) -> None:
    if not NAME.fullmatch(name):
        report.add("name", name, "1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'")


def _read_options(raw: Mapping[str, Any], binding: Binding, report: Report) -> JobOptions:
    given = read_keys(raw, _KEYS, report, _REFUSED)
    own = read_job_options(given, report)
    check_backoff(given, own, binding.options, report)
    routing = {}
    if "options" in given:
        routing = read_routing(given["options"], given, report, celery_form=False)
        check_shards(routing, binding.shards, report)
    return merge_options(binding.options, own, routing)
