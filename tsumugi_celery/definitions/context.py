"""What the reading of one definition needs to know besides the definition itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.keys import guess
from tsumugi_celery.definitions.static import serialization_problem
from tsumugi_celery.definitions.tasks import find_task, misfit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tsumugi_celery.core.keys import Report
    from tsumugi_celery.definitions.model import Binding
    from tsumugi_celery.definitions.payload import Payload

OVERLAPS = ("skip", "overlap")


@dataclass(frozen=True)
class Context:
    """The app and the registries a definition may refer to.

    Attributes:
        app: the Celery app.
        bindings: the declared ones.
        flows: the declared ones.
        default_overlap: for definitions without `overlap`.
        complete: whether all tasks are registered by now, so that a name without one is wrong.
    """

    app: Any
    bindings: Mapping[str, Binding]
    flows: Mapping[str, Callable[[Any], Any]]
    default_overlap: str
    complete: bool = False

    def check_registered(self, task: str, written: object, report: Report) -> None:
        """Report a task that is not registered, once all are."""
        if self.complete and find_task(self.app, task) is None:
            users = (name for name in self.app.tasks if not name.startswith("celery."))
            accepted = "a name in bindings, or a registered task"
            hint = guess(task, [*self.bindings, *users])
            report.add(
                "binding", written, accepted, hint or "declare it in bindings if it runs elsewhere"
            )

    def read_overlap(self, given: Mapping[str, Any], report: Report) -> str:
        """Return the overlap rule of a definition; problems go to `report`."""
        overlap = given.get("overlap", self.default_overlap)
        if overlap not in OVERLAPS:
            report.add("overlap", overlap, "'skip' or 'overlap'")
        return str(overlap)

    def check_arguments(
        self,
        payload: Payload,
        key: str,
        report: Report,
        task: str | None = None,
        routing: Mapping[str, Any] | None = None,
    ) -> None:
        """Report static arguments that cannot be sent, or do not fit their task.

        Args:
            payload: the arguments.
            key: where they were given.
            report: where problems go.
            task: its name; the fit is checked if it is registered by now.
            routing: the Celery options, which may name a serializer.
        """
        if payload.source is not None:
            return
        found = find_task(self.app, task) if task else None
        own = found.serializer if found else None
        serializer = (routing or {}).get("serializer", own)
        failure = serialization_problem(payload, serializer, self.app)
        if failure is not None:
            report.add(key, _value(payload), "a value that can be sent", failure)
        failure = misfit(found, payload) if found else None
        if failure is not None:
            report.add(key, _value(payload), f"arguments that fit {task}", failure)


def _value(payload: Payload) -> Any:
    if payload.whole:
        return payload.args[0]
    if payload.args and payload.kwargs:
        return (payload.args, payload.kwargs)
    return payload.kwargs or payload.args
