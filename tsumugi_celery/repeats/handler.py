"""Handlers: `@tsumugi.schedule(name, …)` makes a Celery task and its schedule of a function."""

from __future__ import annotations

import asyncio
import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from tsumugi_celery.core.errors import DefinitionError, Problem
from tsumugi_celery.core.wording import shown
from tsumugi_celery.definitions.targets import is_task
from tsumugi_celery.ledger import schedules
from tsumugi_celery.ledger.schema import occurrence
from tsumugi_celery.repeats.run import Run, run_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery, Task

    from tsumugi_celery.repeats.state import State

__all__ = ["Handler", "HandlerView", "Run"]


@dataclass(frozen=True)
class HandlerView:
    """What a handler's schedule is doing. Times are epoch ms; absent is None.

    Attributes:
        name: of the schedule.
        next_run_at: when it is due next.
        last_started_at: when its last run started.
        last_duration_ms: how long that took; None while it runs.
        last_state: what became of it.
        last_error: why it failed, or why it could not be enqueued.
        paused: whether it is.
        stopped: whether this process leaves it to others.
    """

    name: str
    next_run_at: int | None
    last_started_at: int | None
    last_duration_ms: int | None
    last_state: str | None
    last_error: str | None
    paused: bool
    stopped: bool


class Handler:
    """A function with a schedule of its own; calling it calls the function.

    Args:
        state: what is known of the app.
        name: of the schedule.
        function: the handler.
        task: the Celery task made of it.
    """

    def __init__(self, state: State, name: str, function: Callable[[Run], Any], task: Task) -> None:
        """Hold all of them; nothing is connected."""
        self._state = state
        self.name = name
        self.task = task
        functools.update_wrapper(self, function)

    def __call__(self, run: Run) -> Any:
        """Call the function itself: for tests of it."""
        return self.__wrapped__(run)  # type: ignore[attr-defined]

    def stop(self) -> None:
        """Leave the schedule to other processes: this one starts no run of it any more."""
        self._state.stopped.add(self.name)

    def get(self) -> HandlerView:
        """Return what the schedule is doing.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        self._state.ledger.open()
        with self._state.ledger.read() as connection:
            row = schedules.find(connection, self._state.namespace, self.name)
            query = select(occurrence).where(occurrence.c.schedule_id == (row.id if row else None))
            query = query.where(occurrence.c.started_at.is_not(None))
            latest = query.order_by(occurrence.c.scheduled_at.desc()).limit(1)
            last: Any = connection.execute(latest).one_or_none()
        ended = last is not None and last.ended_at is not None
        return HandlerView(
            name=self.name,
            next_run_at=row.next_at if row else None,
            last_started_at=last.started_at if last is not None else None,
            last_duration_ms=last.ended_at - last.started_at if ended else None,
            last_state=last.state if last is not None else None,
            last_error=(row.last_error if row else None) or (last.error if last else None),
            paused=bool(row and row.paused),
            stopped=self.name in self._state.stopped,
        )


def make_task(
    app: Celery, state: State, name: str, function: Callable[[Run], Any], time_zone: str | None
) -> Task:
    """Return a Celery task that calls a handler with its run.

    It has the name that `@app.task` would give the function.

    Args:
        app: the Celery app.
        state: what is known of it.
        name: of the schedule.
        function: the handler; `async def` is run on an event loop of its own.
        time_zone: of the schedule.

    Raises:
        DefinitionError: the handler is no function of one argument.
    """
    hint = _misfit(function)
    if hint:
        accepted = "a function of one argument, the run"
        problem = Problem(f"schedule {name!r}", "handler", shown(function), accepted, hint)
        raise DefinitionError([problem])

    def call(task: Task) -> Any:
        made = function(run_of(task, name, time_zone, state.clock.now()))
        return asyncio.run(_wait_for(made)) if inspect.isawaitable(made) else made

    functools.update_wrapper(call, function)
    # The signature is the task's own, not that of the function behind it.
    del call.__wrapped__  # type: ignore[attr-defined]
    call.__annotations__ = {}
    task_name = app.gen_task_name(function.__name__, function.__module__)
    # A module that is imported again brings a new function for the same task.
    app._tasks.pop(task_name, None)  # noqa: SLF001 - `app.tasks` would finalize the app
    return app.task(name=task_name, bind=True, shared=False)(call)


def _misfit(function: Any) -> str:
    if is_task(function):
        return "it is a Celery task; put @tsumugi.schedule on the function itself"
    if not inspect.isfunction(function):
        return "decorate a function"
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        return str(error)
    return ""


async def _wait_for(made: Any) -> Any:
    return await made
