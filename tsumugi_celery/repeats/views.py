"""What is told of one repeat."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.repeat import HELD

if TYPE_CHECKING:
    from sqlalchemy import Row


@dataclass(frozen=True)
class RepeatView:
    """One repeat as the ledger has it. All times are epoch ms; absent is None.

    Attributes:
        id: its id.
        payload: what its runs are called with.
        every_ms: its interval.
        cron: its five fields; an alias is shown as the fields it stands for.
        time_zone: of cron.
        paused: whether it is.
        paused_at: since when.
        next_run_at: the next time; None while it is paused, or waits for its run to end.
        waits_for_run: whether its next time came while a run was unfinished.
        last_run_at: the scheduled time of the last run.
        last_fired_at: when that was enqueued.
        last_job_id: its id, for `Tsumugi.occurrence`.
        failures: how many runs could not be enqueued.
        last_error: why the last one could not be, until the next success.
        last_error_at: when.
        set_at: when its times were set.
    """

    id: str
    payload: Any
    every_ms: int | None
    cron: str | None
    time_zone: str | None
    paused: bool
    paused_at: int | None
    next_run_at: int | None
    waits_for_run: bool
    last_run_at: int | None
    last_fired_at: int | None
    last_job_id: str | None
    failures: int
    last_error: str | None
    last_error_at: int | None
    set_at: int

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def view_of(row: Row[Any]) -> RepeatView:
    """Return the repeat of a row."""
    held = row.next_at == HELD
    return RepeatView(
        id=row.name,
        payload=json.loads(row.payload),
        every_ms=row.every_ms,
        cron=row.cron,
        time_zone=row.time_zone,
        paused=row.paused,
        paused_at=row.paused_at,
        next_run_at=None if held else row.next_at,
        waits_for_run=held,
        last_run_at=row.last_run_at,
        last_fired_at=row.last_fired_at,
        last_job_id=row.last_job_id,
        failures=row.n_failure,
        last_error=row.last_error,
        last_error_at=row.last_error_at,
        set_at=row.registered_at,
    )
