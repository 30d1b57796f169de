"""Machines that sleep: the wall clock goes on, the monotonic one may not."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.clocks.moments import ms
from tests.model.clock import HOUR, MINUTE, SECOND


@pytest.mark.parametrize("monotonic", [True, False])
def test_a_laptop_asleep_for_a_night(drive, monotonic):
    driver = drive("2026-03-02T22:00:10Z")
    driver.start({"every": {"everyMs": 10 * MINUTE}, "night": {"cron": "0 3 * * *"}})
    driver.run(HOUR)
    before = driver.executed("every")
    clock = driver.world.clock
    (clock.advance if monotonic else clock.jump)(8 * HOUR)
    driver.turn()
    assert driver.executed("every") == [*before, before[-1] + 10 * MINUTE]
    assert driver.executed("night") == [ms("2026-03-03T03:00:00Z")]
    row = driver.world.schedule("every")
    assert row.n_delay == 47
    assert clock.now() < row.next_at <= clock.now() + 10 * MINUTE
    driver.run(HOUR)
    driver.check_books()


def test_c112_a_loop_that_was_stopped_runs_at_once(drive):
    driver = drive("2026-03-02T10:30:00Z")
    driver.start({"a": {"cron": "0 * * * *"}})
    driver.run_until(ms("2026-03-02T10:59:50Z"))
    driver.world.clock.advance(20 * MINUTE + 10 * SECOND)
    driver.turn()
    assert driver.executed("a") == [ms("2026-03-02T11:00:00Z")]
    (row,) = driver.world.occurrences("a")
    assert row.fired_at == ms("2026-03-02T11:20:00Z")
    driver.run_until(ms("2026-03-02T12:00:30Z"))
    assert driver.executed("a")[1:] == [ms("2026-03-02T12:00:00Z")]


def test_c120_asleep_every_night_at_the_scheduled_time(drive):
    zone = ZoneInfo("Europe/Berlin")
    driver = drive("2026-03-20T12:00:00Z")
    driver.start({"a": {"cron": "0 3 * * 0", "timeZone": "Europe/Berlin"}})
    started: dict[int, datetime] = {}
    for day in range(21, 44):
        night = datetime(2026, 3, 1, 1, tzinfo=zone) + timedelta(days=day - 1)
        morning = night.replace(hour=7)
        driver.run_until(int(night.timestamp() * 1000), step=6 * HOUR)
        driver.world.clock.jump(int(morning.timestamp() * 1000) - driver.world.clock.now())
        driver.turn()
        for at in driver.executed("a"):
            started.setdefault(at, morning)
    expected = ["2026-03-22T02:00:00Z", "2026-03-29T01:00:00Z", "2026-04-05T01:00:00Z"]
    assert list(started)[:3] == [ms(each) for each in expected]
    assert all(morning.weekday() == 6 for morning in started.values())
    driver.check_books()
