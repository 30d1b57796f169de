"""Times as a reader wants them, and the times of a row of the ledger."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.cron import parse_cron
from tsumugi_celery.core.repeat import REPEAT_FORMS
from tsumugi_celery.core.shifts import FIRST_MS, LAST_MS
from tsumugi_celery.core.timing import Interval, Rule, wall_clock
from tsumugi_celery.core.zones import ZoneError, load_zone

if TYPE_CHECKING:
    from sqlalchemy import Row

    from tsumugi_celery.core.timing import Timing
    from tsumugi_celery.definitions.model import Definition

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MILLISECOND = timedelta(milliseconds=1)


def timing_of(row: Row[Any], definition: Definition | None) -> Timing | None:
    """Return the times that a row is about; None where only its own code knows them.

    Args:
        row: of a schedule.
        definition: of the same name in this process; of use only if its times are the row's.
    """
    if definition is not None and definition.timing_fingerprint == row.timing_fingerprint:
        return definition.timing(row.first_at)
    if row.cron is not None:
        rule: Rule = "repeat" if row.form in REPEAT_FORMS else "schedule"
        return wall_clock(parse_cron(row.cron), load_zone(row.time_zone), rule)
    if row.every_ms is not None:
        return Interval(row.first_at, row.every_ms)
    return None


def zone_of(name: str | None) -> tzinfo:
    """Return the zone that times are shown in; UTC for an interval, whose times have none."""
    if name is None:
        return timezone.utc
    try:
        return load_zone(name)
    except ZoneError:
        # Celery's form accepts zone objects that are no IANA zones.
        return timezone.utc


def local(ms: int, zone: tzinfo) -> str:
    """Return a moment on the wall clock of a zone as ISO 8601, to the second or finer."""
    return _moment(ms).astimezone(zone).isoformat(timespec=_fineness(ms))


def offset(ms: int, zone: tzinfo) -> str:
    """Return the offset of a zone at a moment, such as 'GMT-03:30'."""
    difference = _moment(ms).astimezone(zone).utcoffset() or timedelta()
    minutes, seconds = divmod(abs(round(difference.total_seconds())), 60)
    sign = "-" if difference < timedelta() else "+"
    text = f"GMT{sign}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def readable(ms: int, zone: tzinfo) -> str:
    """Return a moment for a sentence: '2026-07-01 09:00:00 GMT+09:00'."""
    text = _moment(ms).astimezone(zone).replace(tzinfo=None)
    return f"{text.isoformat(' ', _fineness(ms))} {offset(ms, zone)}"


def to_ms(moment: int | datetime) -> int:
    """Return epoch ms.

    Raises:
        ValueError: a datetime without a zone, or a time beyond all calendars.
    """
    if isinstance(moment, datetime):
        if moment.utcoffset() is None:
            raise ValueError(
                f"a time needs a zone: got {moment!r}, such as datetime.now(timezone.utc)"
            )
        return (moment - EPOCH) // MILLISECOND
    if not FIRST_MS <= moment < LAST_MS:
        raise ValueError(f"a time is epoch ms within the years 1 to 9999: got {moment}")
    return moment


def _fineness(ms: int) -> str:
    return "milliseconds" if ms % 1000 else "seconds"


def _moment(ms: int) -> datetime:
    return EPOCH + ms * MILLISECOND
