"""A Celery schedule object whose clock stands still where it is told to.

Source: `celery/schedules.py`. A schedule there answers "how long from now", with a clock of its
own. Here the clock is pinned to the moment in question, on a copy, so that the answer depends on
that moment alone.
"""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import Any

#: What Celery's own beat waits when a schedule does not say for how long.
DEFAULT_DELAY_MS = 300_000

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


class Pinned:
    """Asks a schedule of the user's without changing it.

    Args:
        schedule: the user's object.
        app: whose time zone it is read in.
    """

    def __init__(self, schedule: Any, app: Any) -> None:
        self._schedule = schedule
        self._app = app
        # solar keeps the observer it computes with, and copies share it.
        self._lock = threading.Lock()

    def next_after(self, ms: int) -> int:
        """Return when the schedule runs next if it last ran at `ms`, epoch ms, rounded up.

        Raises:
            Exception: whatever the schedule raises.
            TypeError: it does not answer with a timedelta.
        """
        with self._lock:
            remaining = self._at(ms).remaining_estimate(self._moment(ms))
        if not isinstance(remaining, timedelta):
            kind = type(remaining).__name__
            raise TypeError(
                f"remaining_estimate of {self._schedule!r} returned no timedelta: {kind}"
            )
        return ms - (-remaining // _MILLISECOND)

    def ask(self, last_run_ms: int, now_ms: int) -> tuple[bool, int]:
        """Return whether it is due at `now_ms`, and after how many ms to ask again.

        Raises:
            Exception: whatever the schedule raises.
        """
        with self._lock:
            due, delay = self._at(now_ms).is_due(self._moment(last_run_ms))
        return bool(due), _delay_ms(delay)

    def _moment(self, ms: int) -> datetime:
        # Relative schedules round on the wall clock of the app, as Celery's `app.now` has it.
        return (_EPOCH + ms * _MILLISECOND).astimezone(self._app.timezone)

    def _at(self, ms: int) -> Any:
        moment = self._moment(ms)
        if not hasattr(self._schedule, "__dict__"):
            return self._schedule
        # Not copy.copy: it goes by __reduce__, which subclasses inherit but do not fit.
        pinned = object.__new__(type(self._schedule))
        pinned.__dict__.update(vars(self._schedule))
        pinned.app = self._app
        # Both: a class may bring a clock of its own by either.
        pinned.__dict__["nowfun"] = pinned.__dict__["now"] = lambda: moment
        return pinned


def _delay_ms(delay: object) -> int:
    if isinstance(delay, bool) or not isinstance(delay, (int, float)) or delay != delay:  # noqa: PLR0124 - NaN
        return DEFAULT_DELAY_MS
    return max(int(min(delay, DEFAULT_DELAY_MS) * 1000), 1)
