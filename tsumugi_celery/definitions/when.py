"""The times of a Tsumugi-style definition: `everyMs`, or `cron` with `timeZone`.

Source: section 2 of the contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timezone, tzinfo
from typing import TYPE_CHECKING, Any, Protocol
from zoneinfo import ZoneInfo

from tsumugi_celery.core.cron import CronError, CronFields, parse_cron
from tsumugi_celery.core.options import whole
from tsumugi_celery.core.timing import Interval, Timing, wall_clock
from tsumugi_celery.core.upcoming import MAX_EVERY_MS, MIN_EVERY_MS
from tsumugi_celery.core.zones import ZoneError, load_zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tsumugi_celery.core.keys import Report


class When(Protocol):
    """The times of a schedule, whatever they were written as."""

    @property
    def every_ms(self) -> int | None:
        """The interval, milliseconds."""

    @property
    def cron(self) -> str | None:
        """The cron text."""

    @property
    def zone(self) -> tzinfo:
        """The zone its times are told in."""

    @property
    def zone_name(self) -> str | None:
        """The IANA name of the zone its times are read in."""

    @property
    def celery_schedule(self) -> object | None:
        """The Celery schedule object behind it."""

    @property
    def text(self) -> str:
        """The times in words."""

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes these times these: equal for equal times, in every process."""

    def timing(self, first_ms: int) -> Timing:
        """Return the times; `first_ms` is the first one of an interval."""


@dataclass(frozen=True)
class Every:
    """A fixed interval from the first time on."""

    every_ms: int
    cron = None
    zone = timezone.utc
    zone_name = None
    celery_schedule = None

    @property
    def text(self) -> str:
        """The interval in seconds, or milliseconds where it is no whole number of them."""
        if self.every_ms % 1000:
            return f"every {self.every_ms} ms"
        return f"every {self.every_ms // 1000} s"

    @property
    def identity(self) -> tuple[Any, ...]:
        """The interval; so writing it in the other form leaves the phase alone."""
        return ("every", self.every_ms)

    def timing(self, first_ms: int) -> Timing:
        """Return first + k intervals."""
        return Interval(first_ms, self.every_ms)


@dataclass(frozen=True)
class Cron:
    """Five fields on the wall clock of a zone."""

    cron: str
    zone_name: str
    fields: CronFields
    zone: ZoneInfo
    every_ms = None
    celery_schedule = None

    @property
    def text(self) -> str:
        """The fields and the zone."""
        return f"{self.cron} ({self.zone_name})"

    @property
    def identity(self) -> tuple[Any, ...]:
        """The fields, blanks evened out, and the zone."""
        return ("cron", " ".join(self.cron.split()), self.zone_name)

    def timing(self, first_ms: int) -> Timing:  # noqa: ARG002 - cron has no phase
        """Return the times on the wall clock."""
        return wall_clock(self.fields, self.zone)


def read_when(given: Mapping[str, Any], report: Report) -> When | None:
    """Return the times of a Tsumugi-style definition; None, with its problems reported, if wrong.

    Args:
        given: the definition, keys in camelCase.
        report: where problems go.
    """
    has_every, has_cron = "everyMs" in given, "cron" in given
    if has_every and has_cron:
        report.say("everyMs", "everyMs and cron", "exactly one of the two", "delete one")
    if not has_every and not has_cron:
        report.say(
            "everyMs",
            "neither everyMs nor cron",
            "exactly one of the two",
            "such as everyMs=60_000 or cron='0 9 * * *'",
        )
    zone = ZoneInfo("UTC")
    if "timeZone" in given:
        zone = _read_zone(given["timeZone"], report) or zone
        if has_every and not has_cron:
            report.add(
                "timeZone", given["timeZone"], "no timeZone with everyMs", "it belongs to cron"
            )
    when: When | None = None
    if has_every:
        when = _read_every(given["everyMs"], report)
    if has_cron:
        when = _read_cron(given["cron"], str(given.get("timeZone", "UTC")), zone, report)
    return when


def _read_every(value: object, report: Report) -> When | None:
    if whole(value, MIN_EVERY_MS, MAX_EVERY_MS):
        return Every(value)
    hint = ""
    if whole(value, 1, MIN_EVERY_MS - 1):
        hint = "everyMs is in milliseconds, and one second is the least"
    accepted = f"an integer of milliseconds from {MIN_EVERY_MS} to {MAX_EVERY_MS} (100 years)"
    report.add("everyMs", value, accepted, hint)
    return None


def _read_cron(value: object, zone_name: str, zone: ZoneInfo, report: Report) -> When | None:
    try:
        fields = parse_cron(value)
    except CronError as error:
        report.say("cron", error.got, error.accepted, f"{error.field}: {error.hint}")
        return None
    return Cron(str(value), zone_name, fields, zone)


def _read_zone(value: object, report: Report) -> ZoneInfo | None:
    try:
        return load_zone(value)
    except ZoneError as error:
        report.say("timeZone", error.got, error.accepted, error.hint)
        return None
