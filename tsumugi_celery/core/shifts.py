"""Where the clock of a zone is turned: its wall clock cut into spans of one offset.

`zoneinfo` tells the offset at a moment, not when it changes. So the year is sampled and a change
is found by halving. No zone changes its offset twice within `SAMPLE` (a test goes through them).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import MAXYEAR, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - arithmetic on wall clocks has no zone
SAMPLE = 2 * 24 * 60 * 60
# A day away from both ends, so that no offset leads outside what a datetime can hold.
FIRST_SECOND = (datetime(1, 1, 2) - EPOCH) // timedelta(seconds=1)  # noqa: DTZ001
LAST_SECOND = (datetime(9999, 12, 31) - EPOCH) // timedelta(seconds=1)  # noqa: DTZ001
FIRST_MS = FIRST_SECOND * SECOND_MS
LAST_MS = LAST_SECOND * SECOND_MS


@dataclass(frozen=True, slots=True)
class Span:
    """Wall minutes that pass one after another under one offset, each for the first time.

    Attributes:
        start: The first wall minute (minutes since 1970-01-01 00:00 on the wall).
        stop: The wall minute after the last one.
        offset_ms: What the wall clock is ahead of UTC.
        edge: Wall minutes from `edge` to `start` are special: skipped by the change at the
            beginning of this span when `gap`, else passed for the second time within it.
        gap: Which of the two.
    """

    start: int
    stop: int
    offset_ms: int
    edge: int
    gap: bool

    def instant(self, minute: int) -> int:
        """Return when a wall minute of this span begins, in epoch ms."""
        return minute * MINUTE_MS - self.offset_ms

    def minute_after(self, ms: int) -> int:
        """Return the first wall minute that begins later than a moment in epoch ms."""
        return (ms + self.offset_ms) // MINUTE_MS + 1


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of the offset: when it happens (epoch second), from what to what (seconds)."""

    moment: int
    before: int
    after: int


@lru_cache(maxsize=4096)
def spans(zone: ZoneInfo, year: int) -> tuple[Span, ...]:
    """Return the wall clock of one year of UTC, in the order of time.

    Args:
        zone: The zone.
        year: 1 to 9999; the very first and the very last day of that range are left out.
    """
    begin, end = _bounds(year)
    turns = _turns(zone, year)
    earlier = _turns(zone, year - 1)[-1:] if year > 1 else ()
    offset = _offset(zone, begin - 1)
    # The hours that a change on New Year's Eve doubled may reach into this year.
    opening = earlier[0] if earlier else Turn(begin, offset, offset)
    ends = [*(turn.moment for turn in turns), end]
    found = [_span(opening, ends[0], since=begin)]
    found += [_span(turn, stop) for turn, stop in zip(turns, ends[1:], strict=True)]
    return tuple(found)


def _span(turn: Turn, end: int, since: int | None = None) -> Span:
    start = _minute(turn.moment + max(turn.before, turn.after))
    edge = _minute(turn.moment + min(turn.before, turn.after))
    if since is not None:
        begin = _minute(since + turn.after)
        start, edge = max(start, begin), max(edge, begin)
    stop = max(start, _minute(end + turn.after))
    return Span(start, stop, turn.after * SECOND_MS, edge, gap=turn.after > turn.before)


@lru_cache(maxsize=8192)
def _turns(zone: ZoneInfo, year: int) -> tuple[Turn, ...]:
    begin, end = _bounds(year)
    found = []
    low = begin - 1
    before = _offset(zone, low)
    while low < end - 1:
        high = min(low + SAMPLE, end - 1)
        after = _offset(zone, high)
        if after != before:
            found.append(Turn(_halve(zone, low, high, before), before, after))
        low, before = high, after
    return tuple(found)


def _halve(zone: ZoneInfo, low: int, high: int, before: int) -> int:
    """Return the first second with another offset; it is after `low` and not after `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    return high


def _offset(zone: ZoneInfo, second: int) -> int:
    moment = (EPOCH + timedelta(seconds=second)).replace(tzinfo=zone)
    offset = zone.fromutc(moment).utcoffset()
    return 0 if offset is None else offset // timedelta(seconds=1)


def _bounds(year: int) -> tuple[int, int]:
    end = LAST_SECOND if year == MAXYEAR else _new_year(year + 1)
    return max(_new_year(year), FIRST_SECOND), end


def _new_year(year: int) -> int:
    return (datetime(year, 1, 1) - EPOCH) // timedelta(seconds=1)  # noqa: DTZ001


def _minute(second: int) -> int:
    """Return the first whole minute at or after a second of the wall clock."""
    return -(-second // 60)
