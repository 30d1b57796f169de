"""Times on the command line: shown in the schedule's zone, read in it too."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from tsumugi_celery.control.times import local, offset, zone_of

if TYPE_CHECKING:
    from datetime import tzinfo

_EPOCH_MS = re.compile(r"-?\d{9,}")


def shown(ms: int | None, zone_name: str | None) -> str | None:
    """Return a moment as `2026-12-01 09:00:00 GMT+09:00`, in the zone (UTC for an interval)."""
    if ms is None:
        return None
    zone = zone_of(zone_name)
    return f"{local(ms, zone)[:19].replace('T', ' ')} {offset(ms, zone)}"


def read_time(text: str, zone_name: str | None) -> int:
    """Return epoch ms of what a user wrote.

    Args:
        text: epoch ms, or ISO 8601; without an offset it is local time in the schedule's zone.
        zone_name: the schedule's zone; None is read as UTC.

    Raises:
        ValueError: not a time, or a local time that does not exist.
    """
    if _EPOCH_MS.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as exc:
        accepted = (
            "epoch milliseconds, or ISO 8601 such as '2026-12-01 09:00' (in the schedule's zone)"
        )
        msg = f"{text!r} is not a time; accepted: {accepted} or '2026-12-01T00:00:00Z'"
        raise ValueError(msg) from exc
    if moment.tzinfo is None:
        moment = _existing(moment, zone_of(zone_name), zone_name or "UTC")
    return round((moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) / timedelta(milliseconds=1))


def _existing(wall: datetime, zone: tzinfo, name: str) -> datetime:
    moment = wall.replace(tzinfo=zone)
    back = moment.astimezone(timezone.utc).astimezone(zone).replace(tzinfo=None)
    if back != wall:
        msg = (
            f"{wall.isoformat(' ')} does not exist in {name}: the clock jumps over it, "
            "so nothing runs then"
        )
        raise ValueError(msg)
    return moment
