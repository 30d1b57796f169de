"""Types of definitions, for editors and type checkers; at run time they are plain dicts.

Source: sections 0, 1 and 4 of the contract. That exactly one of `everyMs` and `cron` is given, or
one spelling of a key, no type can say: `define_tsumugi` does.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypedDict

from tsumugi_celery.definitions.payload import OccurrenceInfo

__all__ = [
    "Backoff",
    "BindingDefinition",
    "CeleryDefinition",
    "FlowDefinition",
    "JobDefinition",
    "OccurrenceInfo",
    "Policy",
    "ScheduleDefinition",
    "Schedules",
    "TaskLike",
    "payload_for",
]

P = ParamSpec("P")

Overlap: TypeAlias = Literal["skip", "overlap"]
Guarantee: TypeAlias = Literal["at-least-once", "at-most-once"]
#: A value, or a function of the occurrence that returns it, or an awaitable of it.
Payload: TypeAlias = (
    Callable[[OccurrenceInfo], Any]
    | Callable[[OccurrenceInfo], Awaitable[Any]]
    | Mapping[str, Any]
    | Sequence[Any]
    | int
    | float
    | None
)


class TaskLike(Protocol[P]):
    """What a Celery task has, whatever types Celery itself is given."""

    name: str

    def run(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Do the task's work."""


class Backoff(TypedDict, total=False):
    """The wait between attempts; `kind` is always needed."""

    kind: Literal["exponential", "fixed"]
    baseMs: int
    base_ms: int
    factor: float
    maxMs: int
    max_ms: int
    delayMs: int
    delay_ms: int
    jitter: bool


class _JobOptions(TypedDict, total=False):
    maxAttempts: int
    max_attempts: int
    backoff: Backoff
    timeoutMs: int
    timeout_ms: int
    priority: int
    concurrencyKey: str
    concurrency_key: str
    guarantee: Guarantee
    expiresMs: int
    expires_ms: int
    options: Mapping[str, Any]


class _Shared(TypedDict, total=False):
    overlap: Overlap


class _When(_Shared, total=False):
    everyMs: int
    every_ms: int
    cron: str
    timeZone: str
    time_zone: str


class _JobKeys(_When, _JobOptions, total=False):
    partitionKey: str
    partition_key: str


class JobDefinition(_JobKeys):
    """A schedule that enqueues a job."""

    binding: str | TaskLike[...]
    payload: Payload


class _FlowKeys(_When, total=False):
    deadlineMs: int
    deadline_ms: int


class FlowDefinition(_FlowKeys):
    """A schedule that starts a Run."""

    flow: str
    input: Any


class _CeleryKeys(_Shared, _JobOptions, total=False):
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    relative: bool


class CeleryDefinition(_CeleryKeys):
    """A schedule in Celery's own form; `schedule` may be any of Celery's schedule objects."""

    task: str | TaskLike[...]
    schedule: float | timedelta | Any


class Policy(TypedDict, total=False):
    """How many jobs of a binding are let through."""

    perKeyConcurrency: int
    per_key_concurrency: int
    concurrency: int | None


class _BindingKeys(_JobOptions, total=False):
    queue: str
    shards: int
    policy: Policy


class BindingDefinition(_BindingKeys):
    """A name for a task, with where its jobs go and how many may run."""

    task: str | TaskLike[...]


ScheduleDefinition: TypeAlias = JobDefinition | FlowDefinition | CeleryDefinition
Schedules: TypeAlias = Mapping[str, ScheduleDefinition]


def payload_for(task: TaskLike[P], *args: P.args, **kwargs: P.kwargs) -> dict[str, Any] | list[Any]:
    """Return a payload for a task, checked against its signature as a call would be.

    Args:
        task: the task object.
        args: its positional arguments.
        kwargs: its keyword arguments.

    Raises:
        TypeError: they do not fit the task; or both kinds are given, and the positional ones
            have no names.
    """
    signature = inspect.signature(task.run)
    bound = signature.bind(*args, **kwargs)
    if not kwargs:
        return list(args)
    if not args:
        return dict(kwargs)
    bare = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}
    nameless = [name for name in bound.arguments if signature.parameters[name].kind in bare]
    if nameless:
        raise TypeError(
            f"{task.name} takes {', '.join(nameless)} by position only, and a payload is either "
            "positional or by name: give all by position"
        )
    named = {key: value for key, value in bound.arguments.items() if key not in _rest(signature)}
    return {**named, **{key: value for key, value in kwargs.items() if key not in named}}


def _rest(signature: inspect.Signature) -> set[str]:
    """Return the name of `**rest`, whose values `bind` puts into a dict of their own."""
    kind = inspect.Parameter.VAR_KEYWORD
    return {name for name, each in signature.parameters.items() if each.kind is kind}
