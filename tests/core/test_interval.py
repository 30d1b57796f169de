from __future__ import annotations

import pytest

from tsumugi_celery.core.shifts import LAST_MS
from tsumugi_celery.core.timing import Interval, Stretch


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (-(10**20), 1000),
        (0, 1000),
        (999, 1000),
        (1000, 1250),
        (1249, 1250),
        (1250, 1500),
        (10**12 + 1, 10**12 + 250),
    ],
)
def test_the_next_time_is_strictly_later(after, expected):
    assert Interval(1000, 250).next_after(after) == expected


def test_the_phase_is_that_of_the_first_time():
    """C098: whatever the restarts, first + k x interval."""
    timing = Interval(17_005, 21_600_000)
    for k in range(0, 5000, 7):
        moment = 17_005 + k * 21_600_000
        assert timing.next_after(moment - 1) == moment
        assert timing.next_after(moment) == moment + 21_600_000


def test_a_first_time_before_1970():
    assert Interval(-1500, 1000).next_after(-600) == -500
    assert Interval(-1500, 1000).stretch(-1500, 500) == Stretch(2, -500, 500)


@pytest.mark.parametrize(
    ("after", "until", "expected"),
    [
        (0, 999, None),
        (0, 1000, Stretch(1, 1000, 1000)),
        (1000, 1000, None),
        (1000, 900, None),
        (1000, 1250, Stretch(1, 1250, 1250)),
        (1000, 1999, Stretch(3, 1250, 1750)),
        (0, 10**9, Stretch(3_999_997, 1000, 10**9)),
    ],
)
def test_a_stretch(after, until, expected):
    assert Interval(1000, 250).stretch(after, until) == expected


def test_the_end_of_the_calendar():
    timing = Interval(0, 1000)
    assert timing.next_after(LAST_MS - 1000) is None
    assert timing.next_after(10**20) is None
    assert timing.stretch(LAST_MS - 1001, 10**20) == Stretch(1, LAST_MS - 1000, LAST_MS - 1000)
    assert timing.stretch(10**20, 10**21) is None
