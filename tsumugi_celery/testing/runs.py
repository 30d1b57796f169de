"""What a simulation tells of one run, and the sender that takes the place of the broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tsumugi_celery.engine.message import Outgoing


@dataclass(frozen=True)
class SimulatedRun:
    """One run. Times are aware, in the zone of its schedule (UTC for an interval).

    Attributes:
        name: of the schedule, or the id of the repeat.
        scheduled_at: when it was due.
        started_at: when it really started: later, where beat was down or a slot was taken.
        ended_at: when it ended, after as long as `Simulation.takes` said.
        occurrence_id: its id.
    """

    name: str
    scheduled_at: datetime
    started_at: datetime
    ended_at: datetime
    occurrence_id: str


class SimulatedSender:
    """Takes every message; a worker is always there and starts at once.

    Args:
        taken: is told of each.
    """

    def __init__(self, taken: Callable[[Outgoing], None]) -> None:
        """Remember whom to tell."""
        self._taken = taken

    def send(self, messages: Sequence[Outgoing]) -> list[Exception | None]:
        """Take messages, in place of `engine.broker.Sender.send`."""
        for each in messages:
            self._taken(each)
        return [None] * len(messages)

    def close(self) -> None:
        """Close nothing."""
