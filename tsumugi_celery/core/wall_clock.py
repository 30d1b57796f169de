"""A cron expression on the wall clock of a zone, with the two rules for clocks that are turned.

Sections 2 and 6 of the contract are the source of the rules; how it is evaluated is decision 0010.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import MAXYEAR, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from tsumugi_celery.core.calendar import DAY, Calendar
from tsumugi_celery.core.shifts import EPOCH, FIRST_MS, LAST_MS, MINUTE_MS, Span, spans
from tsumugi_celery.core.stretch import Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from tsumugi_celery.core.cron import CronFields

Rule = Literal["schedule", "repeat"]
Status = Literal["runs", "skipped", "repeated"]

# The calendar repeats after 400 years, and so do the rules of a zone once its history has ended.
# What has not run by then (02:30 on the very Sunday that has none) never does.
HISTORY_ENDS = 2100
CYCLE = 400


@dataclass(frozen=True, slots=True)
class LocalTime:
    """A wall time that matches an expression, and what becomes of it.

    Attributes:
        wall: The local time, without a zone.
        at_ms: When it begins; for a skipped one, when the clock jumped over it.
        status: ``"runs"``; ``"skipped"``: does not exist; ``"repeated"``: its second pass, silent.
    """

    wall: datetime
    at_ms: int
    status: Status


@dataclass(frozen=True, slots=True)
class WallClock:
    """A cron expression on the wall clock of a zone.

    Attributes:
        fields: The expression.
        zone: The zone.
        rule: What happens to a local time that does not exist. ``"schedule"``: it does not run.
            ``"repeat"``: it runs at the first minute after the gap, several of them once. A local
            time that occurs twice runs at the first of the two under both rules.
    """

    fields: CronFields
    zone: ZoneInfo
    rule: Rule = "schedule"
    _calendar: Calendar = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_calendar", Calendar(self.fields))

    def next_after(self, ms: int) -> int | None:
        """Return the first scheduled time strictly later than `ms`; None when nothing follows."""
        year: int | None = _year_of(ms)
        horizon = min(max(_year_of(ms), HISTORY_ENDS) + CYCLE, MAXYEAR)
        while year is not None and year <= horizon:
            for span in spans(self.zone, year):
                found = self._within(span, ms, LAST_MS)
                if found is not None:
                    return found.first
            year = self._year_after(year)
        return None

    def stretch(self, after_ms: int, until_ms: int) -> Stretch | None:
        """Return all scheduled times in ``(after_ms, until_ms]``; a year costs some ten steps."""
        total: Stretch | None = None
        for span in self._spans(after_ms, until_ms):
            found = self._within(span, after_ms, until_ms)
            if total is None or found is None:
                total = total or found
            else:
                total = Stretch(total.count + found.count, total.first, found.last)
        return total

    def local_times(self, after_ms: int, until_ms: int = LAST_MS) -> Iterator[LocalTime]:
        """Yield the wall times that match in ``(after_ms, until_ms]``, whatever becomes of them.

        In the order of time; also those that the clock skips and the second pass of those that
        it repeats. A time moved behind a gap by the rule ``"repeat"`` is there twice: as the
        wall time skipped, and as the one that runs.
        """
        for span in self._spans(after_ms, until_ms):
            low, high = _clip(span, after_ms, until_ms)
            if span.gap:
                at = span.instant(span.start)
                if after_ms < at <= until_ms:
                    for minute in self._matches(span.edge, span.start):
                        yield LocalTime(_wall(minute), at, "skipped")
                    if self._moved(span):
                        yield LocalTime(_wall(span.start), at, "runs")
            else:
                for minute in self._matches(low, min(high, span.start)):
                    yield LocalTime(_wall(minute), span.instant(minute), "repeated")
            for minute in self._matches(max(low, span.start), high):
                yield LocalTime(_wall(minute), span.instant(minute), "runs")

    def _within(self, span: Span, after_ms: int, until_ms: int) -> Stretch | None:
        low, high = _clip(span, after_ms, until_ms)
        low = max(low, span.start)
        first = self._calendar.first(low, high)
        moved = self._moved(span) and after_ms < span.instant(span.start) <= until_ms
        if first is None:
            at = span.instant(span.start)
            return Stretch(1, at, at) if moved else None
        last = self._calendar.last(low, high)
        count = self._calendar.count(low, high) + moved
        begin = span.start if moved else first
        return Stretch(count, span.instant(begin), span.instant(first if last is None else last))

    def _moved(self, span: Span) -> bool:
        """Return whether the minute after a gap runs only for what the gap has skipped."""
        return (
            self.rule == "repeat"
            and span.gap
            and self._calendar.first(span.edge, span.start) is not None
            and self._calendar.first(span.start, span.start + 1) is None
        )

    def _matches(self, start: int, stop: int) -> Iterator[int]:
        minute = self._calendar.first(start, stop)
        while minute is not None:
            yield minute
            minute = self._calendar.first(minute + 1, stop)

    def _spans(self, after_ms: int, until_ms: int) -> Iterator[Span]:
        if after_ms >= until_ms or until_ms < FIRST_MS:
            return
        last = _year_of(until_ms)
        year: int | None = _year_of(after_ms)
        while year is not None and year <= last:
            yield from spans(self.zone, year)
            year = self._year_after(year)

    def _year_after(self, year: int) -> int | None:
        """Return the next year of UTC worth a look: rare expressions leave out most of them."""
        if year >= MAXYEAR:
            return None
        end = (datetime(year + 1, 1, 1) - EPOCH) // timedelta(minutes=1)  # noqa: DTZ001
        # No wall clock is a whole day behind or ahead of UTC.
        minute = self._calendar.first(end - DAY, LAST_MS // MINUTE_MS)
        return None if minute is None else max(year + 1, _wall(minute - DAY).year)


@lru_cache(maxsize=4096)
def wall_clock(fields: CronFields, zone: ZoneInfo, rule: Rule = "schedule") -> WallClock:
    """Return the one `WallClock` of these; thousands of users of an expression share it."""
    return WallClock(fields, zone, rule)


def _clip(span: Span, after_ms: int, until_ms: int) -> tuple[int, int]:
    """Return the wall minutes of a span, from its edge on, whose instants are wanted."""
    return max(span.edge, span.minute_after(after_ms)), min(span.stop, span.minute_after(until_ms))


def _year_of(ms: int) -> int:
    inside = min(max(ms, FIRST_MS), LAST_MS - 1)
    return _wall(inside // MINUTE_MS).year


def _wall(minute: int) -> datetime:
    return EPOCH + timedelta(minutes=minute)
