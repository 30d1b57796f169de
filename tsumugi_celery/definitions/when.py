"""The times of a Tsumugi-style definition: `everyMs`, or `cron` with `timeZone`.

Source: section 2 of the contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timezone, tzinfo
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from tsumugi_celery.core.cron import CronFields
from tsumugi_celery.core.timing import Interval, Rule, Timing, wall_clock


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
    def phase_ms(self) -> int | None:
        """The phase of an interval that does not begin with its registration, epoch ms."""

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
    """A fixed interval from the first time on; a handler's has a phase of its own."""

    every_ms: int
    phase_ms: int | None = None
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
        own = () if self.phase_ms is None else (self.phase_ms,)
        return ("every", self.every_ms, *own)

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
    rule: Rule = "schedule"
    every_ms = None
    phase_ms = None
    celery_schedule = None

    @property
    def text(self) -> str:
        """The fields and the zone."""
        return f"{self.cron} ({self.zone_name})"

    @property
    def identity(self) -> tuple[Any, ...]:
        """The fields, blanks evened out, and the zone."""
        own = () if self.rule == "schedule" else (self.rule,)
        return ("cron", " ".join(self.cron.split()), self.zone_name, *own)

    def timing(self, first_ms: int) -> Timing:  # noqa: ARG002 - cron has no phase
        """Return the times on the wall clock."""
        return wall_clock(self.fields, self.zone, self.rule)
