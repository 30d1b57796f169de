"""What a definition is once it has been read and found right."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.options import JobOptions
from tsumugi_celery.core.repeat import REPEAT_FORMS
from tsumugi_celery.definitions.fingerprint import fingerprint_of
from tsumugi_celery.definitions.payload import OccurrenceInfo, Payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from tsumugi_celery.core.timing import Timing
    from tsumugi_celery.definitions.when import When

__all__ = ["Binding", "Definition", "Definitions", "OccurrenceInfo", "Payload"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Binding:
    """Where jobs go and how many of them may run.

    Attributes:
        name: in `bindings`, or the Celery task's own name where none is declared.
        task: the Celery task's name.
        queue: where its jobs go; None leaves that to Celery's routing.
        shards: how many queues ``<queue>.<n>`` its jobs are spread over; 1 for no sharding.
        per_key_concurrency: unfinished jobs let through for one `concurrencyKey`.
        concurrency: unfinished jobs let through in all; None for no limit.
        options: defaults of its schedules' job options.
        declared: whether it stands in `bindings`.
    """

    name: str
    task: str
    queue: str | None = None
    shards: int = 1
    per_key_concurrency: int = 1
    concurrency: int | None = None
    options: JobOptions = field(default_factory=JobOptions)
    declared: bool = True


@dataclass(frozen=True)
class Definition:
    """One schedule as its code defines it.

    Attributes:
        name: the key in `schedules`.
        form: ``tsumugi``, ``celery`` (``task`` and ``schedule``), ``handler`` or ``repeat``.
        kind: ``job`` or ``flow``.
        target: the binding or flow as written; the task's name if a task object was given.
        when: the times.
        overlap: ``skip`` or ``overlap``.
        payload: the arguments of the task, or the input of the flow.
        task: the Celery task's name; None for a flow.
        options: of the job, the binding's defaults merged in.
        binding: of the job; None for a flow.
        flow: the builder of the Run; None for a job.
        deadline_ms: how long a Run may take.
        remote_tasks: names of tasks that a Run's canvas may have though this process does not
            know them: those that declared bindings name.
    """

    name: str
    form: str
    kind: str
    target: str
    when: When
    overlap: str
    payload: Payload
    task: str | None = None
    options: JobOptions = field(default_factory=JobOptions)
    binding: Binding | None = None
    flow: Callable[[Any], Any] | None = None
    deadline_ms: int | None = None
    remote_tasks: frozenset[str] = frozenset()

    @property
    def every_ms(self) -> int | None:
        """The interval in milliseconds; None for all but intervals."""
        return self.when.every_ms

    @property
    def cron(self) -> str | None:
        """The five fields as written under `cron`; None for all but Tsumugi-style cron."""
        return self.when.cron

    @property
    def time_zone(self) -> str | None:
        """The IANA zone the times are read in; None for intervals."""
        return self.when.zone_name

    @property
    def celery_schedule(self) -> object | None:
        """The Celery schedule object of a Celery-form entry that is not a plain interval."""
        return self.when.celery_schedule

    @property
    def schedule_text(self) -> str:
        """The times in words, for lists and logs."""
        return self.when.text

    @cached_property
    def timing_fingerprint(self) -> str:
        """Changes when the times change, and with nothing else; the same in every process."""
        return fingerprint_of(self.when.identity)

    @cached_property
    def fingerprint(self) -> str:
        """Changes when anything of the definition changes; the same in every process.

        Callables count by module and qualified name, not by their code.
        """
        return fingerprint_of(
            {
                "name": self.name,
                "form": self.form,
                "kind": self.kind,
                "target": self.target,
                "when": self.when.identity,
                "overlap": self.overlap,
                "payload": self.payload,
                "task": self.task,
                "options": self.options,
                "binding": self.binding,
                "flow": self.flow,
                "deadline": self.deadline_ms,
            }
        )

    def timing(self, first_ms: int) -> Timing:
        """Return the times of this schedule; `first_ms` is the first one of an interval."""
        return self.when.timing(first_ms)

    def first_after(self, ms: int) -> int:
        """Return the first time of an interval that is registered at `ms`, epoch ms.

        One with a phase of its own keeps to it; any other begins one interval later.
        """
        if self.when.phase_ms is not None and self.every_ms is not None:
            return ms + self.every_ms - (ms - self.when.phase_ms) % self.every_ms
        return ms + (self.every_ms or 0)

    @property
    def repeats(self) -> bool:
        """Whether the rules of section 6 are in force: a handler, or a repeat of the data."""
        return self.form in REPEAT_FORMS

    def occurrence(self, scheduled_at_ms: int, occurrence_id: str) -> OccurrenceInfo:
        """Return what a payload callable is told about the occurrence at `scheduled_at_ms`."""
        moment = _EPOCH + timedelta(milliseconds=scheduled_at_ms)
        return OccurrenceInfo(
            moment.astimezone(self.when.zone), scheduled_at_ms, self.name, occurrence_id
        )


@dataclass(frozen=True)
class Definitions:
    """All that was defined, by name."""

    schedules: dict[str, Definition]
    bindings: dict[str, Binding]
    flows: dict[str, Callable[[Any], Any]]
    #: What all repeats of a collection have in common; without their times and payloads.
    repeats: dict[str, Definition] = field(default_factory=dict)
