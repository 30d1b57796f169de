"""Clocks that are set: no double run, no silent schedule, the next time true at once."""

import pytest

from tests.clocks.moments import ms
from tests.model.clock import DAY, HOUR, MINUTE, SECOND, YEAR

EVERY = {"everyMs": 10 * MINUTE}
HOURLY = {"cron": "0 * * * *"}
BOTH = {"every": EVERY, "hourly": HOURLY}


@pytest.mark.parametrize("jump", [HOUR, -HOUR, YEAR, -YEAR, 23 * HOUR, 25 * HOUR])
def test_a_jump_that_stays(drive, jump):
    driver = drive("2026-03-02T00:00:10Z")
    driver.start(BOTH)
    driver.run(2 * HOUR)
    before = len(driver.world.started)
    driver.world.clock.jump(jump)
    if jump == -HOUR:
        # A record up to a day ahead stands: silent for as long as the clock went back.
        driver.run(HOUR)
    driver.run(2 * HOUR)
    driver.check_books()
    assert len(driver.world.started) - before >= 10
    for row in driver.world.read().schedules.values():
        assert driver.world.clock.now() < row.next_at <= driver.world.clock.now() + HOUR


@pytest.mark.parametrize("jump", [HOUR, DAY, 3 * DAY, YEAR])
def test_a_jump_that_is_corrected(drive, jump):
    driver = drive("2026-03-02T00:00:10Z")
    driver.start(BOTH)
    driver.run(2 * HOUR)
    driver.world.clock.jump(jump)
    driver.run(30 * MINUTE)
    driver.world.clock.jump(-jump)
    driver.turn()
    now = driver.world.clock.now()
    ahead = jump + HOUR if jump <= DAY else HOUR
    for row in driver.world.read().schedules.values():
        assert now < row.next_at <= now + ahead + HOUR
        assert (row.last_run_at or 0) <= now or jump <= DAY
    driver.run(ahead + 2 * HOUR, step=10 * MINUTE)
    driver.check_books()
    assert max(driver.executed("every")) >= driver.world.clock.now() - 20 * MINUTE
    assert max(driver.executed("hourly")) >= driver.world.clock.now() - HOUR - MINUTE


def test_what_was_executed_ahead_is_not_executed_again_and_not_counted_either(drive):
    driver = drive("2026-03-02T00:00:10Z")
    driver.start({"a": HOURLY})
    driver.world.clock.jump(3 * DAY)
    driver.run(3 * HOUR)
    ahead = set(driver.executed("a"))
    assert len(ahead) == 4
    driver.world.clock.jump(-3 * DAY - 3 * HOUR)
    driver.turn()
    # Nobody looks for four days: those that were executed lie in the midst of what was missed.
    driver.world.clock.advance(4 * DAY)
    driver.turn()
    driver.check_books()
    start = ms("2026-03-02T01:00:00Z")
    driver.check_times("a", list(range(start, driver.world.clock.now() + 1, HOUR)))
    assert len(driver.executed("a")) == 4


def test_an_interval_registered_by_a_clock_far_ahead_is_not_silent(drive):
    driver = drive("2026-03-02T00:00:10Z")
    driver.world.clock.jump(YEAR)
    driver.start({"a": EVERY})
    driver.run(MINUTE)
    driver.world.clock.jump(-YEAR)
    driver.run(HOUR)
    assert len(driver.executed("a")) == 6
    driver.check_books()


def test_a_message_lost_under_a_clock_far_ahead_does_not_hold_skip(drive):
    driver = drive("2026-03-02T00:00:10Z")
    beat = driver.start({"a": EVERY})
    driver.run(MINUTE)
    driver.world.clock.jump(YEAR)
    beat.tick()
    driver.world.broker.waiting.clear()
    driver.world.clock.jump(-YEAR)
    driver.run(HOUR)
    assert driver.executed("a")
    driver.check_books()


def test_the_next_success_clears_the_error_after_the_clock_was_set_back(drive):
    driver = drive("2026-03-02T00:00:10Z")
    driver.start({"a": EVERY})
    driver.run(15 * MINUTE)
    driver.world.clock.jump(YEAR)
    driver.run(30 * MINUTE)
    driver.world.broker.mood = "failed"
    driver.run(10 * MINUTE)
    driver.world.broker.mood = "sent"
    assert driver.world.schedule("a").last_error
    driver.world.clock.jump(-YEAR)
    driver.run(HOUR)
    row = driver.world.schedule("a")
    assert row.last_error is None
    assert row.last_run_at == max(driver.executed("a")[-3:])
    driver.check_books()


def test_c114_two_hours_ahead_for_a_minute(drive):
    driver = drive("2026-03-02T14:59:30Z")
    driver.start({"a": {"cron": "* * * * *"}})
    driver.run_until(ms("2026-03-02T15:00:30Z"))
    driver.world.clock.jump(2 * HOUR)
    driver.run(MINUTE)
    driver.world.clock.jump(-2 * HOUR)
    delay = driver.turn()
    assert delay <= 1
    assert driver.world.schedule("a").next_at == ms("2026-03-02T17:02:00Z")
    driver.run_until(ms("2026-03-02T17:05:00Z"), step=5 * MINUTE)
    driver.check_books()
    times = list(range(ms("2026-03-02T15:00:00Z"), ms("2026-03-02T17:05:00Z") + 1, MINUTE))
    driver.check_times("a", times)
    assert driver.executed("a")[-1] == ms("2026-03-02T17:05:00Z")


def test_c115_days_ahead_during_the_sleep(drive):
    driver = drive("2023-11-02T08:00:00Z")
    driver.start({"a": {"cron": "30 10 * * *"}})
    driver.run_until(ms("2023-11-02T09:00:00Z"))
    driver.world.clock.jump(ms("2023-11-05T06:00:00Z") - driver.world.clock.now())
    driver.turn()
    assert driver.executed("a") == [ms("2023-11-02T10:30:00Z")]
    row = driver.world.schedule("a")
    assert row.n_delay == 2
    assert row.next_at == ms("2023-11-05T10:30:00Z")


def test_c116_a_day_ahead_and_back(drive):
    minutes = [1, 2, 5, 10, 15, 30, 60, 360, 720, 1440]
    driver = drive("2026-03-02T00:00:10Z")
    driver.start({f"m{each}": {"everyMs": each * MINUTE} for each in minutes})
    driver.run(10 * SECOND)
    driver.world.clock.jump(DAY)
    driver.turn()
    assert len(driver.world.started) == len(minutes)
    driver.run(5 * MINUTE)
    driver.world.clock.jump(-DAY)
    driver.run(DAY + 10 * MINUTE, step=30 * MINUTE)
    driver.check_books()
    now = driver.world.clock.now()
    for each in minutes:
        assert now < driver.world.schedule(f"m{each}").next_at <= now + each * MINUTE


def test_a_clock_a_year_ahead_does_not_age_all_of_history(drive):
    driver = drive("2026-03-02T00:00:10Z")
    driver.start(BOTH)
    driver.run(2 * HOUR)
    before = {row.id for row in driver.world.occurrences("every")}
    driver.world.clock.jump(YEAR)
    driver.run(30 * MINUTE)
    assert before <= {row.id for row in driver.world.occurrences("every")}
    driver.world.clock.jump(-YEAR)
    driver.run(3 * HOUR)
    assert before <= {row.id for row in driver.world.occurrences("every")}


def test_history_that_is_old_by_a_steady_clock_goes(drive):
    driver = drive("2026-03-02T00:00:10Z")
    driver.start(BOTH)
    driver.run(2 * HOUR)
    before = {row.id for row in driver.world.occurrences("every")}
    driver.world.clock.jump(YEAR)
    driver.run(3 * HOUR)
    assert not before & {row.id for row in driver.world.occurrences("every")}
