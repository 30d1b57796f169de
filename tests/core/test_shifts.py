from __future__ import annotations

import itertools
from datetime import datetime, timedelta, timezone
from functools import cache
from importlib import resources

import pytest

from tests.core import oracle, tzif
from tsumugi_celery.core import shifts
from tsumugi_celery.core.cron import parse_cron
from tsumugi_celery.core.shifts import spans
from tsumugi_celery.core.timing import WallClock
from tsumugi_celery.core.wall_clock import HISTORY_ENDS
from tsumugi_celery.core.zones import load_zone, zone_names

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
NEW_YEAR = (datetime(2001, 1, 1, tzinfo=timezone.utc) - EPOCH) // timedelta(seconds=1)
HOUR = 3600


@cache
def listed(name: str) -> list[tzif.Change]:
    path = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    return tzif.changes(path.read_bytes())


def test_no_zone_changes_twice_between_two_samples():
    """What sampling rests on; a new edition of the zone data must not break it unseen."""
    distances = [
        (later.second - earlier.second, name)
        for name in zone_names()
        for earlier, later in zip(listed(name), listed(name)[1:], strict=False)
    ]
    assert min(distances)[0] > 2 * shifts.SAMPLE


def test_history_ends_before_the_horizon_is_counted():
    """From then on a zone follows its rule alone, which repeats with the calendar."""
    latest = max(change.second for name in zone_names() for change in listed(name))
    assert (EPOCH + timedelta(seconds=latest)).year < HISTORY_ENDS


def test_every_change_since_1970_is_found():
    # Many names are links to one set of data.
    names = {tuple(listed(name)): name for name in sorted(zone_names())}
    for changes, name in names.items():
        zone = load_zone(name)
        for change in changes:
            if change.second >= 0:
                year = (EPOCH + timedelta(seconds=change.second)).year
                found = [(one.moment, one.before, one.after) for one in shifts._turns(zone, year)]
                assert tuple(change) in found, name


@pytest.mark.parametrize("name", ["Europe/Berlin", "Pacific/Apia", "Africa/Monrovia", "UTC"])
def test_a_wall_minute_is_passed_for_the_first_time_once(name):
    zone = load_zone(name)
    for year in range(1960, 2030):
        pieces = [*spans(zone, year), *spans(zone, year + 1)]
        for earlier, later in itertools.pairwise(pieces):
            assert earlier.edge <= earlier.start <= earlier.stop
            # The next span goes on where this one stopped, behind a gap if there is one.
            assert later.start == earlier.stop or (later.gap and later.edge == earlier.stop)
            assert later.instant(later.start) >= earlier.instant(earlier.stop)


@pytest.mark.parametrize("hours", [-30, -23, -2, -1, 0, 1, 2, 23, 30])
@pytest.mark.parametrize("shift", [-23 * HOUR, -HOUR, -754, 754, HOUR, 23 * HOUR])
@pytest.mark.parametrize("rule", ["schedule", "repeat"])
def test_changes_around_new_year(hours, shift, rule):
    """Years are an invention of the evaluation; no clock may notice where they meet."""
    base = 0 if shift > 0 else 11 * HOUR
    zone = tzif.zone((NEW_YEAR + hours * HOUR, base + shift), start=base)
    begin = EPOCH + timedelta(seconds=NEW_YEAR, days=-2)
    until = begin + timedelta(days=4)
    timing = WallClock(parse_cron("*/20 * * * *"), zone, rule)
    found, moment = [], (begin - EPOCH) // timedelta(milliseconds=1)
    while (following := timing.next_after(moment)) is not None:
        moment = following
        if EPOCH + timedelta(milliseconds=moment) > until:
            break
        found.append(EPOCH + timedelta(milliseconds=moment))
    assert found == oracle.runs("*/20 * * * *", zone, rule, begin, until)
    whole = timing.stretch(*((one - EPOCH) // timedelta(milliseconds=1) for one in (begin, until)))
    assert whole is not None
    assert whole.count == len(found)
