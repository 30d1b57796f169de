"""The form that a translated schedule takes: Tsumugi's where it says all, else Celery's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from celery.schedules import crontab, schedule

from tsumugi_celery.core.upcoming import MIN_EVERY_MS
from tsumugi_celery.definitions.celery_kinds import behaves_as
from tsumugi_celery.definitions.routing_table import CELERY_ONLY, HEADER_PREFIX, HEADERS, REFUSED
from tsumugi_celery.definitions.targets import is_task
from tsumugi_celery.definitions.tasks import find_task
from tsumugi_celery.definitions.tsumugi_form import NAME
from tsumugi_celery.importing.cron_text import cron_text
from tsumugi_celery.importing.found import Change, Found
from tsumugi_celery.importing.literal import in_zone

if TYPE_CHECKING:
    from datetime import tzinfo

    from tsumugi_celery.importing.literal import Source

_SECOND_MS = 1000


@dataclass
class Shape:
    """A definition under construction.

    Attributes:
        mapping: as `read_definitions` takes it.
        changes: what differs from what it was.
        expires_ms: how long after its scheduled time a job may start.
    """

    mapping: dict[str, Any] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    expires_ms: int | None = None

    def write(self, source: Source) -> dict[str, str]:
        """Return the keys with their values as Python source.

        Raises:
            UnwritableError: a value has no notation.
        """
        return {key: source.write(value) for key, value in self.mapping.items()}

    def note(self, kind: str, text: str) -> None:
        """Add a change."""
        self.changes.append(Change(kind, text))


def shape_of(found: Found, zone: tzinfo, app: Any, *, always_cron: bool) -> Shape:
    """Return the definition of a schedule.

    Args:
        found: the schedule.
        zone: what it is read in.
        app: the Celery app, its tasks imported.
        always_cron: write cron also where that ORs day fields that Celery ANDs.
    """
    shape = Shape()
    options = _options(found, shape)
    when = _when(found, zone, shape, always_cron=always_cron)
    reasons = _reasons(found, options, app)
    if when is None:
        reasons.append("its times cannot be said by everyMs or cron")
    if when is None or reasons:
        _write_celery(found, zone, app, shape)
        shape.note("form", f"written in Celery's form: {'; '.join(reasons)}")
    else:
        payload = list(found.args) if found.args else dict(found.kwargs)
        shape.mapping = {"binding": task_name(found), "payload": payload, **when}
    shape.mapping |= {"options": options} if options else {}
    shape.mapping |= {} if shape.expires_ms is None else {"expiresMs": shape.expires_ms}
    shape.mapping |= found.more
    return shape


def task_name(found: Found) -> Any:
    """Return the name of a task, where it was given as the task itself."""
    return found.task.name if is_task(found.task) else found.task


def _write_celery(found: Found, zone: tzinfo, app: Any, shape: Shape) -> None:
    value = found.schedule
    own = getattr(zone, "key", None)
    if behaves_as(type(value), crontab) and own != getattr(app.timezone, "key", None):
        value = in_zone(value, zone)
    elif type(value) is schedule and not value.relative:
        value = value.run_every.total_seconds()
    shape.mapping = {"task": task_name(found), "schedule": value}
    shape.mapping |= {"args": tuple(found.args)} if found.args else {}
    shape.mapping |= {"kwargs": dict(found.kwargs)} if found.kwargs else {}


def _when(found: Found, zone: tzinfo, shape: Shape, *, always_cron: bool) -> dict[str, Any] | None:
    """Return `everyMs`, or `cron` and `timeZone`; None where only Celery's form says the times."""
    value = found.schedule
    if behaves_as(type(value), crontab):
        if not isinstance(zone, ZoneInfo):
            return None
        text, either_day = cron_text(value)
        if either_day and not always_cron:
            shape.note(
                "days",
                "both day fields are restricted: Celery's crontab wants both to match, and stays "
                f"so; cron {text!r} would run when either does (--always-cron)",
            )
            return None
        if either_day:
            shape.note(
                "days",
                f"AND became OR: cron {text!r} runs when either day field matches, where Celery's "
                "crontab wanted both",
            )
        return {"cron": text, "timeZone": zone.key}
    if behaves_as(type(value), schedule) and not value.relative:
        milliseconds = value.run_every.total_seconds() * _SECOND_MS
        if milliseconds >= MIN_EVERY_MS and milliseconds == int(milliseconds):
            return {"everyMs": int(milliseconds)}
    return None


def _reasons(found: Found, options: Mapping[str, Any], app: Any) -> list[str]:
    """Return why Tsumugi's form would not do, whatever the times are."""
    reasons = []
    if not NAME.fullmatch(found.name):
        reasons.append("its name has other characters than A-Z, a-z, 0-9, '_' and '-'")
    if found.args and found.kwargs:
        reasons.append("it has both args and kwargs")
    name = task_name(found)
    if not isinstance(name, str) or find_task(app, name) is None:
        reasons.append("its task is not registered here, so it is sent by name")
    bound = sorted(CELERY_ONLY.keys() & options.keys())
    if bound:
        reasons.append(f"options has Celery's own {', '.join(bound)}")
    return reasons


def _options(found: Found, shape: Shape) -> dict[str, Any]:
    """Return the options that stay; those that a schedule cannot have are told."""
    options = {name: value for name, value in found.options.items() if value is not None}
    for name in REFUSED.keys() & options.keys():
        shape.note("lost", f"options.{name}: {REFUSED[name]}")
        del options[name]
    if isinstance(options.get("headers"), Mapping):
        headers = dict(options["headers"])
        for name in [each for each in headers if each in HEADERS or each.startswith(HEADER_PREFIX)]:
            shape.note("lost", f"the header {name}: it is a header of the message's own")
            del headers[name]
        options["headers"] = headers
    seconds = options.get("expires")
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds > 0:
        options["expires"] = None
        shape.expires_ms = round(seconds * _SECOND_MS)
        text = "expires counted from the sending; expiresMs counts from the scheduled time"
        shape.note("expires", text)
    return {name: value for name, value in options.items() if value is not None}
