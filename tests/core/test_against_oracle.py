"""The evaluator against two other opinions: a naive scan of the wall clock, and croniter in UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from croniter import croniter
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tests.core import oracle
from tsumugi_celery.core import shifts
from tsumugi_celery.core.calendar import Calendar
from tsumugi_celery.core.cron import CronError, parse_cron
from tsumugi_celery.core.timing import Stretch, WallClock
from tsumugi_celery.core.zones import load_zone, zone_names

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ZONES = sorted(zone_names())
# Zones whose clocks are turned in unusual ways come up often.
ODD = (
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll"),
    *(
        "Antarctica/Casey",
        "America/Santiago",
        "Africa/Cairo",
        "America/Havana",
        "Africa/Casablanca",
    ),
    *("Pacific/Apia", "Pacific/Kwajalein", "Europe/Dublin", "Asia/Gaza", "America/St_Johns"),
    *("Africa/Casablanca", "UTC"),
)
LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
WIDTHS = (60, 24, 31, 12, 7)


def ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


@st.composite
def parts(draw, position):
    low, high = LIMITS[position]
    kind = draw(st.sampled_from(["star", "number", "number", "range"]))
    first = draw(st.integers(low, high))
    if kind == "number":
        return str(first)
    body = "*" if kind == "star" else f"{first}-{draw(st.integers(first, high))}"
    step = draw(st.none() | st.integers(1, WIDTHS[position]))
    return body if step is None else f"{body}/{step}"


@st.composite
def fields(draw, position):
    if draw(st.integers(0, 2)):
        return "*"
    return ",".join(draw(st.lists(parts(position), min_size=1, max_size=3)))


@st.composite
def expressions(draw):
    """Return an expression that occurs; frequent ones and those of the small hours prevail."""
    text = " ".join(draw(fields(position)) for position in range(5))
    try:
        parse_cron(text)
    except CronError:
        assume(condition=False)
    return text


@st.composite
def windows(draw):
    """Return a zone and a moment, most often shortly before the clock is turned there."""
    zone = load_zone(draw(st.sampled_from(ODD) | st.sampled_from(ZONES)))
    year = draw(st.integers(1990, 2049))
    turns = shifts._turns(zone, year)
    begin = datetime(year, 1, 1, tzinfo=timezone.utc) + timedelta(
        minutes=draw(st.integers(0, 525_000))
    )
    if turns and draw(st.integers(0, 4)):
        turn = draw(st.sampled_from(turns))
        begin = EPOCH + timedelta(seconds=turn.moment, minutes=-draw(st.integers(-200, 1800)))
    return zone, begin + timedelta(milliseconds=draw(st.sampled_from([0, 0, 1, 59_999])))


def walk(timing: WallClock, after: datetime, until: datetime) -> list[datetime]:
    found, moment = [], ms(after)
    while (following := timing.next_after(moment)) is not None and following <= ms(until):
        assert following > moment
        moment = following
        found.append(EPOCH + timedelta(milliseconds=moment))
    return found


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(expressions(), windows(), st.sampled_from(["schedule", "repeat"]), st.integers(1, 2000))
@example(
    "* * * * *",
    (load_zone("Pacific/Apia"), datetime(2011, 12, 29, 12, tzinfo=timezone.utc)),
    "repeat",
    2880,
)
@example(
    "30 2 * * *",
    (load_zone("Africa/Casablanca"), datetime(2026, 2, 14, tzinfo=timezone.utc)),
    "repeat",
    2880,
)
def test_the_naive_scan_agrees(text, window, rule, minutes):
    zone, after = window
    until = after + timedelta(minutes=minutes)
    timing = WallClock(parse_cron(text), zone, rule)
    expected = oracle.runs(text, zone, rule, after, until)
    assert walk(timing, after, until) == expected
    whole = Stretch(len(expected), ms(expected[0]), ms(expected[-1])) if expected else None
    assert timing.stretch(ms(after), ms(until)) == whole
    shown = timing.local_times(ms(after), ms(until))
    assert [one.at_ms for one in shown if one.status == "runs"] == [ms(one) for one in expected]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(expressions(), windows(), st.integers(1, 400 * 24 * 60))
def test_counting_is_listing(text, window, minutes):
    zone, after = window
    until = after + timedelta(minutes=minutes)
    timing = WallClock(parse_cron(text), zone)
    middle = after + (until - after) / 3
    whole = timing.stretch(ms(after), ms(until))
    halves = [timing.stretch(ms(after), ms(middle)), timing.stretch(ms(middle), ms(until))]
    assert (whole.count if whole else 0) == sum(half.count for half in halves if half)
    if whole is None:
        return
    assert whole.first == timing.next_after(ms(after))
    assert timing.next_after(whole.last - 1) == whole.last
    following = timing.next_after(whole.last)
    assert following is None or following > ms(until)
    if whole.count < 2000:
        assert len(walk(timing, after, until)) == whole.count


@settings(max_examples=150, deadline=None, derandomize=True)
@given(expressions(), st.integers(0, 30_000_000), st.integers(0, 600_000))
def test_the_calendar_agrees_with_itself(text, start, length):
    calendar = Calendar(parse_cron(text))
    stop = start + length
    first, last = calendar.first(start, stop), calendar.last(start, stop)
    count = calendar.count(start, stop)
    assert (count == 0) == (first is None) == (last is None)
    if first is not None and last is not None:
        assert start <= first <= last < stop
        assert calendar.count(first, last + 1) == count
        assert calendar.count(first + 1, last) == max(0, count - 2)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(expressions(), st.datetimes(datetime(1990, 1, 1), datetime(2049, 1, 1)))  # noqa: DTZ001
@example("0 0 1-31/10 * 1", datetime(2026, 6, 1))  # noqa: DTZ001
@example("0 0 */10 * 1", datetime(2026, 6, 1))  # noqa: DTZ001
@example("0 0 *,15 * 1", datetime(2026, 6, 1))  # noqa: DTZ001
@example("0 2 29 2 0", datetime(2027, 12, 1))  # noqa: DTZ001
def test_croniter_agrees_in_utc(text, start):
    after = start.replace(microsecond=0, tzinfo=timezone.utc)
    # croniter takes 7-7, and any range from a number to itself, for every value of the field.
    other_text = re.sub(r"\b(\d+)-\1\b(/\d+)?", r"\1", text)
    days = (other_text.split()[2], other_text.split()[4])
    # A range over the whole field, and a star behind a comma, count as a leading star there.
    expanded = croniter.expand(other_text)[0]
    assume(
        all(word[0] == "*" or "*" not in expanded[n] for n, word in zip((2, 4), days, strict=True))
    )
    assume(all("*" not in word[1:] for word in days))
    timing = WallClock(parse_cron(text), load_zone("UTC"))
    other = croniter(other_text, after, implement_cron_bug=True, max_years_between_matches=50)
    moment = ms(after)
    for _ in range(4):
        following = timing.next_after(moment)
        assert following is not None
        moment = following
        assert EPOCH + timedelta(milliseconds=moment) == other.get_next(datetime)
