"""The minutes of the wall clock that a cron expression names: found and counted by arithmetic.

No zones here: a wall minute is the number of minutes between 1970-01-01 00:00 and a local time,
both read off the same wall. Whole months are counted at once, so that a year costs twelve steps.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tsumugi_celery.core.cron import CronFields

DAY = 24 * 60
HOUR = 60
EPOCH_DAY = date(1970, 1, 1).toordinal()


class Calendar:
    """The wall minutes that match an expression."""

    __slots__ = ("_fields", "_per_day")

    def __init__(self, fields: CronFields) -> None:
        self._fields = fields
        self._per_day = len(fields.minutes) * len(fields.hours)

    def count(self, start: int, stop: int) -> int:
        """Return how many minutes match in ``[start, stop)``."""
        if start >= stop:
            return 0
        first_day, first_minute = divmod(start, DAY)
        last_day, last_minute = divmod(stop, DAY)
        total = self._per_day * self._count_days(first_day, last_day)
        if self._runs_on(first_day):
            total -= self._rank(first_minute)
        if self._runs_on(last_day):
            total += self._rank(last_minute)
        return total

    def first(self, start: int, stop: int) -> int | None:
        """Return the first matching minute in ``[start, stop)``."""
        if start >= stop:
            return None
        day, minute = divmod(start, DAY)
        rank = self._rank(minute)
        if rank < self._per_day and self._runs_on(day):
            found = day * DAY + self._at(rank)
        else:
            later = self._day_from(day + 1, stop // DAY)
            if later is None:
                return None
            found = later * DAY + self._at(0)
        return found if found < stop else None

    def last(self, start: int, stop: int) -> int | None:
        """Return the last matching minute in ``[start, stop)``."""
        if start >= stop:
            return None
        day, minute = divmod(stop - 1, DAY)
        rank = self._rank(minute + 1)
        if rank > 0 and self._runs_on(day):
            found = day * DAY + self._at(rank - 1)
        else:
            earlier = self._day_until(day - 1, start // DAY)
            if earlier is None:
                return None
            found = earlier * DAY + self._at(self._per_day - 1)
        return found if found >= start else None

    def _rank(self, minute: int) -> int:
        """Return how many times of a day lie before this minute of it (0 to 1440)."""
        fields = self._fields
        hour, rest = divmod(minute, HOUR)
        rank = bisect_left(fields.hours, hour)
        below = rank * len(fields.minutes)
        if rank < len(fields.hours) and fields.hours[rank] == hour:
            below += bisect_left(fields.minutes, rest)
        return below

    def _at(self, rank: int) -> int:
        hour, minute = divmod(rank, len(self._fields.minutes))
        return self._fields.hours[hour] * HOUR + self._fields.minutes[minute]

    def _runs_on(self, day: int) -> bool:
        moment = date.fromordinal(day + EPOCH_DAY)
        return moment.day in self._days(moment.year, moment.month)

    def _day_from(self, start: int, last: int) -> int | None:
        """Return the first matching day from `start` to `last`, both included."""
        for first, days in self._months(start, last):
            index = bisect_left(days, start - first + 1)
            if index < len(days):
                return first + days[index] - 1
        return None

    def _day_until(self, stop: int, first: int) -> int | None:
        """Return the last matching day from `first` to `stop`, both included."""
        for begin, days in reversed(list(self._months(first, stop))):
            index = bisect_left(days, stop - begin + 2)
            if index:
                return begin + days[index - 1] - 1
        return None

    def _count_days(self, start: int, stop: int) -> int:
        total = 0
        for first, days in self._months(start, stop - 1):
            low = bisect_left(days, start - first + 1)
            high = bisect_left(days, stop - first + 1)
            total += high - low
        return total

    def _months(self, start: int, last: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield, month by month, the number of its first day and the days of it that match."""
        if start > last:
            return
        begin = date.fromordinal(start + EPOCH_DAY)
        end = date.fromordinal(min(last + EPOCH_DAY, date.max.toordinal()))
        for index in range(begin.year * 12 + begin.month - 1, end.year * 12 + end.month):
            year, month = divmod(index, 12)
            days = self._days(year, month + 1)
            if days:
                yield date(year, month + 1, 1).toordinal() - EPOCH_DAY, days

    def _days(self, year: int, month: int) -> tuple[int, ...]:
        fields = self._fields
        if month not in fields.months:
            return ()
        weekday, length = monthrange(year, month)
        # The library's week begins on Monday, cron's on Sunday.
        return _matching(fields.days, fields.weekdays, fields.either_day, (weekday + 1) % 7, length)


@lru_cache(maxsize=8192)
def _matching(
    days: tuple[int, ...],
    weekdays: tuple[int, ...],
    either: bool,  # noqa: FBT001 - a cache is called by position
    begins_on: int,
    length: int,
) -> tuple[int, ...]:
    def fits(day: int) -> bool:
        by_day, by_weekday = day in days, (begins_on + day - 1) % 7 in weekdays
        return by_day or by_weekday if either else by_day and by_weekday

    return tuple(day for day in range(1, length + 1) if fits(day))
