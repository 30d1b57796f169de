"""A second, naive opinion on wall clocks: minute by minute, sharing no code with the package.

It asks `zoneinfo` one question only, which has one answer: what does the wall show at this moment?
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
MARGIN = timedelta(days=2)


def reads(text: str) -> Callable[[datetime], bool]:
    """Return whether a wall time matches, straight from the text."""
    minute, hour, day, month, weekday = text.split()

    def fits(word: str, value: int, low: int, high: int) -> bool:
        for part in word.split(","):
            body, _, step = part.partition("/")
            ends = body.replace("*", f"{low}-{high}").split("-")
            first, last = int(ends[0]), int(ends[-1])
            if first <= value <= last and (value - first) % int(step or 1) == 0:
                return True
        return False

    def matches(wall: datetime) -> bool:
        by_day = fits(day, wall.day, 1, 31)
        number = wall.isoweekday() % 7
        by_weekday = fits(weekday, number, 0, 7) or (number == 0 and fits(weekday, 7, 0, 7))
        starred = day[0] == "*" or weekday[0] == "*"
        return (
            fits(minute, wall.minute, 0, 59)
            and fits(hour, wall.hour, 0, 23)
            and fits(month, wall.month, 1, 12)
            and ((by_day and by_weekday) if starred else (by_day or by_weekday))
        )

    return matches


def offsets(zone: ZoneInfo, begin: datetime, end: datetime) -> set[timedelta]:
    """Return all offsets in force between two moments."""
    found = set()
    moment = begin
    while moment <= end:
        offset = moment.astimezone(zone).utcoffset()
        assert offset is not None
        found.add(offset)
        moment += timedelta(hours=6)
    return found


def passes(
    zone: ZoneInfo, begin: datetime, end: datetime
) -> Iterator[tuple[datetime, list[datetime]]]:
    """Yield each wall minute of a window and the moments at which the wall shows it, in order."""
    known = offsets(zone, begin - MARGIN, end + MARGIN)
    wall = begin.replace(tzinfo=None, second=0, microsecond=0) - MARGIN
    while wall <= end.replace(tzinfo=None) + MARGIN:
        candidates = sorted((wall - offset).replace(tzinfo=timezone.utc) for offset in known)
        shown = [
            one for one in candidates if one.astimezone(zone).replace(tzinfo=None, fold=0) == wall
        ]
        yield wall, shown
        wall += MINUTE


def runs(text: str, zone: ZoneInfo, rule: str, after: datetime, until: datetime) -> list[datetime]:
    """Return all runs in ``(after, until]``."""
    matches = reads(text)
    found = set()
    owed = False
    for wall, shown in passes(zone, after, until):
        if shown:
            if matches(wall) or owed:
                found.add(shown[0])
            owed = False
        elif rule == "repeat":
            owed = owed or matches(wall)
    return sorted(one for one in found if after < one <= until)
