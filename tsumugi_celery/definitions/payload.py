"""What a job or flow is called with: fixed, or made anew for each execution."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from celery.beat import BeatLazyFunc

from tsumugi_celery.core.wording import shown
from tsumugi_celery.definitions.snapshot import is_flat, snapshot

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True)
class OccurrenceInfo:
    """What a payload callable is told about the occurrence it is called for.

    Attributes:
        scheduled_at: the scheduled time, aware, in the schedule's zone (UTC for intervals).
        scheduled_at_ms: the same, epoch ms.
        name: of the schedule.
        occurrence_id: the task id of the job, or the root id of the Run.
    """

    scheduled_at: datetime
    scheduled_at_ms: int
    name: str
    occurrence_id: str


@dataclass(frozen=True)
class Payload:
    """The arguments of a schedule's task, or the input of its flow.

    Attributes:
        args: positional arguments; may contain Celery's lazy ones.
        kwargs: keyword arguments; the same.
        source: called for each execution in place of `args` and `kwargs`.
        whole: the value is one argument as it is: a flow's input is not spread.
    """

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    source: Callable[..., Any] | None = None
    whole: bool = False

    @property
    def static(self) -> bool:
        """Whether every execution gets the same, with no user code to run."""
        return self.source is None and not any(map(_is_lazy, self._values()))

    def call(self, occurrence: OccurrenceInfo) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of one execution; what is returned may be changed freely.

        User code may run here, for as long as it likes. An awaitable is awaited on an event
        loop of its own in the calling thread.

        Raises:
            Exception: whatever the callable or a lazy argument raises.
            TypeError: the callable returned a mapping whose keys are not all text.
        """
        if self.source is not None:
            made = self.source() if _is_lazy(self.source) else self.source(occurrence)
            if inspect.isawaitable(made):
                made = asyncio.run(_wait_for(made))
            return spread(made, whole=self.whole)
        if all(map(is_flat, self._values())):
            return self.args, dict(self.kwargs)
        return (
            tuple(map(_evaluated, self.args)),
            {key: _evaluated(value) for key, value in self.kwargs.items()},
        )

    def _values(self) -> tuple[Any, ...]:
        return (*self.args, *self.kwargs.values())


def spread(value: Any, *, whole: bool = False) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return `value` as arguments: a mapping by name, a list or tuple in order, else one alone.

    Raises:
        TypeError: a key of the mapping is not text.
    """
    if whole:
        return (value,), {}
    if isinstance(value, Mapping):
        odd = [key for key in value if not isinstance(key, str)]
        if odd:
            raise TypeError(
                f"the payload is a mapping and so becomes keyword arguments, but its key "
                f"{shown(odd[0])} is not text; wrap the mapping in a list to pass it as one "
                f"argument"
            )
        return (), dict(value)
    if isinstance(value, (list, tuple)):
        return tuple(value), {}
    return (value,), {}


def _is_lazy(value: object) -> bool:
    return isinstance(value, BeatLazyFunc)


def _evaluated(value: Any) -> Any:
    return value() if _is_lazy(value) else snapshot(value)


async def _wait_for(made: Awaitable[Any]) -> Any:
    return await made
