"""The states of an occurrence and the moves between them.

Source: section 4 of the contract, and the steps of the protocol. One table: the ledger's
compare-and-set statements name their old states from it, and a test lists the pairs by hand.
"""

from __future__ import annotations

CLAIMED = "CLAIMED"
SCHEDULED = "SCHEDULED"
QUEUED = "QUEUED"
RUNNING = "RUNNING"
COMPLETED = "COMPLETED"
FAILED = "FAILED"
CANCELLED = "CANCELLED"
STALLED = "STALLED"
NOT_EXECUTED = "NOT_EXECUTED"

#: CLAIMED: a beat has taken the time and has not sent its message yet.
UNFINISHED = (CLAIMED, SCHEDULED, QUEUED, RUNNING)
FINISHED = (COMPLETED, FAILED, CANCELLED, STALLED, NOT_EXECUTED)
STATES = UNFINISHED + FINISHED

#: old state -> the states it may become.
MOVES: dict[str, tuple[str, ...]] = {
    CLAIMED: (SCHEDULED, QUEUED, RUNNING, FAILED, CANCELLED, NOT_EXECUTED),
    SCHEDULED: (CLAIMED, QUEUED, RUNNING, FAILED, CANCELLED),
    QUEUED: (CLAIMED, SCHEDULED, RUNNING, COMPLETED, FAILED, CANCELLED, STALLED),
    RUNNING: (SCHEDULED, QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED, STALLED),
    COMPLETED: (),
    FAILED: (),
    CANCELLED: (),
    STALLED: (),
    NOT_EXECUTED: (),
}

#: Why an occurrence was not executed.
OVERLAP = "overlap"
DELAY = "delay"
PAUSE = "pause"
FAILURE = "failure"
CAUSES = (OVERLAP, DELAY, PAUSE, FAILURE)


def sources(state: str) -> tuple[str, ...]:
    """Return the states from which `state` may be reached."""
    return tuple(old for old, new in MOVES.items() if state in new)
