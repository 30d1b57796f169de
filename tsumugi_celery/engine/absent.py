"""Absent: what should be here and is not, and for how long it has not been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

Key = TypeVar("Key")


class Absent(Generic[Key]):
    """Gives what is missing some time, since a report of it may be on its way.

    Args:
        patience: seconds that each is given.
    """

    def __init__(self, patience: float) -> None:
        """Start with nothing missed."""
        self._patience = patience
        self._since: dict[Key, float] = {}

    def overdue(self, missing: Iterable[Key], now: float) -> list[Key]:
        """Return what has been missing at every look for as long as it is given.

        Args:
            missing: all that is missing at this look; what is not among it is back.
            now: seconds of a monotonic clock.
        """
        self._since = {key: self._since.get(key, now) for key in missing}
        return [key for key, since in self._since.items() if now - since >= self._patience]
