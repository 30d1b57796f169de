"""Celery's schedule objects through our door."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from celery.schedules import BaseSchedule, crontab, schedule, solar

from tests.celery_faults import solar_without_sunrise
from tests.definitions.reading import CELERY, new_app, read
from tests.definitions.times import DAY_MS, ms, next_times, timing_of
from tsumugi_celery.core.decide import decide
from tsumugi_celery.core.timing import Stretch
from tsumugi_celery.definitions.celery_timing import MAX_COUNTED, EstimateTiming, PolledTiming
from tsumugi_celery.definitions.pinned import DEFAULT_DELAY_MS


@solar_without_sunrise
def test_c228_solar_events():
    sunset = timing_of(solar("sunset", 59.91, 10.75), timezone="Europe/Oslo")
    assert next_times(sunset, "2026-06-20T12:00:00Z", 2) == [
        "2026-06-20T20:43:32Z",
        "2026-06-21T20:43:45Z",
    ]
    sunrise = timing_of(solar("sunrise", 78.22, 15.65), timezone="Europe/Oslo")
    assert next_times(sunrise, "2026-12-01T12:00:00Z", 1) == ["2027-02-16T10:20:48Z"]
    night = ms("2026-12-01T12:00:00Z")
    assert sunrise.stretch(night, night + 30 * DAY_MS) is None


@pytest.mark.parametrize(
    "event", ["sunrise", "sunset", "solar_noon", "dawn_civil", "dusk_nautical"]
)
@pytest.mark.parametrize("latitude", [0.0, 35.7, -33.9])
def test_a_solar_event_is_never_found_twice(event, latitude):
    timing = timing_of(solar(event, latitude, 139.7))
    moment = timing.next_after(ms("2026-01-01T00:00:00Z"))
    for _ in range(400):
        following = timing.next_after(moment)
        assert 0.9 * DAY_MS < following - moment < 1.1 * DAY_MS
        assert timing.next_after(following - 1) == following
        moment = following


@solar_without_sunrise
def test_a_sun_that_never_rises_or_sets_there():
    assert timing_of(solar("sunrise", 90, 0)).next_after(0) is None


class Tides(schedule):
    """Has times of its own: one every 12 h 25 min since 1970, wherever it is asked."""

    period = timedelta(hours=12, minutes=25)
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)

    def remaining_estimate(self, last_run_at):
        passed = (last_run_at - self.epoch) // self.period
        return self.epoch + (passed + 1) * self.period - self.now()


class Ticks(Tides):
    period = timedelta(milliseconds=250)


class AfterTheLast(schedule):
    """Has no times of its own: each one depends on the one before."""

    def remaining_estimate(self, last_run_at):
        return last_run_at + timedelta(seconds=1 + last_run_at.minute % 2) - self.now()


class Broken(schedule):
    def remaining_estimate(self, _last_run_at):
        raise LookupError("the tide table is away")


class Wordy(schedule):
    def remaining_estimate(self, _last_run_at):
        return "soon"


def test_a_custom_schedule_with_times_of_its_own_is_estimated():
    timing = timing_of(Tides(1))
    assert isinstance(timing, EstimateTiming)
    period = 12 * 3_600_000 + 25 * 60_000
    assert timing.next_after(0) == period
    assert timing.stretch(period, 10 * period) == Stretch(9, 2 * period, 10 * period)
    assert timing.stretch(0, period - 1) is None


def test_a_long_stretch_is_estimated():
    timing = timing_of(Ticks(1))
    stretch = timing.stretch(0, DAY_MS + 100)
    exact = DAY_MS // 250
    assert exact > 30 * MAX_COUNTED
    assert abs(stretch.count - exact) < exact / 1000
    assert (stretch.first, stretch.last) == (250, DAY_MS)


def test_a_custom_schedule_that_goes_by_its_last_run_is_polled():
    timing = timing_of(AfterTheLast(1))
    assert isinstance(timing, PolledTiming)
    assert timing.ask(60_000, 61_000) == (False, 1000)
    due, _ = timing.ask(60_000, 62_000)
    assert due


def test_what_a_custom_schedule_raises_comes_out():
    with pytest.raises(LookupError, match="tide table"):
        timing_of(Broken(1)).next_after(0)
    with pytest.raises(TypeError, match="no timedelta"):
        timing_of(Wordy(1))


@pytest.mark.parametrize(
    ("value", "relative"),
    [
        (crontab(minute="*/10"), False),
        (solar("sunset", 59.91, 10.75), False),
        (Tides(1), False),
        (0.75, False),
        (timedelta(seconds=10), True),
        (timedelta(seconds=90), True),
        (timedelta(hours=5), True),
        (timedelta(days=2, hours=3), True),
    ],
)
def test_the_ledger_finds_a_due_time_again(value, relative):
    registered = ms("2026-03-20T10:20:30Z") + 123
    entry = {**CELERY, "schedule": value, "relative": relative}
    definition = read(entry, app=new_app(timezone="Europe/Oslo"))
    first = registered + (definition.every_ms or 0)
    next_at: Any = definition.timing(first).next_after(first - 1 if definition.every_ms else first)
    accounted = registered
    for _ in range(60):
        timing = definition.timing(first)
        decision: Any = decide(timing, next_at=next_at, accounted_until=accounted, now=next_at,
                          paused=False, blocked=False)  # fmt: skip
        assert decision.execute_at == next_at
        assert decision.skipped == ()
        assert timing.next_after(decision.next_at - 1) == decision.next_at
        accounted, next_at = next_at, decision.next_at


def test_the_users_object_is_left_as_it_was():
    value = solar("sunset", 59.91, 10.75)
    before = dict(vars(value))
    timing_of(value).next_after(0)
    assert vars(value) == before


def test_a_schedule_may_be_asked_from_several_threads():
    timing = timing_of(solar("sunset", 59.91, 10.75))
    expected = [timing.next_after(day * DAY_MS) for day in range(50)]
    found = {}

    def ask(number):
        found[number] = [timing.next_after(day * DAY_MS) for day in range(50)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert list(found.values()) == [expected] * 4


class Weekdays(schedule):
    """Overrides is_due, as classes that look at a calendar or a database do."""

    def is_due(self, last_run_at):
        now = self.now()
        return (now.weekday() < 5 and now - last_run_at >= self.run_every), 30


class Duck:
    """Not even a subclass of Celery's."""

    answer = (True, 1.5)

    def is_due(self, _last_run_at):
        return self.answer


def test_a_class_that_decides_for_itself_is_polled():
    timing = timing_of(Weekdays(60))
    assert isinstance(timing, PolledTiming)
    assert timing.polled
    friday, saturday = ms("2026-01-02T10:00:00Z"), ms("2026-01-03T10:00:00Z")
    assert timing.ask(friday - 60_000, friday) == (True, 30_000)
    assert timing.ask(friday - 59_999, friday) == (False, 30_000)
    assert timing.ask(friday, saturday) == (False, 30_000)
    assert timing.next_after(friday) == friday + 30_000
    assert timing.stretch(friday, saturday) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((True, 1.5), (True, 1500)),
        ((False, 0), (False, 1)),
        ((False, -5), (False, 1)),
        ((False, None), (False, DEFAULT_DELAY_MS)),
        ((False, float("nan")), (False, DEFAULT_DELAY_MS)),
        ((False, "soon"), (False, DEFAULT_DELAY_MS)),
        ((1, timedelta(seconds=1)), (True, DEFAULT_DELAY_MS)),
    ],
)
def test_what_is_due_may_answer(answer, expected):
    duck = Duck()
    duck.answer = answer
    assert timing_of(duck).ask(0, 1000) == expected


def test_a_failing_is_due_raises():
    class Failing(BaseSchedule):
        def is_due(self, _last_run_at):
            raise LookupError("no calendar")

    with pytest.raises(LookupError, match="no calendar"):
        timing_of(Failing()).ask(0, 1)
