from __future__ import annotations

from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tsumugi_celery.core.errors import DefinitionError
from tsumugi_celery.core.upcoming import MAX_EVERY_MS, upcoming

UTC = timezone.utc
AFTER = datetime(2026, 1, 1, tzinfo=UTC)
CRON: dict[str, Any] = {"cron": "0 9 * * *", "after": AFTER}
EVERY: dict[str, Any] = {"every_ms": 60_000, "after": AFTER}
REPEAT: dict[str, Any] = {"cron": "0 9 * * *", "rule": "repeat", "after": AFTER}
BAD_RULES: tuple[Any, ...] = ("", "Repeat", None, [], 1)
BAD_COUNTS: tuple[Any, ...] = (-1, True, 2.0, "5", None)


class Vague(tzinfo):
    def utcoffset(self, _moment: datetime | None, /) -> None:
        return None

    def dst(self, _moment: datetime | None, /) -> None:
        return None

    def tzname(self, _moment: datetime | None, /) -> None:
        return None


def hours(found: list[datetime]) -> list[str]:
    return [f"{one:%m-%d %H:%M}" for one in found]


def test_five_times_in_utc_by_default():
    found = upcoming(**CRON)
    assert hours(found) == [f"01-0{day} 09:00" for day in range(1, 6)]
    assert all(one.tzinfo is UTC for one in found)


def test_a_zone():
    assert hours(upcoming(**CRON, time_zone="Asia/Tokyo", count=1)) == ["01-02 00:00"]
    assert upcoming(**CRON, time_zone=None) == upcoming(**CRON, time_zone="UTC") == upcoming(**CRON)


def test_all_times_are_later_than_after():
    nine = datetime(2026, 1, 1, 9, tzinfo=UTC)
    step = timedelta(microseconds=1)
    for after, day in ((nine - step, 1), (nine, 2), (nine + step, 2)):
        assert upcoming(cron="0 9 * * *", after=after, count=1)[0].day == day


def test_after_may_be_in_any_zone():
    berlin = ZoneInfo("Europe/Berlin")
    first, second = (datetime(2025, 10, 26, 2, 30, fold=fold, tzinfo=berlin) for fold in (0, 1))
    assert hours(upcoming(cron="45 * * * *", after=first, count=1)) == ["10-26 00:45"]
    assert hours(upcoming(cron="45 * * * *", after=second, count=1)) == ["10-26 01:45"]


def test_an_interval():
    first = AFTER + timedelta(seconds=10)
    assert upcoming(**EVERY, first=first, count=2) == [first, first + timedelta(minutes=1)]
    assert upcoming(**EVERY, first=AFTER, count=1) == [AFTER + timedelta(minutes=1)]
    past = AFTER - timedelta(days=400, milliseconds=250)
    assert upcoming(**EVERY, first=past, count=1) == [
        AFTER + timedelta(minutes=1, milliseconds=-250)
    ]
    assert upcoming(**EVERY, count=1) == [AFTER + timedelta(minutes=1)]
    assert len(upcoming(every_ms=MAX_EVERY_MS, after=AFTER, count=3)) == 3
    assert upcoming(every_ms=60_000, time_zone=None, after=AFTER, count=1)


def test_the_end_of_the_calendar():
    late = datetime(9999, 12, 31, 23, tzinfo=UTC)
    assert upcoming(cron="* * * * *", after=late) == []
    assert upcoming(every_ms=1000, after=late) == []
    assert len(upcoming(every_ms=MAX_EVERY_MS, after=AFTER, count=1000)) == 79
    early = datetime.min.replace(tzinfo=UTC)
    assert len(upcoming(cron="0 0 * * *", time_zone="Asia/Tokyo", after=early)) == 5


def test_a_count_of_none_or_many():
    assert upcoming(**CRON, count=0) == []
    assert len(upcoming(cron="* * * * *", after=AFTER, count=2000)) == 2000


def test_the_rule_for_repeats():
    """C249, C251a: words are read, a zone is required, the gap ends in a run."""
    after = datetime(2025, 3, 29, 12, tzinfo=UTC)
    found = upcoming(
        cron="30 2 * * *", time_zone="Europe/Berlin", rule="repeat", after=after, count=1
    )
    assert hours(found) == ["03-30 01:00"]
    found = upcoming(cron="@daily", time_zone="Asia/Tokyo", rule="repeat", after=AFTER, count=1)
    assert hours(found) == ["01-01 15:00"]


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        ({"after": AFTER}, ["cron, every_ms"]),
        ({**CRON, "every_ms": 60_000}, ["cron, every_ms"]),
        ({"time_zone": "UTC", "after": AFTER}, ["cron, every_ms"]),
        *(
            ({**EVERY, "every_ms": value}, ["every_ms"])
            for value in (0, -1, 1, 999, True, False, 60_000.0, "60000", MAX_EVERY_MS + 1, 10**30)
        ),
        ({**EVERY, "every_ms": float("nan")}, ["every_ms"]),
        ({**EVERY, "every_ms": timedelta(minutes=1)}, ["every_ms"]),
        *(({**CRON, "cron": value}, ["cron"]) for value in ("", "@daily", "0 0 31 2 *", 5, b"*")),
        ({**EVERY, "time_zone": "UTC"}, ["time_zone"]),
        ({**EVERY, "time_zone": "Asia/Tokyo"}, ["time_zone"]),
        *(
            ({**CRON, "time_zone": value}, ["time_zone"])
            for value in (
                "",
                "Europe",
                "utc",
                "+09:00",
                "../UTC",
                "x" * 300,
                "U\x00",
                9,
                b"UTC",
                UTC,
            )
        ),
        (REPEAT, ["time_zone"]),
        ({**REPEAT, "time_zone": None}, ["time_zone"]),
        ({**REPEAT, "time_zone": "+09:00"}, ["time_zone"]),
        ({**REPEAT, "cron": "@reboot", "time_zone": "UTC"}, ["cron"]),
        *(({**CRON, "rule": value}, ["rule"]) for value in BAD_RULES),
        *(({**CRON, "count": value}, ["count"]) for value in BAD_COUNTS),
        ({**CRON, "first": AFTER}, ["first"]),
        *(
            ({**EVERY, "first": value}, ["first"])
            for value in (datetime(2026, 1, 1), date(2026, 1, 1), 0, "2026-01-01")  # noqa: DTZ001
        ),
        *(
            ({**CRON, "after": value}, ["after"])
            for value in (
                datetime(2026, 1, 1),  # noqa: DTZ001
                datetime(2026, 1, 1, tzinfo=Vague()),
                date(2026, 1, 1),
                1_767_225_600_000,
                "2026-01-01T00:00:00Z",
                None,
            )
        ),
        # all at once
        (
            {"cron": "x", "time_zone": "y", "rule": "z", "after": 1, "count": -1, "first": 2},
            ["after", "count", "rule", "cron", "time_zone", "first"],
        ),
        (
            {"every_ms": True, "cron": "x", "time_zone": "y", "after": AFTER, "first": 2},
            ["cron, every_ms", "first", "every_ms", "cron", "time_zone"],
        ),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_what_is_refused(arguments, keys):
    """C092, C093, C095, C251: everything a definition would refuse, all of it at once."""
    with pytest.raises(DefinitionError) as caught:
        upcoming(**arguments)
    assert [problem.key for problem in caught.value.problems] == keys
    for problem in caught.value.problems:
        assert problem.where == "upcoming()"
        assert problem.got
        assert problem.accepted
