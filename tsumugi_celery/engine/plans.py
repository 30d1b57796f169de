"""All schedules of a process, made ready, and the plans of jobs that were defined otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tsumugi_celery.engine.kept import definition_of
from tsumugi_celery.engine.plan import UNTIL, Plan, bounded, make_plan
from tsumugi_celery.engine.repeat_plans import RepeatPlans

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from celery import Celery
    from sqlalchemy import Row

    from tsumugi_celery.definitions.model import Binding, Definition
    from tsumugi_celery.engine.settings import Settings


class Plans(dict[str, Plan]):
    """Name of a schedule -> its plan.

    Args:
        app: the Celery app.
        settings: the settings.
        definitions: all schedules of this process, by name.
        repeats: what the repeats of each collection have in common, by its name.
        stopped: names of schedules that this process leaves to others; may grow.
    """

    def __init__(
        self,
        app: Celery,
        settings: Settings,
        definitions: Mapping[str, Definition],
        repeats: Mapping[str, Definition] | None = None,
        stopped: AbstractSet[str] = frozenset(),
    ) -> None:
        """Make every definition ready."""
        super().__init__(
            (name, make_plan(app, settings, each)) for name, each in definitions.items()
        )
        self._app = app
        self._settings = settings
        self.stopped = stopped
        self.repeats = RepeatPlans(app, settings, repeats or {})
        #: Limits in force, by name of the binding.
        self.bindings: dict[str, Binding] = {
            each.binding.name: each.binding
            for each in (*(repeats or {}).values(), *definitions.values())
            if each.binding is not None
        }

    def of(self, row: Row[Any]) -> Plan | None:
        """Return how an occurrence is sent, whatever has become of its schedule (decision 0062).

        Args:
            row: all columns of the occurrence, and the name of its schedule.

        Returns:
            The schedule's plan where it is defined as it was, else one made of the row. None where
            only a definition that this process does not have could make the arguments.
        """
        plan = self.get(row.name)
        until = json.loads(row.options or "{}").get(UNTIL)
        if plan is not None and as_it_was(plan, row):
            return bounded(plan, until)
        if row.kind == "job" and row.body is not None:
            return bounded(make_plan(self._app, self._settings, definition_of(row)), until)
        # A payload callable is code: the one that is defined now makes the arguments.
        return plan


def as_it_was(plan: Plan, row: Row[Any]) -> bool:
    """Return whether an occurrence was written down by the same definition."""
    kept: dict[str, Any] = json.loads(row.options or "{}")
    return bool(kept.get("fingerprint") == plan.definition.fingerprint)
