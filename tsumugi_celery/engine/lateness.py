"""Lateness: how long after its time each occurrence was sent, as a histogram."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tsumugi_celery.ledger.lateness import BEYOND, BOUNDS

if TYPE_CHECKING:
    from tsumugi_celery.engine.dispatch import Outcome


class Lateness:
    """Counts by bucket, in memory until a chore adds them to the ledger.

    A beat that is killed takes the counts of its last seconds with it: a histogram is no promise.
    """

    def __init__(self) -> None:
        """Start with nothing counted."""
        self._counts: dict[int, tuple[int, int]] = {}

    @property
    def counts(self) -> Mapping[int, tuple[int, int]]:
        """Upper bound of the bucket, ms -> how many, and their lateness in all, ms."""
        return self._counts

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Count what was sent."""
        for each in outcomes:
            if each.error is None:
                late = max(0, each.at - each.claim.scheduled_at)
                index = bisect_left(BOUNDS, late)
                bound = BOUNDS[index] if index < len(BOUNDS) else BEYOND
                count, total = self._counts.get(bound, (0, 0))
                self._counts[bound] = (count + 1, total + late)

    def forget(self) -> None:
        """Begin anew, once the ledger has the counts."""
        self._counts = {}
