"""The one clock of the package; everything below gets the time as an argument."""

from __future__ import annotations

import time


class Clock:
    """The machine's clock. Tests put another one in its place."""

    def now(self) -> int:
        """Return the present as epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds that only ever grow, also when the clock is set."""
        return time.monotonic()
