"""What the guard, the retries and the tracker know of the attempt that runs here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsumugi_celery.app import AppState

#: Where the note is kept: an attribute of Celery's request.
NOTE = "_tsumugi_note"


@dataclass(slots=True)
class Note:
    """One attempt of one job.

    Attributes:
        state: of its app.
        occurrence_id: its id.
        attempt: its number, from 1.
        started_at: epoch ms.
        header: the message's header of ours.
        failed_at: when `task.retry` was called, epoch ms: the next attempt may start at once.
        inside: whether the task's function is being called already.
        resend_at: when the ledger is to send the next attempt, epoch ms; None where Celery has it.
        error: why this attempt failed, where the ledger sends the next one.
    """

    state: AppState
    occurrence_id: str
    attempt: int
    started_at: int
    header: Mapping[str, Any]
    failed_at: int | None = None
    inside: bool = False
    resend_at: int | None = None
    error: BaseException | None = None

    @property
    def here(self) -> bool:
        """Whether it runs in the process that claimed it, without a broker (`run_due`)."""
        return bool(self.header.get("here"))

    @property
    def until(self) -> int | None:
        """No attempt starts from here on, epoch ms: the next time of a repeat or handler."""
        until = self.header.get("until")
        return None if until is None else int(until)

    @property
    def max_attempts(self) -> int | None:
        """The schedule's `maxAttempts`; None where the task's own retry settings are in force."""
        most = self.header.get("max_attempts")
        return None if most is None else int(most)

    @property
    def max_retries(self) -> int | None:
        """The same as Celery counts it: retries of this message, earlier ones not included."""
        most = self.max_attempts
        return None if most is None else most - 1 - int(self.header.get("base") or 0)


def note_of(request: Any) -> Note | None:
    """Return the note of a request; None for a task that is not ours."""
    note: Note | None = request.get(NOTE)
    return note
