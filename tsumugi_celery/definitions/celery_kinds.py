"""What kind of Celery schedule an object is, and what a crontab and a zone amount to here."""

from __future__ import annotations

from datetime import timezone, tzinfo
from typing import Any

from celery.schedules import BaseSchedule, crontab, schedule, solar

from tsumugi_celery.core.cron import CronFields
from tsumugi_celery.core.wording import shown
from tsumugi_celery.core.zones import ZoneError, load_zone

#: What a subclass may override to have other times.
_DECIDING = ("is_due", "remaining_estimate", "remaining_delta", "_delta_to_next", "now", "tz")


def crontab_fields(value: Any) -> CronFields:
    """Return the sets of a Celery crontab; its day fields are AND-ed.

    Source: `celery.schedules.crontab`, whose sets hold Sunday as 0.
    """
    minutes, hours, days, months, weekdays = (
        tuple(sorted(number for number in numbers if isinstance(number, int)))
        for numbers in (
            value.minute,
            value.hour,
            value.day_of_month,
            value.month_of_year,
            value.day_of_week,
        )
    )
    # Shown, not read: that its day fields are AND-ed, five fields of cron could not say.
    text = shown(value)
    return CronFields(minutes, hours, days, months, weekdays, False, text)  # noqa: FBT003


def sets_of(fields: CronFields) -> tuple[tuple[int, ...], ...]:
    """Return the values of the five fields."""
    return fields.minutes, fields.hours, fields.days, fields.months, fields.weekdays


def same_everywhere(zone: tzinfo) -> tzinfo:
    """Return `zone` with the rules of the `tzdata` package where it has an IANA name.

    Celery's zone may be a ZoneInfo, one of pytz, a fixed offset, or the system's own.
    """
    if zone is timezone.utc:
        return load_zone("UTC")
    try:
        return load_zone(getattr(zone, "key", None) or getattr(zone, "zone", None))
    except ZoneError:
        return zone


def behaves_as(kind: type, base: type) -> bool:
    """Return whether `kind` is `base`, or a subclass that leaves its times alone."""
    return issubclass(kind, base) and all(
        getattr(kind, name, None) is getattr(base, name, None) for name in _DECIDING
    )


def overrides_is_due(kind: type) -> bool:
    """Return whether a class decides for itself when it is due."""
    for base in kind.__mro__:
        if "is_due" in vars(base):
            return base not in (schedule, crontab, solar, BaseSchedule)
    return True
