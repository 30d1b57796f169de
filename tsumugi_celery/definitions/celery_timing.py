"""The door for Celery's schedule objects that are asked rather than computed.

Source: `celery/schedules.py`. A schedule there answers "how long from now", with a clock of its
own. Here the clock is pinned to the moment in question, on a copy, so that the answer depends on
that moment alone.
"""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import Any

from tsumugi_celery.core.timing import Stretch

#: What Celery's own beat waits when a schedule does not say for how long.
DEFAULT_DELAY_MS = 300_000
#: More occurrences than this in one gap are estimated: each costs a call of Celery's code.
MAX_COUNTED = 10_000

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


class _Pinned:
    """A Celery schedule whose clock stands still where it is told to."""

    def __init__(self, schedule: Any, app: Any) -> None:
        self._schedule = schedule
        self._app = app
        # solar keeps the observer it computes with, and copies share it.
        self._lock = threading.Lock()

    def _moment(self, ms: int) -> datetime:
        # Relative schedules round on the wall clock of the app, as Celery's `app.now` has it.
        return (_EPOCH + ms * _MILLISECOND).astimezone(self._app.timezone)

    def _at(self, ms: int) -> Any:
        """Return a copy of the schedule to which it is `ms`."""
        moment = self._moment(ms)
        # Not copy.copy: it goes by __reduce__, which subclasses inherit but do not fit.
        if not hasattr(self._schedule, "__dict__"):
            return self._schedule
        pinned = object.__new__(type(self._schedule))
        pinned.__dict__.update(vars(self._schedule))
        pinned.app = self._app
        # Both: a class may bring a clock of its own by either.
        pinned.__dict__["nowfun"] = pinned.__dict__["now"] = lambda: moment
        return pinned


class EstimateTiming(_Pinned):
    """Times of a schedule that says how long it is to the next one (solar, relative, custom)."""

    def next_after(self, ms: int) -> int | None:
        """Return the first time after `ms`, epoch ms.

        Raises:
            Exception: whatever the schedule raises.
            ValueError: the schedule names no time after `ms`.
        """
        with self._lock:
            remaining = self._at(ms).remaining_estimate(self._moment(ms))
        # Rounded up, so that the same event is not found again from just before it.
        found = ms + -(-remaining // _MILLISECOND)
        if found <= ms:
            raise ValueError(
                f"{self._schedule!r} names {remaining} as the time until its next occurrence; "
                f"remaining_estimate must return a positive timedelta when it is asked at the "
                f"moment of the last one"
            )
        return int(found)

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


class PolledTiming(_Pinned):
    """Times of a schedule that can only be asked whether it is due now.

    A class that overrides `is_due` may decide by anything at all, so it has no times to list and
    none to count: it is asked again and again, as Celery's own beat does.

    Attributes:
        polled: marks the class for the engine.
    """

    polled = True

    def ask(self, last_run_ms: int, now_ms: int) -> tuple[bool, int]:
        """Return whether the schedule is due, and after how many ms to ask again.

        Args:
            last_run_ms: when it last ran (or was registered), epoch ms.
            now_ms: the present, epoch ms.

        Raises:
            Exception: whatever the schedule raises.
        """
        with self._lock:
            due, delay = self._at(now_ms).is_due(self._moment(last_run_ms))
        return bool(due), _delay_ms(delay)

    def next_after(self, ms: int) -> int | None:
        """Return when to ask next for a schedule that last ran at `ms`: it may be due then.

        Raises:
            Exception: whatever the schedule raises.
        """
        return ms + self.ask(ms, ms)[1]

    def stretch(self, after_ms: int, until_ms: int) -> Stretch | None:  # noqa: ARG002
        """Return None: what was missed cannot be known."""
        return None


def _delay_ms(delay: object) -> int:
    if isinstance(delay, bool) or not isinstance(delay, (int, float)) or delay != delay:  # noqa: PLR0124
        return DEFAULT_DELAY_MS
    return max(int(min(delay * 1000, DEFAULT_DELAY_MS * 1000)), 1)
