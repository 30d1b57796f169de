"""The times of a Celery-form entry: what `schedule` may be, and how each kind is read.

Source: section 1 of the contract, "Celery's own form".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any

from celery.schedules import crontab, schedule, solar

from tsumugi_celery.core.cron import occurs
from tsumugi_celery.core.timing import Timing, wall_clock
from tsumugi_celery.core.upcoming import MAX_EVERY_MS
from tsumugi_celery.core.wording import shown
from tsumugi_celery.definitions.celery_kinds import (
    behaves_as,
    crontab_fields,
    overrides_is_due,
    same_everywhere,
    sets_of,
)
from tsumugi_celery.definitions.celery_timing import EstimateTiming, PolledTiming, SolarTiming
from tsumugi_celery.definitions.pinned import Pinned
from tsumugi_celery.definitions.relative import relative_timing
from tsumugi_celery.definitions.when import Every, When

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tsumugi_celery.core.keys import Report

_ACCEPTED = (
    "seconds as a number, a timedelta, or a Celery schedule object (schedule, crontab, solar, "
    "or a class with is_due)"
)
_MILLISECOND = timedelta(milliseconds=1)
#: Attributes of a schedule that are no part of what it means.
_PASSING = frozenset({"nowfun", "_app", "tz", "utc_enabled", "ephem", "cal", "now"})


@dataclass(frozen=True)
class CeleryWhen:
    """A Celery schedule object other than a plain interval."""

    celery_schedule: Any
    app: Any
    every_ms = None
    phase_ms = None
    cron = None

    @property
    def text(self) -> str:
        """The repr that Celery's own beat logs, shortened."""
        return shown(self.celery_schedule)

    @cached_property
    def zone(self) -> tzinfo:
        """The schedule's own zone, else the app's; asked late, for it loads the settings."""
        own = getattr(self.celery_schedule, "__dict__", {}).get("tz")
        return same_everywhere(own if isinstance(own, tzinfo) else self.app.timezone)

    @property
    def zone_name(self) -> str | None:
        """The IANA name of the zone; None where it has none."""
        return getattr(self.zone, "key", None)

    @cached_property
    def identity(self) -> tuple[Any, ...]:
        """The kind of schedule, what it was made of, and the zone."""
        kind = type(self.celery_schedule)
        # A zone without a name may have an address in its repr.
        zone = self.zone_name or type(self.zone).__name__
        if behaves_as(kind, crontab):
            return ("crontab", sets_of(crontab_fields(self.celery_schedule)), zone)
        state = getattr(self.celery_schedule, "__dict__", {})
        kept = {key: value for key, value in state.items() if key not in _PASSING}
        return (kind, kept, None if kind is solar else zone)

    def timing(self, first_ms: int) -> Timing:
        """Return the times, by the narrowest door that keeps Celery's meaning.

        Args:
            first_ms: when the schedule was registered, epoch ms.

        Raises:
            Exception: whatever a schedule class of the user's own raises when it is asked.
        """
        kind = type(self.celery_schedule)
        if behaves_as(kind, crontab):
            return wall_clock(crontab_fields(self.celery_schedule), self.zone)
        if behaves_as(kind, solar):
            return self._solar
        if overrides_is_due(kind):
            return PolledTiming(self._pinned)
        if behaves_as(kind, schedule):
            every = self.celery_schedule.run_every
            first = self._pinned.next_after(first_ms)
            return relative_timing(first_ms, first, every, self.zone)
        found = self._pinned.next_after(first_ms)
        steady = found > first_ms and self._pinned.next_after(found - 1) == found
        return EstimateTiming(self._pinned) if steady else PolledTiming(self._pinned)

    @cached_property
    def _pinned(self) -> Pinned:
        return Pinned(self.celery_schedule, self.app)

    @cached_property
    def _solar(self) -> SolarTiming:
        return SolarTiming(self._pinned)


def read_celery_when(given: Mapping[str, Any], app: Any, report: Report) -> When | None:
    """Return the times of a Celery-form entry; None, with its problem reported, if it is wrong."""
    relative = given.get("relative", False)
    if not isinstance(relative, bool):
        report.add("relative", relative, "True or False")
    if given.get("schedule") is None:
        report.say("schedule", "nothing", _ACCEPTED, "an entry of Celery's form needs it")
        return None
    value = given["schedule"]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = _as_timedelta(value, report)
        if value is None:
            return None
    if isinstance(value, timedelta):
        value = schedule(value, relative=relative is True)
    if isinstance(value, type) or not callable(getattr(value, "is_due", None)):
        report.add("schedule", value, _ACCEPTED, _hint(value))
        return None
    return _read_object(value, app, report)


def _read_object(value: Any, app: Any, report: Report) -> When | None:
    if isinstance(value, schedule) and not isinstance(value.run_every, timedelta):
        report.add("schedule", value.run_every, "a schedule whose run_every is a timedelta")
        return None
    if isinstance(value, schedule):
        every_ms = round(value.run_every / _MILLISECOND)
        if not 1 <= every_ms <= MAX_EVERY_MS:
            accepted = f"an interval from 0.001 to {MAX_EVERY_MS // 1000} seconds (100 years)"
            report.say("schedule", f"{value.run_every.total_seconds():g} seconds", accepted)
            return None
        if not value.relative and behaves_as(type(value), schedule):
            return Every(every_ms)
    if isinstance(value, crontab):
        fields = crontab_fields(value)
        if not all(sets_of(fields)):
            hint = "one of its fields has no values"
            report.add("schedule", value, "a crontab that occurs", hint)
            return None
        # Celery itself looks at this since 5.7.
        if not occurs(fields):
            hint = "none of its months has such a day"
            report.add("schedule", value, "a crontab that occurs", hint)
            return None
    return CeleryWhen(value, app)


def _as_timedelta(seconds: float, report: Report) -> timedelta | None:
    try:
        return timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        report.add("schedule", seconds, _ACCEPTED)
        return None


def _hint(value: object) -> str:
    if isinstance(value, str):
        return "for a cron text write crontab.from_string(...), or Tsumugi's own key 'cron'"
    if isinstance(value, type):
        return f"give an instance: {value.__name__}(...)"
    return ""
