"""The handle that `define_tsumugi` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsumugi_celery.app import AppState, is_defined, set_state
from tsumugi_celery.core.errors import DefinitionError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celery import Celery


class Tsumugi:
    """The schedules of one Celery app.

    Args:
        state: what was defined for the app.
    """

    def __init__(self, state: AppState) -> None:
        """Hold the state; nothing is connected."""
        self._state = state

    @property
    def app(self) -> Celery:
        """The Celery app."""
        return self._state.app

    def check(self) -> None:
        """Check all definitions in full, with the tasks imported; nothing is started or connected.

        Raises:
            DefinitionError: naming every problem.
        """
        self._state.check()


def define_tsumugi(
    app: Celery,
    *,
    schedules: Mapping[str, Any] | None = None,
    bindings: Mapping[str, Any] | None = None,
    flows: Mapping[str, Callable[[Any], Any]] | None = None,
    database_url: str | None = None,
) -> Tsumugi:
    """Define the schedules of an app; those in its `beat_schedule` count too.

    What needs the task registry is checked for the tasks registered by now, and in full by
    `Tsumugi.check()`, by `celery tsumugi check`, and when beat starts.

    Args:
        app: the Celery app.
        schedules: name -> definition, Tsumugi-style or in Celery's own form.
        bindings: name -> task, queue, shards, policy and default job options.
        flows: name -> function that builds a canvas from its input.
        database_url: where the ledger is kept; in place of the setting `tsumugi_database_url`.

    Raises:
        DefinitionError: naming every problem of every definition.
        LedgerError: the database URL cannot be read.
    """
    if is_defined(app):
        problem = Problem(
            "define_tsumugi",
            "app",
            "an app that is defined already",
            "one call for each app",
            "join the two calls",
        )
        raise DefinitionError([problem])
    state = AppState(app, schedules, bindings, flows, database_url)
    state.read()
    _ = state.settings, state.namespace, state.ledger
    set_state(app, state)
    return Tsumugi(state)
