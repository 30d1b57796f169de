"""What the service answers: frozen values that read as attributes and as mappings (decision 0050).

All times are epoch milliseconds; absent is None. `to_dict()` holds nothing but what JSON knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any


class View(Mapping[str, Any]):
    """The base of all answers: `view.name` and `view["name"]` are the same."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        if key not in self._names():
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values all the way down, ready for JSON."""
        return {name: _plain(getattr(self, name)) for name in self._names()}

    def _names(self) -> tuple[str, ...]:
        return tuple(each.name for each in fields(self))  # type: ignore[arg-type] # all are dataclasses


def _plain(value: Any) -> Any:
    if isinstance(value, View):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


@dataclass(frozen=True, slots=True)
class Outcome(View):
    """One of the last occurrences of a schedule, for a strip of them.

    Attributes:
        id: of the occurrence; None for times that were not executed and have no row of their own.
        scheduled_at: the scheduled time; the first one of a stretch.
        count: how many scheduled times this stands for.
        state: its state.
        cause: why it was not executed.
    """

    id: str | None
    scheduled_at: int
    count: int
    state: str
    cause: str | None


@dataclass(frozen=True, slots=True)
class ScheduleView(View):
    """A listed schedule (section 7 of the contract).

    Attributes:
        name: the name.
        kind: 'job' or 'flow'.
        target: the binding or flow as written.
        every_ms: the interval, ms; None for all but intervals.
        cron: the five fields; None for all but cron.
        time_zone: the zone its times are read in; None for an interval.
        overlap: 'skip' or 'overlap'.
        paused: whether it is paused.
        paused_at: since when.
        next_run_at: the next scheduled time; while paused it is not executed.
        last_run_at: the scheduled time of the last execution.
        last_fired_at: when that was really enqueued.
        last_job_id: the last job.
        last_run_id: the last Run.
        last_skipped_at: the last scheduled time that was not executed.
        skipped_count: how many were not executed in all.
        not_executed: the same by cause: overlap, delay, pause, failure.
        last_error: why the last one could not be enqueued; None after the next success.
        last_error_at: when that was.
        form: 'tsumugi' or 'celery'.
        schedule_text: the times in words.
        next_run_local: `next_run_at` on the wall clock of its zone (UTC for an interval), ISO 8601.
        utc_offset: the offset at `next_run_at`, such as 'GMT+09:00'.
        last_state: the state of the last execution.
        unfinished: how many of its executions are unfinished.
        registered_at: when it was registered; None before a beat has seen it.
        defined_here: whether the code of this process defines it, so that it can be triggered here.
        recent: the last occurrences, newest first, where they were asked for.
    """

    name: str
    kind: str
    target: str
    every_ms: int | None
    cron: str | None
    time_zone: str | None
    overlap: str
    paused: bool = False
    paused_at: int | None = None
    next_run_at: int | None = None
    last_run_at: int | None = None
    last_fired_at: int | None = None
    last_job_id: str | None = None
    last_run_id: str | None = None
    last_skipped_at: int | None = None
    skipped_count: int = 0
    not_executed: Mapping[str, int] = field(
        default_factory=lambda: {"overlap": 0, "delay": 0, "pause": 0, "failure": 0}
    )
    last_error: str | None = None
    last_error_at: int | None = None
    form: str = "tsumugi"
    schedule_text: str = ""
    next_run_local: str | None = None
    utc_offset: str | None = None
    last_state: str | None = None
    unfinished: int = 0
    registered_at: int | None = None
    defined_here: bool = False
    recent: tuple[Outcome, ...] = ()


@dataclass(frozen=True, slots=True)
class SchedulePage(View):
    """A part of the list.

    Attributes:
        schedules: ordered by name.
        total: how many match in all.
        limit: how many were asked for; None for all.
        offset: how many were left out before them.
    """

    schedules: tuple[ScheduleView, ...]
    total: int
    limit: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class AttemptView(View):
    """One attempt of a job.

    Attributes:
        attempt: its number, from 1.
        state: RUNNING, or how it ended.
        started_at: when it started.
        ended_at: when it ended.
        worker: where it ran, as far as it is known.
        error: why it failed.
    """

    attempt: int
    state: str
    started_at: int | None
    ended_at: int | None
    worker: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class OccurrenceView(View):
    """A scheduled time and what became of it, or a stretch of times that were not executed.

    Attributes:
        id: the Celery task id of a job, the root id of a Run; None for a stretch.
        schedule: the name of its schedule.
        scheduled_at: the scheduled time; the first one of a stretch; of a manual one its moment.
        last_at: the last time of a stretch; otherwise the same as `scheduled_at`.
        count: how many scheduled times this stands for.
        manual: whether it was triggered.
        state: a state of section 4, CLAIMED before it is sent, or NOT_EXECUTED.
        cause: why it was not executed: overlap, delay, pause, failure.
        error: the reason of a failure, or of the last attempt's.
        kind: 'job' or 'flow'.
        target: the binding or flow as written.
        task: the Celery task's name.
        binding: what a job is counted and paused under.
        queue: where it was sent.
        wait: why a SCHEDULED one waits: slot, binding, retry, broker.
        due_at: until when.
        attempt: the attempt that started last; 0 before the first.
        max_attempts: attempts in all.
        fired_at: when it was enqueued.
        started_at: when the last attempt started.
        ended_at: when it ended.
        expires_at: when it would expire.
        worker: where the last attempt ran.
        untracked: whether no report can be hoped for.
        attempts: all attempts, where one occurrence was asked for.
        payload: the arguments as text, where they were asked for.
    """

    id: str | None
    schedule: str
    scheduled_at: int
    last_at: int
    count: int
    manual: bool
    state: str
    cause: str | None
    error: str | None = None
    kind: str | None = None
    target: str | None = None
    task: str | None = None
    binding: str | None = None
    queue: str | None = None
    wait: str | None = None
    due_at: int | None = None
    attempt: int = 0
    max_attempts: int | None = None
    fired_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None
    expires_at: int | None = None
    worker: str | None = None
    untracked: bool = False
    attempts: tuple[AttemptView, ...] = ()
    payload: str | None = None


@dataclass(frozen=True, slots=True)
class OccurrencePage(View):
    """A part of a history.

    Attributes:
        occurrences: newest first.
        next: give it as `cursor` for what comes after; None at the end.
    """

    occurrences: tuple[OccurrenceView, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class BindingView(View):
    """A binding.

    Attributes:
        name: in `bindings`, or the Celery task's own name.
        task: the Celery task's name; None where this process does not define it.
        queue: where its jobs go; None leaves that to Celery's routing.
        shards: how many queues its jobs are spread over.
        per_key_concurrency: unfinished jobs let through for one `concurrencyKey`.
        concurrency: unfinished jobs let through in all; None for no limit.
        paused: whether its jobs are held back.
        paused_at: since when.
        waiting: jobs held back in the ledger.
        unfinished: jobs that have not ended, those that wait included.
    """

    name: str
    task: str | None
    queue: str | None
    shards: int
    per_key_concurrency: int
    concurrency: int | None
    paused: bool
    paused_at: int | None
    waiting: int
    unfinished: int


@dataclass(frozen=True, slots=True)
class ComingTime(View):
    """A time to come.

    Attributes:
        at: when; of a skipped one, when the clock jumps over it.
        local: the wall clock in the schedule's zone, ISO 8601; a skipped one has no offset.
        utc_offset: such as 'GMT+09:00'.
        status: 'runs'; 'skipped': no such local time; 'repeated': its second pass, silent.
    """

    at: int
    local: str
    utc_offset: str
    status: str


@dataclass(frozen=True, slots=True)
class Explanation(View):
    """What became of one time of a schedule, and why.

    Attributes:
        schedule: the name of the schedule.
        at: the time asked about.
        outcome: 'executed', 'manual', 'not_executed', 'pending', 'not_scheduled', 'unregistered',
            'coming', 'ended', 'unknown'.
        text: one sentence.
        state: of the execution.
        cause: why it was not executed.
        occurrence_id: of the execution.
    """

    schedule: str
    at: int
    outcome: str
    text: str
    state: str | None = None
    cause: str | None = None
    occurrence_id: str | None = None

    def __str__(self) -> str:
        return self.text
