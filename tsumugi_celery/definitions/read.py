"""From the mappings a person wrote to `Definitions`, or to all their problems at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tsumugi_celery.core.errors import DefinitionError, Problem
from tsumugi_celery.core.keys import Report, read_keys
from tsumugi_celery.core.options import REFUSED_KEYS, read_job_options
from tsumugi_celery.definitions.bindings import check_name, read_bindings
from tsumugi_celery.definitions.celery_form import read_celery_form
from tsumugi_celery.definitions.context import OVERLAPS, Context
from tsumugi_celery.definitions.forms import CELERY, CELERY_KEYS, TSUMUGI_KEYS, as_mapping, form_of
from tsumugi_celery.definitions.model import Binding, Definition, Definitions
from tsumugi_celery.definitions.registry_check import check_registry
from tsumugi_celery.definitions.repeat_form import (
    HandlerEntry,
    RepeatsEntry,
    read_handler,
    read_repeats,
)
from tsumugi_celery.definitions.targets import read_callable
from tsumugi_celery.definitions.tsumugi_form import read_tsumugi_form

__all__ = ["Definitions", "check_registry", "read_definitions"]


def read_definitions(
    app: Any,
    schedules: Mapping[str, Any] | None,
    *,
    bindings: Mapping[str, Any] | None = None,
    flows: Mapping[str, Any] | None = None,
    repeats: Mapping[str, RepeatsEntry] | None = None,
    default_overlap: str = "skip",
    complete: bool = False,
) -> Definitions:
    """Read definitions of either form, with the bindings and flows they refer to.

    What the task registry must tell is checked for the tasks that are registered by now; see
    `check_registry`. The app is neither finalized nor, as a rule, configured by this: its
    settings are loaded only if a static value cannot be written as JSON, or a task object is
    given in place of its name.

    Args:
        app: the Celery app.
        schedules: name -> definition, as in `beat_schedule`.
        bindings: name -> binding, as in `tsumugi_bindings`.
        flows: name -> builder, as in `tsumugi_flows`.
        repeats: name -> collection, as given to `Tsumugi.repeats`.
        default_overlap: for definitions without `overlap`.
        complete: all tasks are registered by now, so that an unknown one is a problem.

    Raises:
        DefinitionError: with all problems of all definitions.
    """
    problems: list[Problem] = []
    if default_overlap not in OVERLAPS:
        report = Report("settings", problems)
        report.add("tsumugi_default_overlap", default_overlap, "'skip' or 'overlap'")
        default_overlap = "skip"
    read_bound = read_bindings(bindings, problems)
    read_flow = _read_flows(flows, read_bound, problems)
    context = Context(app, read_bound, read_flow, default_overlap, complete)
    read = _read_schedules(schedules, context, problems)
    read_repeat = {
        name: definition
        for name, entry in (repeats or {}).items()
        for definition in [
            read_repeats(name, entry, context, Report(f"repeats {name!r}", problems))
        ]
        if definition is not None
    }
    if problems:
        raise DefinitionError(problems)
    return Definitions(read, read_bound, read_flow, read_repeat)


def _read_schedules(
    raw: Mapping[str, Any] | None, context: Context, problems: list[Problem]
) -> dict[str, Definition]:
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        Report("schedules", problems).add("schedules", raw, "a dict of name to definition")
        return {}
    read = {}
    for name, entry in raw.items():
        definition = _read_schedule(name, entry, context, Report(f"schedule {name!r}", problems))
        if definition is not None:
            read[name] = definition
    return read


def _read_schedule(
    name: object, entry: object, context: Context, report: Report
) -> Definition | None:
    if not isinstance(name, str):
        report.add("name", name, "a text")
        name = str(name)
    if isinstance(entry, HandlerEntry):
        return read_handler(name, entry, report)
    mapping = as_mapping(entry)
    if mapping is None:
        accepted = "a dict: binding or flow with everyMs or cron; or task with schedule"
        report.add("definition", entry, accepted)
        return None
    form = form_of(mapping, report)
    if form is None:
        given = read_keys(mapping, TSUMUGI_KEYS | CELERY_KEYS, report, REFUSED_KEYS)
        context.read_overlap(given, report)
        read_job_options(given, report)
        return None
    reader = read_celery_form if form == CELERY else read_tsumugi_form
    return reader(name, mapping, context, report)


def _read_flows(
    raw: Mapping[str, Any] | None, bindings: Mapping[str, Binding], problems: list[Problem]
) -> dict[str, Callable[[Any], Any]]:
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        Report("flows", problems).add("flows", raw, "a dict of name to builder")
        return {}
    read = {}
    for name, build in raw.items():
        report = Report(f"flow {name!r}", problems)
        check_name(name, report)
        if name in bindings:
            report.say("name", f"{name!r}, also a binding", "a name of its own", "rename one")
        # Kept though wrong, so that its schedules are not told that it is unknown.
        read_callable(build, "build", report, "a Celery signature")
        read[str(name)] = build
    return read
