"""A wall clock that goes where the simulation moves it."""

from __future__ import annotations

from datetime import datetime

from tsumugi_celery.control.times import to_ms
from tsumugi_celery.engine.clock import Clock

Moment = datetime | str | int


class SimulatedClock(Clock):
    """Stands still until it is moved; only ever forward.

    The monotonic clock is the machine's: it bounds how long payload callables really take.

    Args:
        now: epoch ms.
    """

    def __init__(self, now: int) -> None:
        """Begin at a moment."""
        self._now = now

    def now(self) -> int:
        """Return the simulated present, epoch ms."""
        return self._now

    def to(self, moment: int) -> None:
        """Move on to a moment, epoch ms; one that has passed changes nothing."""
        self._now = max(self._now, moment)


def read_moment(moment: Moment) -> int:
    """Return epoch ms.

    Args:
        moment: an aware datetime, ISO 8601 with an offset or `Z`, or epoch ms.

    Raises:
        ValueError: anything else; a time without a zone is nobody's.
    """
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.replace("Z", "+00:00"))
        except ValueError:
            accepted = "ISO 8601 with an offset, such as '2026-12-01T09:00:00Z'"
            raise ValueError(f"{moment!r} is not a time; accepted: {accepted}") from None
    return to_ms(moment)
