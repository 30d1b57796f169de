"""The times to come, with those that daylight saving drops."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tsumugi_celery.control.times import local, offset, timing_of, zone_of
from tsumugi_celery.control.views import ComingTime
from tsumugi_celery.core.errors import NotDefinedHere
from tsumugi_celery.core.timing import WallClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from tsumugi_celery.control.source import Source
    from tsumugi_celery.core.timing import Timing


def coming(source: Source, name: str, count: int, after: int | None = None) -> list[ComingTime]:
    """Return the next times of a schedule; see `Control.upcoming`."""
    since = source.now() if after is None else after
    with source.read() as connection:
        row = source.row(connection, name)
    if row is None:
        definition = source.defined[name]
        # Registered now, an interval would first run after one interval.
        timing = definition.timing(source.now() + (definition.every_ms or 0))
        zone = zone_of(definition.time_zone)
    else:
        found = timing_of(row, source.defined.get(name))
        if found is None:
            raise NotDefinedHere(
                f"only the code that defines {name!r} knows its times ({row.schedule_text}), "
                f"and this process does not define it"
            )
        timing, zone = found, zone_of(row.time_zone)
    return list(islice(_times(timing, since, zone), count))


def _times(timing: Timing, after: int, zone: tzinfo) -> Iterator[ComingTime]:
    if isinstance(timing, WallClock):
        for each in timing.local_times(after):
            wall = each.wall.isoformat()
            text = wall if each.status == "skipped" else local(each.at_ms, zone)
            yield ComingTime(each.at_ms, text, offset(each.at_ms, zone), each.status)
        return
    if hasattr(timing, "ask"):
        # Such a class knows only whether it is due now.
        return
    moment = timing.next_after(after)
    while moment is not None:
        yield ComingTime(moment, local(moment, zone), offset(moment, zone), "runs")
        moment = timing.next_after(moment)
