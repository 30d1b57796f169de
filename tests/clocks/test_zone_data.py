"""C045: zone data that change under a running ledger (decision 0040)."""

import pytest

from tests.clocks.driving import with_zone
from tests.clocks.moments import ms
from tests.core.tzif import zone
from tests.model.clock import HOUR
from tests.model.world import define

CHANGE = ms("2026-11-01T08:00:00Z") // 1000
#: Alberta went back to winter time by the old data, and by the new data it stays in summer time.
OLD = zone((CHANGE, -7 * 3600), start=-6 * 3600)
NEW = zone((CHANGE + 10 * 365 * 86400, -7 * 3600), start=-6 * 3600)
NINE = define({"a": {"cron": "0 9 * * *", "timeZone": "America/Edmonton"}})["a"]


def by(data):
    return {"a": with_zone(NINE, data)}


def days(driver):
    return [each.scheduled_at for each in driver.world.occurrences("a")]


@pytest.mark.parametrize(
    ("stopped", "updated", "executed"),
    [
        # Before either time.
        ("2026-11-01T00:00:00Z", "2026-11-01T01:00:00Z", "2026-11-01T15:00:00Z"),
        # Between the two: by the new data it is late already.
        ("2026-11-01T14:00:00Z", "2026-11-01T15:30:00Z", "2026-11-01T15:00:00Z"),
        # After both, with the time not executed by the old data.
        ("2026-11-01T14:00:00Z", "2026-11-01T20:00:00Z", "2026-11-01T15:00:00Z"),
        # After it was executed by the old data.
        ("2026-11-01T16:30:00Z", "2026-11-01T17:00:00Z", "2026-11-01T16:00:00Z"),
    ],
)
def test_c045_an_update_gives_one_run_a_local_day(drive, stopped, updated, executed):
    driver = drive("2026-10-30T20:00:00Z")
    driver.start_defined(by(OLD))
    driver.run_until(ms(stopped), step=HOUR)
    driver.beats.clear()
    driver.world.clock.advance(ms(updated) - driver.world.clock.now())
    driver.start_defined(by(NEW))
    driver.run_until(ms("2026-11-04T00:00:00Z"), step=HOUR)
    rest = ["2026-11-02T15:00:00Z", "2026-11-03T15:00:00Z"]
    assert days(driver) == [ms(each) for each in ("2026-10-31T15:00:00Z", executed, *rest)]
    driver.check_books()
    assert driver.world.schedule("a").next_at == ms("2026-11-04T15:00:00Z")


def test_c045_past_days_do_not_run_again_when_times_move_back(drive):
    driver = drive("2026-10-30T20:00:00Z")
    driver.start_defined(by(NEW))
    driver.run_until(ms("2026-11-02T17:00:00Z"), step=HOUR)
    before = days(driver)
    driver.beats.clear()
    driver.start_defined(by(OLD))
    driver.run_until(ms("2026-11-04T00:00:00Z"), step=HOUR)
    assert days(driver) == [*before, ms("2026-11-03T16:00:00Z")]


def test_c045_two_hosts_that_disagree_run_both_times_and_none_twice(drive):
    driver = drive("2026-10-31T20:00:00Z")
    driver.start_defined(by(OLD))
    driver.start_defined(by(NEW))
    driver.run_until(ms("2026-11-04T00:00:00Z"), step=HOUR)
    driver.check_books()
    mornings = {at // (24 * HOUR) for at in days(driver)}
    assert len(mornings) == 3
    assert set(days(driver)) <= {
        ms(f"2026-11-0{day}T{hour}:00:00Z") for day in (1, 2, 3) for hour in (15, 16)
    }
