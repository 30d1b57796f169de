"""Reading `everyMs`, or `cron` with `timeZone`.

Source: section 2 of the contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from tsumugi_celery.core.cron import CronError, parse_cron
from tsumugi_celery.core.keys import Report
from tsumugi_celery.core.options import whole
from tsumugi_celery.core.upcoming import MAX_EVERY_MS, MIN_EVERY_MS
from tsumugi_celery.core.zones import ZoneError, load_zone
from tsumugi_celery.definitions.when import Cron, Every, When


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
    zone = load_zone("UTC")
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
