"""Rounds: what a beat does at intervals; what is due at about the same time is done together."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

log = logging.getLogger(__name__)


class Rounds:
    """Calls each chore at an interval of its own.

    Args:
        every: seconds, and what is called then.
        monotonic: a clock in seconds.
    """

    def __init__(
        self, every: Sequence[tuple[float, Callable[[], None]]], monotonic: Callable[[], float]
    ) -> None:
        """Plan every chore for the first round."""
        self._every = every
        self._next = [0.0] * len(every)
        self._monotonic = monotonic

    def next_in(self) -> float:
        """Return in how many seconds the next round is due."""
        return max(0.0, min(self._next) - self._monotonic())

    def rest(self) -> None:
        """Plan no further round."""
        self._next = [float("inf")] * len(self._every)

    def run(self) -> None:
        """Call the chores whose time has come.

        Raises:
            SQLAlchemyError: the ledger is away; the chore that met it is called again next time.
        """
        for chore in self._due():
            try:
                chore()
            except SQLAlchemyError:
                raise
            except Exception:
                # One row that a chore cannot deal with must not end beat, nor the other chores.
                log.exception("A chore failed", extra={"action": "chore.failed"})

    def _due(self) -> Iterator[Callable[[], None]]:
        # One time for all, so that those of one interval come together again.
        now = self._monotonic()
        for index, (interval, chore) in enumerate(self._every):
            if now >= self._next[index]:
                yield chore
                self._next[index] = now + interval
