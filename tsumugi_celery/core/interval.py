"""Every so often from a first time on (section 2 of the contract, everyMs)."""

from __future__ import annotations

from dataclasses import dataclass

from tsumugi_celery.core.shifts import LAST_MS
from tsumugi_celery.core.stretch import Stretch


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so often, for ever, from a first time on.

    Attributes:
        first_ms: The first scheduled time, epoch ms.
        every_ms: The interval, at least 1 ms. (Definitions ask for 1000; Celery's form may not.)
    """

    first_ms: int
    every_ms: int

    def next_after(self, ms: int) -> int | None:
        """Return the first time strictly later than `ms`; None after the year 9999."""
        passed = max(0, (ms - self.first_ms) // self.every_ms + 1)
        found = self.first_ms + passed * self.every_ms
        return found if found < LAST_MS else None

    def stretch(self, after_ms: int, until_ms: int) -> Stretch | None:
        """Return all times in ``(after_ms, until_ms]``."""
        first = self.next_after(after_ms)
        until = min(until_ms, LAST_MS - 1)
        if first is None or first > until:
            return None
        steps = (until - first) // self.every_ms
        return Stretch(steps + 1, first, first + steps * self.every_ms)
