"""The words for what became of a time."""

from __future__ import annotations

from tsumugi_celery.core import states

STATES = {
    states.CLAIMED: "is being sent by a beat",
    states.SCHEDULED: "is waiting to run",
    states.QUEUED: "was sent and waits for a worker",
    states.RUNNING: "is running",
    states.COMPLETED: "was executed and completed",
    states.FAILED: "was executed and failed",
    states.CANCELLED: "was cancelled",
    states.STALLED: "was executed, and its worker vanished",
    states.NOT_EXECUTED: "was not executed",
}

CAUSES = {
    states.OVERLAP: "the previous execution was unfinished (overlap)",
    states.DELAY: "an older missed time ran in place of it (delay)",
    states.PAUSE: "the schedule was paused (pause)",
    states.FAILURE: "it could not be enqueued (failure)",
}
