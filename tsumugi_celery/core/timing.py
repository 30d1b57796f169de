"""What decides when a schedule runs. All times are epoch milliseconds."""

from __future__ import annotations

from typing import Protocol

from tsumugi_celery.core.interval import Interval
from tsumugi_celery.core.stretch import Stretch
from tsumugi_celery.core.wall_clock import LocalTime, Rule, WallClock, wall_clock

__all__ = ["Interval", "LocalTime", "Rule", "Stretch", "Timing", "WallClock", "wall_clock"]


class Timing(Protocol):
    """What decides when a schedule runs."""

    def next_after(self, ms: int) -> int | None:
        """Return the first scheduled time strictly later than `ms`; None when nothing follows."""

    def stretch(self, after_ms: int, until_ms: int) -> Stretch | None:
        """Return all scheduled times in ``(after_ms, until_ms]``; None when there are none."""
