"""Celery's relative intervals, held against Celery itself."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from celery.schedules import schedule

from tests.celery_faults import skip_relative
from tests.definitions.reading import CELERY, new_app, read
from tests.definitions.times import DAY_MS, ms, next_times, text


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
    skip_relative(zone)
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
