"""Nights of daylight saving, by the simulated clock, in twenty zones."""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from tests.beat.bench import iso, ms
from tsumugi_celery.core.repeat import repeat_clock

ZONES = """
Europe/Berlin Europe/London Europe/Lisbon Europe/Athens Europe/Dublin America/New_York
America/Chicago America/Denver America/Los_Angeles America/St_Johns America/Halifax
America/Santiago America/Miquelon America/Havana Australia/Sydney Australia/Lord_Howe
Pacific/Auckland Pacific/Chatham Africa/Cairo Asia/Beirut
"""


def shifts(zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The first moments after the clock goes forward and back in 2026, to the minute, in UTC."""
    forward = back = None
    moment = datetime(2026, 1, 1, tzinfo=timezone.utc)
    while moment.year == 2026:
        later = moment + timedelta(minutes=15)
        before = moment.astimezone(zone).utcoffset()
        after = later.astimezone(zone).utcoffset()
        assert before is not None
        assert after is not None
        if after > before and forward is None:
            forward = later
        elif after < before and back is None:
            back = later
        moment = later
    assert forward is not None
    assert back is not None
    return forward, back


@pytest.mark.parametrize("name", ZONES.split())
def test_a_night_without_and_a_night_with_an_hour_twice(make_world, name):
    """A repeat in the middle of the shifted time: after the gap, and once in the fold."""
    zone = ZoneInfo(name)
    forward, back = shifts(zone)
    step = timedelta(minutes=15)
    in_gap = (forward - step).astimezone(zone).replace(tzinfo=None) + step  # never on the wall
    in_fold = back.astimezone(zone).replace(tzinfo=None)  # twice on the wall
    for wall, shift, told in (
        (in_gap, forward, [forward]),
        (in_fold, back, [in_fold.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)]),
    ):
        start = shift - timedelta(hours=2)
        world = make_world(iso(int(start.timestamp() * 1000)))
        world.clock.set(int(start.timestamp() * 1000))
        nights = world.new_process().repeats("nights", binding="proj.probe")
        identifier = f"{name} {shift.isoformat()}"
        nights.set(identifier, {}, cron=f"{wall.minute} {wall.hour} * * *", time_zone=name)
        world.start()
        world.run_until(iso(int((shift + timedelta(hours=2)).timestamp() * 1000)), step=1_800_000)
        expected = [iso(int(each.timestamp() * 1000)) for each in told]
        assert world.times(identifier) == expected
        world.stop()


def test_missing_quarter_hours_fall_on_one_minute():
    """C249a: four missing quarter hours are one run, then the usual ones."""
    clock = repeat_clock("*/15 2 * * *", "America/Los_Angeles")
    at: int | None = ms("2026-03-08T09:00:00Z")
    found = []
    for _ in range(3):
        assert at is not None
        at = clock.next_after(at)
        assert at is not None
        found.append(iso(at))
    assert found == ["2026-03-08T10:00:00Z", "2026-03-09T09:00:00Z", "2026-03-09T09:15:00Z"]


def test_a_doubled_time_runs_once():
    """C249b: the first of the two."""
    clock = repeat_clock("30 1 * * *", "America/Chicago")
    at: int | None = ms("2026-10-31T12:00:00Z")
    found = []
    for _ in range(3):
        assert at is not None
        at = clock.next_after(at)
        assert at is not None
        found.append(iso(at))
    assert found == ["2026-11-01T06:30:00Z", "2026-11-02T07:30:00Z", "2026-11-03T07:30:00Z"]
