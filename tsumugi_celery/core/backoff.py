"""How long a failed job waits for its next attempt (section 4 of the contract)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KINDS = ("exponential", "fixed")


@dataclass(frozen=True, slots=True)
class Backoff:
    """A wait for each attempt; the defaults are those of ``maxAttempts`` alone.

    Attributes:
        kind: ``"exponential"``, or ``"fixed"``: always `base_ms`.
        base_ms: The wait after the first attempt, in ms.
        factor: What each further wait is multiplied with, at least 1.
        max_ms: The longest wait, in ms.
        jitter: Whether half of the wait is left to chance, so that jobs that failed together
            do not come back together.
    """

    kind: Literal["exponential", "fixed"] = "exponential"
    base_ms: int = 1000
    factor: float = 2
    max_ms: int = 3_600_000
    jitter: bool = True

    @classmethod
    def fixed(cls, delay_ms: int, *, jitter: bool = True) -> Backoff:
        """Return a backoff that always waits `delay_ms`."""
        return cls("fixed", base_ms=delay_ms, factor=1, max_ms=delay_ms, jitter=jitter)

    def delay_ms(self, attempt: int, chance: float) -> int:
        """Return the wait after an attempt that failed.

        Args:
            attempt: The number of that attempt, counted from 1.
            chance: A random number in ``[0, 1)``; without jitter it has no effect.

        Returns:
            Milliseconds.
        """
        full = self._full_ms(attempt)
        return int(full / 2 + full / 2 * chance) if self.jitter else full

    def _full_ms(self, attempt: int) -> int:
        try:
            # A float gives up early where an int would grow to millions of digits.
            grown = self.base_ms * float(self.factor) ** (attempt - 1)
        except OverflowError:
            return self.max_ms
        return int(min(grown, self.max_ms))
