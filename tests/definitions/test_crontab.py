"""Celery's crontab on the wall clock of its zone."""

from __future__ import annotations

import importlib
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from celery.schedules import crontab

from tests.definitions.reading import CELERY, new_app, read
from tests.definitions.times import ms, next_times, timing_of

#: Comes with Flower; Celery takes its zones too.
pytz = importlib.import_module("pytz")


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
    timing = timing_of(own, timezone="Europe/Vilnius")
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
