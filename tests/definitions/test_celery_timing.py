"""Celery's schedule objects through our door."""

from __future__ import annotations

import importlib
import threading
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery.schedules import BaseSchedule, crontab, schedule, solar

from tests.definitions.reading import CELERY, new_app, read
from tsumugi_celery.core.decide import decide
from tsumugi_celery.definitions.celery_timing import MAX_COUNTED, EstimateTiming, PolledTiming
from tsumugi_celery.definitions.pinned import DEFAULT_DELAY_MS

DAY_MS = 86_400_000
#: Comes with Flower; Celery takes its zones too.
pytz = importlib.import_module("pytz")


def ms(text: str) -> int:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(moment.timestamp() * 1000)


def text(moment_ms: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=moment_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def timing_of(value: Any, **settings: Any) -> Any:
    return read({**CELERY, "schedule": value}, app=new_app(**settings)).timing(0)


def next_times(timing, after, count):
    found, moment = [], ms(after)
    for _ in range(count):
        moment = timing.next_after(moment)
        found.append(text(moment))
    return found


def test_c218_day_fields_are_anded():
    timing = timing_of(crontab(minute=0, hour=22, day_of_month="1-7", day_of_week="sat"))
    assert next_times(timing, "2026-06-01T00:00:00Z", 3) == [
        "2026-06-06T22:00:00Z",
        "2026-07-04T22:00:00Z",
        "2026-08-01T22:00:00Z",
    ]


@pytest.mark.parametrize("sunday", ["sun", "sunday", 0, "0", {0}])
def test_c220_a_sunday_entry_runs_once(sunday):
    timing = timing_of(crontab(minute=0, hour=3, day_of_week=sunday))
    assert next_times(timing, "2026-08-01T00:00:00Z", 3) == [
        "2026-08-02T03:00:00Z",
        "2026-08-09T03:00:00Z",
        "2026-08-16T03:00:00Z",
    ]
    assert timing.stretch(ms("2026-08-01T00:00:00Z"), ms("2026-08-03T00:00:00Z")).count == 1


def test_c223_a_crontab_with_a_zone_of_its_own():
    own = crontab(minute=0, hour=8)
    own.tz = ZoneInfo("America/New_York")
    definition = read({**CELERY, "schedule": own}, app=new_app(timezone="Europe/Vilnius"))
    assert definition.time_zone == "America/New_York"
    timing: Any = definition.timing(0)
    assert next_times(timing, "2025-05-20T03:00:00Z", 3) == [
        "2025-05-20T12:00:00Z",
        "2025-05-21T12:00:00Z",
        "2025-05-22T12:00:00Z",
    ]
    assert timing.stretch(ms("2025-05-20T03:00:00Z"), ms("2025-05-22T03:00:00Z")).count == 2


def test_c224_zero_minutes_is_once_an_hour():
    timing = timing_of(crontab(hour="*", minute=0))
    assert next_times(timing, "2024-06-11T10:00:30Z", 3) == [
        "2024-06-11T11:00:00Z",
        "2024-06-11T12:00:00Z",
        "2024-06-11T13:00:00Z",
    ]


def test_c227_month_and_day():
    timing = timing_of(crontab(minute=0, hour=0, day_of_month=5, month_of_year=2))
    assert next_times(timing, "2026-07-11T12:00:00Z", 3) == [
        "2027-02-05T00:00:00Z",
        "2028-02-05T00:00:00Z",
        "2029-02-05T00:00:00Z",
    ]


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


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Asia/Tokyo", "2026-01-01T22:00:00Z"),
        (pytz.timezone("Asia/Tokyo"), "2026-01-01T22:00:00Z"),
        (timezone.utc, "2026-01-01T07:00:00Z"),
        (timezone(timedelta(hours=-3)), "2026-01-01T10:00:00Z"),
        (pytz.FixedOffset(60), "2026-01-01T06:00:00Z"),
        (pytz.utc, "2026-01-01T07:00:00Z"),
    ],
)
def test_a_crontab_is_read_in_the_apps_zone_whatever_library_it_is_of(zone, expected):
    timing = timing_of(crontab(minute=0, hour=7), timezone=zone)
    assert next_times(timing, "2026-01-01T00:00:00Z", 1) == [expected]


def test_without_utc_the_systems_zone_counts():
    app = new_app(enable_utc=False)
    definition = read({**CELERY, "schedule": crontab(minute=0, hour=7)}, app=app)
    assert isinstance(definition.when.zone, tzinfo)
    assert definition.timing(0).next_after(0) is not None


def test_a_crontab_keeps_our_rule_for_gaps_and_folds():
    timing = timing_of(crontab(minute=30), timezone="Europe/Helsinki")
    assert next_times(timing, "2026-10-25T00:00:00Z", 3) == [
        "2026-10-25T00:30:00Z",
        "2026-10-25T02:30:00Z",
        "2026-10-25T03:30:00Z",
    ]
    gap = timing_of(crontab(minute=30, hour=2), timezone="Europe/Berlin")
    assert next_times(gap, "2030-03-29T12:00:00Z", 2) == [
        "2030-03-30T01:30:00Z",
        "2030-04-01T00:30:00Z",
    ]


class NamedCrontab(crontab):
    """Adds nothing to the times."""

    def __init__(self, label, **fields):
        self.label = label
        super().__init__(**fields)


def test_a_subclass_that_leaves_the_times_alone_is_read_as_its_base():
    timing = timing_of(NamedCrontab("x", minute=0, hour="*/6"))
    assert type(timing) is type(timing_of(crontab(minute=0)))
    assert next_times(timing, "2026-01-01T00:00:00Z", 1) == ["2026-01-01T06:00:00Z"]


def relative_times(every, zone, registered, count):
    app = new_app(timezone=zone)
    definition = read({**CELERY, "schedule": every, "relative": True}, app=app)
    assert definition.every_ms is None
    return next_times(definition.timing(ms(registered)), registered, count)


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        (timedelta(hours=1), ["2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"]),
        (timedelta(minutes=90), ["2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"]),
        (timedelta(minutes=1), ["2026-01-01T10:21:00Z", "2026-01-01T10:22:00Z"]),
        (timedelta(seconds=20), ["2026-01-01T10:20:50Z", "2026-01-01T10:21:10Z"]),
        (timedelta(days=1), ["2026-01-01T15:00:00Z", "2026-01-02T15:00:00Z"]),
        (timedelta(days=2), ["2026-01-02T15:00:00Z", "2026-01-04T15:00:00Z"]),
    ],
)
def test_relative_entries_round_on_the_apps_wall_clock(every, expected):
    assert relative_times(every, "Asia/Tokyo", "2026-01-01T10:20:30Z", 2) == expected


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York", "Africa/Cairo"])
@pytest.mark.parametrize(
    "every",
    [timedelta(seconds=7), timedelta(seconds=90), timedelta(minutes=50), timedelta(hours=5),
     timedelta(days=1), timedelta(hours=36), timedelta(days=3)],
)  # fmt: skip
def test_relative_entries_run_when_celery_runs_them(zone, every):
    app = new_app(timezone=zone)
    celerys = schedule(every, relative=True, app=app)
    registered = "2026-04-20T10:20:30Z"
    expected, moment = [], datetime.fromisoformat("2026-04-20T10:20:30+00:00")
    for _ in range(40):
        celerys.nowfun = lambda now=moment: now
        moment += celerys.remaining_estimate(moment.astimezone(app.timezone))
        expected.append(moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert relative_times(every, zone, registered, 40) == expected


def test_a_relative_day_that_begins_late_or_twice():
    # Cairo's clocks leap from 00:00 to 01:00 on 24 April 2026; Havana has two midnights.
    assert relative_times(timedelta(days=1), "Africa/Cairo", "2026-04-22T12:00:00Z", 3) == [
        "2026-04-22T22:00:00Z",
        "2026-04-23T22:00:00Z",
        "2026-04-24T21:00:00Z",
    ]
    assert relative_times(timedelta(days=1), "America/Havana", "2025-11-01T12:00:00Z", 2) == [
        "2025-11-02T04:00:00Z",
        "2025-11-03T05:00:00Z",
    ]


def test_a_stretch_of_relative_days():
    app = new_app(timezone="Asia/Tokyo")
    definition = read({**CELERY, "schedule": timedelta(days=2), "relative": True}, app=app)
    timing: Any = definition.timing(0)
    stretch = timing.stretch(0, 100 * DAY_MS)
    listed = next_times(timing, "1970-01-01T00:00:00Z", stretch.count + 1)
    assert (text(stretch.first), text(stretch.last)) == (listed[0], listed[-2])
    assert ms(listed[-1]) > 100 * DAY_MS
    assert timing.stretch(stretch.last, stretch.last + 1) is None


def test_a_relative_interval_below_a_second_has_nothing_to_round_to():
    definition = read({**CELERY, "schedule": 0.25, "relative": True})
    assert definition.timing(1000).next_after(1000) == 1250


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
    stretch = timing.stretch(period, 10 * period)
    assert (stretch.count, stretch.first, stretch.last) == (9, 2 * period, 10 * period)
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
        decision = decide(timing, next_at=next_at, accounted_until=accounted, now=next_at,
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
