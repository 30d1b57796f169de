"""A look ahead without a database: when would a schedule run?"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Final

from tsumugi_celery.core.cron import CronError, expand_alias, parse_cron
from tsumugi_celery.core.errors import DefinitionError, Problem
from tsumugi_celery.core.timing import Interval, Timing, WallClock, wall_clock
from tsumugi_celery.core.wording import shown
from tsumugi_celery.core.zones import ZoneError, load_zone

WHERE = "upcoming()"
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MILLISECOND = timedelta(milliseconds=1)
MIN_EVERY_MS = 1000
MAX_EVERY_MS = 36_525 * 24 * 60 * 60 * 1000  # a hundred years
RULES = ("schedule", "repeat")


class _NotGiven(str):
    """The default of an argument whose absence means something else than its value."""

    __slots__ = ()


UTC: Final = _NotGiven("UTC")


class _Problems(list[Problem]):
    def note(self, key: str, got: str, accepted: str, hint: str = "") -> None:
        self.append(Problem(WHERE, key, got, accepted, hint))


def upcoming(
    *,
    cron: str | None = None,
    time_zone: str | None = UTC,
    every_ms: int | None = None,
    first: datetime | None = None,
    rule: str = "schedule",
    after: datetime,
    count: int = 5,
) -> list[datetime]:
    """Return the next times of a cron expression or an interval.

    Args:
        cron: A five-field expression; with ``rule="repeat"`` also ``@daily`` and its like.
        time_zone: The IANA name of the zone `cron` is read in. Left out or None it is UTC, except
            with ``rule="repeat"``, which wants it given.
        every_ms: The interval in milliseconds, from 1000 to a hundred years.
        first: The first time of the interval, aware; left out, `after` plus one interval.
        rule: ``"schedule"``: a local time that daylight saving skips does not run.
            ``"repeat"``: it runs at the first minute after the gap.
        after: An aware datetime; all times returned are later.
        count: How many times to return, 0 or more; fewer are returned when no more follow.

    Returns:
        Aware datetimes in UTC, in ascending order.

    Raises:
        DefinitionError: For anything a definition would refuse; lists all problems at once.
    """
    problems = _Problems()
    after_ms = _read_moment("after", after, problems)
    if not _is_whole(count) or count < 0:
        problems.note("count", shown(count), "an integer, 0 or more")
    if rule not in RULES:
        problems.note("rule", shown(rule), "'schedule' or 'repeat'")
    if (cron is None) == (every_ms is None):
        got = "neither" if cron is None else "both"
        problems.note("cron, every_ms", got, "exactly one of the two")
    timing: Timing | None = None
    if every_ms is not None:
        timing = _read_interval(every_ms, first, after_ms, problems)
        if cron is None and time_zone is not None and time_zone is not UTC:
            hint = "an interval has no time zone"
            problems.note("time_zone", shown(time_zone), "nothing beside every_ms", hint)
    if cron is not None:
        timing = _read_wall_clock(cron, time_zone, rule, problems)
        if every_ms is None and first is not None:
            problems.note("first", shown(first), "nothing beside cron", "it belongs to every_ms")
    if problems or timing is None:
        raise DefinitionError(problems)
    return _listed(timing, after_ms, count)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_moment(key: str, moment: object, problems: _Problems) -> int:
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        hint = "such as datetime.now(timezone.utc)"
        problems.note(key, shown(moment), "a datetime with a time zone", hint)
        return 0
    return (moment - EPOCH) // MILLISECOND


def _read_interval(
    every_ms: int, first: object, after_ms: int, problems: _Problems
) -> Interval | None:
    first_ms = None if first is None else _read_moment("first", first, problems)
    if not _is_whole(every_ms) or not MIN_EVERY_MS <= every_ms <= MAX_EVERY_MS:
        accepted = f"an integer of milliseconds from {MIN_EVERY_MS} to {MAX_EVERY_MS}"
        problems.note("every_ms", shown(every_ms), accepted)
        return None
    return Interval(after_ms + every_ms if first_ms is None else first_ms, every_ms)


def _read_wall_clock(
    cron: object, time_zone: object, rule: str, problems: _Problems
) -> WallClock | None:
    repeat = rule == "repeat"
    fields = zone = None
    try:
        fields = parse_cron(expand_alias(cron) if repeat else cron)
    except CronError as error:
        problems.note("cron", error.got, error.accepted, f"{error.field}: {error.hint}")
    if repeat and (time_zone is None or time_zone is UTC):
        hint = "a repeat has no default zone; write 'UTC' if you mean it"
        problems.note("time_zone", "nothing", "an IANA time zone name", hint)
        return None
    try:
        zone = load_zone("UTC" if time_zone is None else time_zone)
    except ZoneError as error:
        problems.note("time_zone", error.got, error.accepted, error.hint)
    if fields is None or zone is None:
        return None
    return wall_clock(fields, zone, "repeat" if repeat else "schedule")


def _listed(timing: Timing, after_ms: int, count: int) -> list[datetime]:
    found: list[datetime] = []
    moment: int | None = after_ms
    while len(found) < count:
        moment = None if moment is None else timing.next_after(moment)
        if moment is None:
            break
        found.append(EPOCH + moment * MILLISECOND)
    return found
