"""Times of Celery's schedule objects that are found by asking them.

The ledger looks at a schedule's times again and again, from different moments, and must find the
same ones. A schedule object need not have such times: one that says "an hour after the last run"
has others for every moment it is asked at. So each kind has a door of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsumugi_celery.core.timing import Stretch

if TYPE_CHECKING:
    from tsumugi_celery.definitions.pinned import Pinned

#: More occurrences than this in one gap are estimated: each costs a call of Celery's code.
MAX_COUNTED = 10_000

DAY_MS = 86_400_000
_QUARTER_MS = DAY_MS // 4
_HOUR_MS = DAY_MS // 24
_SECOND_MS = 1000
#: How often a search for a solar event may come to nothing; each looks a year ahead.
_MAX_SEARCHES = 4


class EstimateTiming:
    """Times of a schedule that has the same ones from wherever it is asked."""

    def __init__(self, pinned: Pinned) -> None:
        self._pinned = pinned

    def next_after(self, ms: int) -> int | None:
        """Return the first time after `ms`, epoch ms.

        Raises:
            Exception: whatever the schedule raises.
            ValueError: the schedule names no time after `ms`.
        """
        found = self._pinned.next_after(ms)
        if found <= ms:
            raise ValueError(f"the schedule named {found} as its next time after {ms} (epoch ms)")
        return found

    def stretch(self, after_ms: int, until_ms: int) -> Stretch | None:
        """Return the times in (`after_ms`, `until_ms`]; None when there is none.

        Exact up to `MAX_COUNTED` times; beyond that the count goes by the average distance.

        Raises:
            Exception: whatever the schedule raises.
        """
        first = self._within(after_ms, until_ms)
        if first is None:
            return None
        count, last = self._walk(first, until_ms)
        if count == MAX_COUNTED and last < until_ms:
            step = max((last - first) // (count - 1), 1)
            jump = max((until_ms - last) // step - 2, 0)
            more, last = self._walk(last + jump * step, until_ms)
            count += jump + more - 1
        return Stretch(count, first, last)

    def _walk(self, first: int, until_ms: int) -> tuple[int, int]:
        count, last = 1, first
        while count < MAX_COUNTED:
            following = self._within(last, until_ms)
            if following is None:
                break
            count, last = count + 1, following
        return count, last

    def _within(self, after_ms: int, until_ms: int) -> int | None:
        found = self.next_after(after_ms)
        return None if found is None or found > until_ms else found


class SolarTiming(EstimateTiming):
    """Times of a `celery.schedules.solar`, in whole seconds.

    The instant computed for an event differs by some milliseconds with the moment the search
    starts from, and a search that starts just before an event may miss it. So each event is
    computed in one way only: by a search that starts a quarter of a day before the UTC day it
    falls into.
    """

    def __init__(self, pinned: Pinned) -> None:
        super().__init__(pinned)
        self._days: dict[int, tuple[int, ...]] = {}

    def next_after(self, ms: int) -> int | None:
        """Return the first event after `ms`, epoch ms; None if the sun never comes to it.

        Raises:
            Exception: whatever the search raises.
        """
        day = ms // DAY_MS * DAY_MS
        for _ in range(_MAX_SEARCHES):
            for start in (day, day + DAY_MS, day + 2 * DAY_MS):
                found = next((event for event in self._events(start) if event > ms), None)
                if found is not None:
                    return found
            # None for days: midnight sun or polar night. Go on where it ends.
            day = self._pinned.next_after(day + 2 * DAY_MS) // DAY_MS * DAY_MS - DAY_MS
        return None

    def _events(self, day: int) -> tuple[int, ...]:
        """Return the events in (`day`, `day` + 1 day]."""
        if day not in self._days:
            found = []
            event = self._search(day - _QUARTER_MS)
            while event <= day + DAY_MS:
                if event > day:
                    found.append(event)
                event = self._search(event + _HOUR_MS)
            # A handful of days is in use at a time: those around now.
            if len(self._days) > MAX_COUNTED:
                self._days.clear()
            self._days[day] = tuple(found)
        return self._days[day]

    def _search(self, ms: int) -> int:
        return self._pinned.next_after(ms) // _SECOND_MS * _SECOND_MS


class PolledTiming:
    """Times of a schedule that can only be asked whether it is due now.

    A class may decide by anything at all, so it has no times to list and none to count: it is
    asked again and again, as Celery's own beat does.

    Attributes:
        polled: marks the class for the engine.
    """

    polled = True

    def __init__(self, pinned: Pinned) -> None:
        self._pinned = pinned

    def ask(self, last_run_ms: int, now_ms: int) -> tuple[bool, int]:
        """Return whether the schedule is due, and after how many ms to ask again.

        Args:
            last_run_ms: when it last ran (or was registered), epoch ms.
            now_ms: the present, epoch ms.

        Raises:
            Exception: whatever the schedule raises.
        """
        return self._pinned.ask(last_run_ms, now_ms)

    def next_after(self, ms: int) -> int | None:
        """Return when to ask next for a schedule that last ran at `ms`: it may be due then.

        Raises:
            Exception: whatever the schedule raises.
        """
        return ms + self.ask(ms, ms)[1]

    def stretch(self, after_ms: int, until_ms: int) -> Stretch | None:  # noqa: ARG002 - the protocol's
        """Return None: what was missed cannot be known."""
        return None
