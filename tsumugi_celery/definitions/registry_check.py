"""The full check against the task registry, once all modules are imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.keys import Report
from tsumugi_celery.definitions.context import Context

if TYPE_CHECKING:
    from tsumugi_celery.core.errors import Problem
    from tsumugi_celery.definitions.model import Definition, Definitions


def check_registry(app: Any, definitions: Definitions) -> list[Problem]:
    """Return the problems that only the complete task registry shows.

    Unknown tasks, static values that do not fit their task's signature, and values that the
    app's serializer cannot write. A binding that is declared need not be registered here. Nor
    need the task of a Celery-form entry: Celery sends it by name, and so it stays.

    Args:
        app: the Celery app; it is finalized and its settings are loaded.
        definitions: from `read_definitions`.
    """
    problems: list[Problem] = []
    app.loader.import_default_modules()
    app.finalize(auto=True)
    context = Context(app, definitions.bindings, definitions.flows, "skip", complete=True)
    for definition in definitions.schedules.values():
        if definition.kind == "job":
            _check_job(definition, context, Report(f"schedule {definition.name!r}", problems))
        else:
            report = Report(f"schedule {definition.name!r}", problems)
            context.check_arguments(definition.payload, "input", report)
    for definition in definitions.repeats.values():
        _check_task(definition, context, Report(f"repeats {definition.name!r}", problems))
    return problems


def _check_job(definition: Definition, context: Context, report: Report) -> None:
    ours = definition.form != "celery"
    payload, task = definition.payload, definition.task
    key = "payload" if ours else "kwargs" if payload.kwargs and not payload.args else "args"
    context.check_arguments(payload, key, report, task, definition.options.celery)
    if ours:
        _check_task(definition, context, report)


def _check_task(definition: Definition, context: Context, report: Report) -> None:
    task, binding = definition.task, definition.binding
    declared = binding is not None and binding.declared
    if not declared and task is not None:
        context.check_registered(task, definition.target, report)
