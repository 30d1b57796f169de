"""The times of a schedule before and after: as Celery's own beat has them, and as they are here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.shifts import spans
from tsumugi_celery.definitions.pinned import Pinned

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from zoneinfo import ZoneInfo

    from tsumugi_celery.core.timing import Timing
    from tsumugi_celery.definitions.model import Definition

HOUR_MS = 3_600_000
#: How far around a change of the clock times may differ.
AROUND_MS = 4 * HOUR_MS
_EPOCH_YEAR = 1970
_YEAR_MS = 31_556_952_000


@dataclass(frozen=True)
class _Conf:
    enable_utc: bool


@dataclass(frozen=True)
class _AppIn:
    """What a schedule asks of its app, in the zone that it is read in."""

    timezone: tzinfo
    conf: _Conf


class CeleryTimes:
    """The times at which Celery's own beat would send a schedule.

    Args:
        schedule: Celery's object.
        app: the Celery app.
        zone: what the schedule is read in.
    """

    def __init__(self, schedule: Any, app: Any, zone: tzinfo) -> None:
        """Pin the schedule to a clock that is told."""
        self._pinned = Pinned(schedule, _AppIn(zone, _Conf(bool(app.conf.enable_utc))))

    def after(self, last_ms: int, now_ms: int) -> Iterator[int]:
        """Yield the times from now on for a schedule that ran last at `last_ms`, epoch ms.

        Raises:
            Exception: whatever the schedule raises.
        """
        while True:
            found = self._pinned.next_after(last_ms)
            if found <= last_ms:
                return
            # What is overdue is sent at once, and Celery counts on from there.
            last_ms = max(found, now_ms)
            yield last_ms


def times_here(definition: Definition, now_ms: int) -> Iterator[int]:
    """Yield the times of a definition that is registered now."""
    timing: Timing = definition.timing(definition.first_after(now_ms))
    at = timing.next_after(now_ms)
    while at is not None:
        yield at
        at = timing.next_after(at)


def turns(zone: ZoneInfo, now_ms: int) -> Iterator[int]:
    """Yield the changes of the clock within a year from now, epoch ms."""
    year = _EPOCH_YEAR + now_ms // _YEAR_MS
    for each in (year, year + 1, year + 2):
        for span in spans(zone, each)[1:]:
            at = span.instant(span.start if span.gap else span.edge)
            if now_ms < at <= now_ms + _YEAR_MS:
                yield at
