"""Times of Celery's `relative` intervals, which are rounded to the wall clock.

Source: `celery.utils.time.remaining` and `delta_resolution`: the next time is the last run plus
the interval, rounded down to the day, hour, minute or second, whichever is the largest that the
interval holds. So from the second time on, the distance is a whole number of that unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo

from tsumugi_celery.core.timing import Interval, Stretch, Timing

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)
_DAY = timedelta(days=1)
_UNITS = (timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1))


def relative_timing(registered_ms: int, first_ms: int, every: timedelta, zone: tzinfo) -> Timing:
    """Return the times of a relative interval.

    Args:
        registered_ms: when it was registered, epoch ms.
        first_ms: the first time, as Celery's own rounding has it.
        every: the interval.
        zone: on whose wall clock whole days begin.
    """
    if every >= _DAY:
        first = (_EPOCH + first_ms * _MILLISECOND).astimezone(zone).date()
        return Midnights(first, every // _DAY, zone)
    for unit in _UNITS:
        if every >= unit:
            return Interval(first_ms, every // unit * unit // _MILLISECOND)
    # Below a second there is nothing to round to.
    step = max(every // _MILLISECOND, 1)
    return Interval(registered_ms + step, step)


@dataclass(frozen=True)
class Midnights:
    """The beginning of every so many days.

    Attributes:
        first: the first of these days.
        days: how many days lie between two of them.
        zone: whose days they are.
    """

    first: date
    days: int
    zone: tzinfo

    def next_after(self, ms: int) -> int | None:
        """Return the first of these midnights after `ms`; None after the year 9999."""
        index = self._index_after(ms)
        try:
            return self._at(index)
        except OverflowError:
            return None

    def stretch(self, after_ms: int, until_ms: int) -> Stretch | None:
        """Return the midnights in (`after_ms`, `until_ms`]."""
        begin, end = self._index_after(after_ms), self._index_after(until_ms)
        if begin >= end:
            return None
        return Stretch(end - begin, self._at(begin), self._at(end - 1))

    def _index_after(self, ms: int) -> int:
        day = (_EPOCH + ms * _MILLISECOND).astimezone(self.zone).date()
        index = max((day - self.first).days // self.days, 0)
        # A zone that leaps over midnight begins its day late: look at the day itself as well.
        return index if self._at(index) > ms else index + 1

    def _at(self, index: int) -> int:
        day = self.first + timedelta(days=index * self.days)
        # fold=0: of two midnights the first; one that does not exist is moved behind the gap.
        midnight = datetime(day.year, day.month, day.day, tzinfo=self.zone)
        return (midnight - _EPOCH) // _MILLISECOND
