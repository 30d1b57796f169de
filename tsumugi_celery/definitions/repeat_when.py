"""Reading `every`, or `cron` with a zone, under the rules of repeats.

Source: section 6 of the contract: a phase of its own for every id, the four aliases, a zone that
must be given, a time within a gap runs right after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tsumugi_celery.core.cron import CronError, expand_alias, parse_cron
from tsumugi_celery.core.keys import Report
from tsumugi_celery.core.repeat import NotAccepted, parse_every, phase_of
from tsumugi_celery.core.zones import ZoneError, load_zone
from tsumugi_celery.definitions.fingerprint import fingerprint_of
from tsumugi_celery.definitions.when import Cron, Every, When


@dataclass(frozen=True)
class RepeatTimes:
    """The times of a repeat, without its phase.

    Attributes:
        when: the interval, or five fields in a zone.
        fingerprint: changes when the times change, and with nothing else.
    """

    when: Every | Cron
    fingerprint: str

    def of(self, collection: str, identifier: str) -> When:
        """Return the times of one id: an interval gets its phase."""
        if isinstance(self.when, Cron):
            return self.when
        every = self.when.every_ms
        return Every(every, phase_of(collection, identifier, every))


def read_repeat_times(
    every: object, cron: object, time_zone: object, report: Report
) -> RepeatTimes | None:
    """Return the times; None, with all problems reported, if they are wrong.

    Args:
        every: `"30s"` and its like, a timedelta, or None.
        cron: five fields, one of the four aliases, or None.
        time_zone: an IANA name beside cron; None beside every.
        report: where problems go.
    """
    if (every is None) == (cron is None):
        got = "neither every nor cron" if every is None else "every and cron"
        hint = "such as every='30s', or cron='0 20 * * *' with time_zone"
        report.say("every", got, "exactly one of the two", hint)
    when: Any = None
    if every is not None:
        when = _read_every(every, report)
        if cron is None and time_zone is not None:
            report.add("time_zone", time_zone, "no time_zone with every", "it belongs to cron")
    if cron is not None:
        when = _read_cron(cron, time_zone, report)
    return None if when is None else RepeatTimes(when, fingerprint_of(when.identity))


def _read_every(value: object, report: Report) -> Every | None:
    try:
        return Every(parse_every(value))
    except NotAccepted as error:
        report.say("every", error.got, error.accepted, error.hint)
        return None


def _read_cron(value: object, time_zone: object, report: Report) -> Cron | None:
    fields = zone = None
    try:
        fields = parse_cron(expand_alias(value))
    except CronError as error:
        report.say("cron", error.got, error.accepted, f"{error.field}: {error.hint}")
    if time_zone is None:
        hint = "a repeat has no default zone; write 'UTC' if you mean it"
        report.say("time_zone", "nothing", "an IANA time zone name", hint)
        return None
    try:
        zone = load_zone(time_zone)
    except ZoneError as error:
        report.say("time_zone", error.got, error.accepted, error.hint)
    if fields is None or zone is None:
        return None
    return Cron(fields.text, str(time_zone), fields, zone, "repeat")
