"""Clocks that are turned: the local times around the change, then the instants that run."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime, timedelta, timezone
from itertools import islice

import pytest

from tsumugi_celery.core.cron import CronFields, parse_cron
from tsumugi_celery.core.shifts import LAST_MS
from tsumugi_celery.core.timing import Rule, Stretch, WallClock, wall_clock
from tsumugi_celery.core.zones import load_zone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FAR = 10**20


def ms(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    return (moment - EPOCH) // timedelta(milliseconds=1)


def clock(text: str, zone: str, rule: Rule = "schedule") -> WallClock:
    return wall_clock(parse_cron(text), load_zone(zone), rule)


def listed(timing: WallClock, after: str, count: int) -> list[str]:
    found, moment = [], ms(after)
    for _ in range(count):
        following = timing.next_after(moment)
        assert following is not None
        moment = following
        found.append((EPOCH + timedelta(milliseconds=moment)).strftime("%Y-%m-%d %H:%M:%S"))
    return found


def short(timing: WallClock, after: str, count: int) -> list[str]:
    return [text[5:16] for text in listed(timing, after, count)]


class TestGapOfOneHour:
    # Europe/Berlin, 2025-03-30: 01:59 +01 (00:59Z) is followed by 03:00 +02 (01:00Z).
    zone = "Europe/Berlin"
    after = "2025-03-30 00:30"

    def test_every_minute_goes_on_without_a_break(self):
        timing = clock("* * * * *", self.zone)
        assert short(timing, "2025-03-30 00:58", 3) == ["03-30 00:59", "03-30 01:00", "03-30 01:01"]

    def test_a_time_in_the_gap_does_not_run(self):
        timing = clock("30 2 * * *", self.zone)
        assert short(timing, "2025-03-29 00:00", 3) == ["03-29 01:30", "03-31 00:30", "04-01 00:30"]

    def test_as_a_repeat_it_runs_at_the_first_minute_after_the_gap(self):
        timing = clock("30 2 * * *", self.zone, "repeat")
        assert short(timing, "2025-03-29 00:00", 3) == ["03-29 01:30", "03-30 01:00", "03-31 00:30"]

    def test_several_in_one_gap_are_one_run(self):
        timing = clock("*/20 2 * * *", self.zone, "repeat")
        assert short(timing, self.after, 3) == ["03-30 01:00", "03-31 00:00", "03-31 00:20"]

    def test_the_minute_after_the_gap_runs_once_when_it_is_named_itself(self):
        timing = clock("*/30 2-3 * * *", self.zone, "repeat")
        assert short(timing, self.after, 3) == ["03-30 01:00", "03-30 01:30", "03-31 00:00"]
        every = timing.stretch(ms(self.after), ms("2025-03-30 02:00"))
        assert every == Stretch(2, ms("2025-03-30 01:00"), ms("2025-03-30 01:30"))

    def test_the_end_of_the_gap_is_asked_for_from_within(self):
        timing = clock("30 2 * * *", self.zone, "repeat")
        assert timing.next_after(ms("2025-03-30 01:00") - 1) == ms("2025-03-30 01:00")
        assert timing.next_after(ms("2025-03-30 01:00")) == ms("2025-03-31 00:30")

    def test_counts(self):
        day = (ms("2025-03-29 22:59:59"), ms("2025-03-30 21:59"))
        whole = Stretch(23 * 60, ms("2025-03-29 23:00"), ms("2025-03-30 21:59"))
        for rule in ("schedule", "repeat"):
            assert clock("* * * * *", self.zone, rule).stretch(*day) == whole
        assert clock("30 2 * * *", self.zone).stretch(*day) is None
        moved = ms("2025-03-30 01:00")
        assert clock("*/9 2 * * *", self.zone, "repeat").stretch(*day) == Stretch(1, moved, moved)


class TestFoldOfOneHour:
    # America/New_York, 2025-11-02: 01:59 -04 (05:59Z) is followed by 01:00 -05 (06:00Z).
    zone = "America/New_York"

    @pytest.mark.parametrize("rule", ["schedule", "repeat"])
    def test_every_minute_is_silent_for_the_second_pass(self, rule):
        timing = clock("* * * * *", self.zone, rule)
        assert short(timing, "2025-11-02 05:58", 3) == ["11-02 05:59", "11-02 07:00", "11-02 07:01"]

    @pytest.mark.parametrize("rule", ["schedule", "repeat"])
    def test_a_doubled_time_runs_at_the_first_pass(self, rule):
        timing = clock("30 1 * * *", self.zone, rule)
        assert short(timing, "2025-11-01 12:00", 3) == ["11-02 05:30", "11-03 06:30", "11-04 06:30"]

    def test_asked_within_the_second_pass_the_answer_is_later(self):
        for minute in range(60):
            after = ms("2025-11-02 06:00") + minute * 60_000 + 17
            assert clock("* * * * *", self.zone).next_after(after) == ms("2025-11-02 07:00")

    def test_counts(self):
        day = (ms("2025-11-02 03:59:59"), ms("2025-11-03 04:59"))
        whole = Stretch(24 * 60, ms("2025-11-02 04:00"), ms("2025-11-03 04:59"))
        assert clock("* * * * *", self.zone).stretch(*day) == whole
        assert clock("* 1 * * *", self.zone).stretch(ms("2025-11-02 05:59"), day[1]) is None


class TestOtherShifts:
    def test_half_an_hour(self):
        # Australia/Lord_Howe, 2025-10-05: 01:59 +10:30 (15:29Z) is followed by 02:30 +11 (15:30Z).
        after = "2025-10-04 15:00"
        timing = clock("*/15 * * * *", "Australia/Lord_Howe")
        assert short(timing, after, 3) == ["10-04 15:15", "10-04 15:30", "10-04 15:45"]
        timing = clock("10,20 2 * * *", "Australia/Lord_Howe")
        assert short(timing, after, 2) == ["10-05 15:10", "10-05 15:20"]
        timing = clock("10,20 2 * * *", "Australia/Lord_Howe", "repeat")
        assert short(timing, after, 2) == ["10-04 15:30", "10-05 15:10"]

    def test_a_whole_day_that_never_was(self):
        # Pacific/Apia: 2011-12-29 23:59 -10 (09:59Z on 30th) is followed by 2011-12-31 00:00 +14.
        timing = clock("0 9 * * *", "Pacific/Apia")
        assert short(timing, "2011-12-29 00:00", 3) == ["12-29 19:00", "12-30 19:00", "12-31 19:00"]
        timing = clock("0 9 30 12 *", "Pacific/Apia")
        assert listed(timing, "2010-12-31 00:00", 1) == ["2012-12-29 19:00:00"]
        timing = clock("0 9 30 12 *", "Pacific/Apia", "repeat")
        assert listed(timing, "2010-12-31 00:00", 1) == ["2011-12-30 10:00:00"]

    def test_a_whole_day_passed_twice(self):
        # Pacific/Kwajalein 1969-09-30: the wall goes from 13:00 -> back 23 hours (+11 to -12).
        zone = load_zone("Pacific/Kwajalein")
        fold = ms("1969-09-30 13:00")
        assert (EPOCH + timedelta(milliseconds=fold - 1)).astimezone(zone).hour == 23
        assert (EPOCH + timedelta(milliseconds=fold)).astimezone(zone).hour == 1
        timing = clock("0 * * * *", "Pacific/Kwajalein")
        assert timing.next_after(fold - 3_600_000) == ms("1969-10-01 12:00")
        # 1993-08-21 does not exist there.
        timing = clock("0 12 20-22 8 *", "Pacific/Kwajalein")
        assert listed(timing, "1993-08-20 00:00", 2) == [
            "1993-08-21 00:00:00",
            "1993-08-22 00:00:00",
        ]

    def test_a_gap_at_midnight(self):
        # America/Santiago, 2025-09-07: 2025-09-06 23:59 -04 (03:59Z) is followed by 01:00 -03.
        timing = clock("0 0 * * *", "America/Santiago")
        assert short(timing, "2025-09-05 12:00", 3) == ["09-06 04:00", "09-08 03:00", "09-09 03:00"]
        timing = clock("0 0 * * 0", "America/Santiago", "repeat")
        assert short(timing, "2025-09-05 12:00", 2) == ["09-07 04:00", "09-14 03:00"]

    def test_days_lost_and_doubled_long_ago(self):
        # Pacific/Apia, 1892: Monday 4 July came twice. America/Juneau, 1867: 18 October.
        # Asia/Manila, 1844: 31 December did not exist.
        for zone, year, days in (
            ("Pacific/Apia", 1892, 365),
            ("America/Juneau", 1867, 364),
            ("Asia/Manila", 1844, 366),
        ):
            timing = clock("0 12 * * *", zone)
            whole = timing.stretch(ms(f"{year}-01-02 12:00"), ms(f"{year + 1}-01-02 12:00"))
            assert whole is not None
            assert whole.count == days

    def test_local_mean_time_has_seconds(self):
        # Europe/Brussels kept +00:17:30 until 1880.
        timing = clock("0 12 * * *", "Europe/Brussels")
        assert listed(timing, "1879-12-30 00:00", 1) == ["1879-12-30 11:42:30"]
        timing = clock("0 12 * * *", "Africa/Monrovia")  # -00:44:30 until 1972-01-07
        expected = ["1972-01-06 12:44:30", "1972-01-07 12:00:00"]
        assert listed(timing, "1972-01-06 00:00", 2) == expected

    def test_a_gap_that_ends_within_a_minute(self):
        # Africa/Monrovia, 1972-01-07: 00:00:00 (-00:44:30) becomes 00:44:30 (UTC).
        timing = clock("30 0 7 1 *", "Africa/Monrovia", "repeat")
        assert listed(timing, "1971-06-01 00:00", 1) == ["1972-01-07 00:45:00"]


class TestRareAndNever:
    def test_29_february_on_a_sunday_over_the_turn_of_a_century(self):
        timing = clock("0 2 29 2 */7", "UTC")
        years = [text[:4] for text in listed(timing, "2060-03-01 00:00", 3)]
        assert years == ["2088", "2128", "2156"]

    def test_a_time_that_its_zone_always_skips(self):
        # The second Sunday of March at 02:30 is the very time that New York skips, since 2007.
        timing = clock("30 2 8-14 3 */7", "America/New_York")
        assert timing.next_after(ms("2007-01-01 00:00")) is None
        assert timing.stretch(ms("2007-01-01 00:00"), ms("2057-01-01 00:00")) is None
        moved = clock("30 2 8-14 3 */7", "America/New_York", "repeat")
        assert short(moved, "2025-01-01 00:00", 1) == ["03-09 07:00"]

    @pytest.mark.parametrize(
        ("text", "zone", "after", "expected"),
        [
            ("0 2 1 1 *", "Asia/Tokyo", "2025-06-01", ["2025-12-31 17", "2026-12-31 17"]),
            ("0 2 1 1 *", "Pacific/Honolulu", "2025-06-01", ["2026-01-01 12", "2027-01-01 12"]),
            ("0 12 1 1 *", "UTC", "2025-01-01 12:00", ["2026-01-01 12", "2027-01-01 12"]),
            ("0 23 31 12 *", "UTC", "2025-06-01", ["2025-12-31 23", "2026-12-31 23"]),
            ("0 23 31 12 *", "Pacific/Apia", "2025-06-01", ["2025-12-31 10", "2026-12-31 10"]),
            # 1 January and 31 December on a Sunday
            ("0 2 1 1 */7", "Asia/Tokyo", "2023-06-01", ["2033-12-31 17", "2039-12-31 17"]),
            ("0 2 1 1 */7", "UTC", "2023-06-01", ["2034-01-01 02", "2040-01-01 02"]),
            (
                "0 23 31 12 */7",
                "Pacific/Pago_Pago",
                "2024-06-01",
                ["2029-01-01 10", "2035-01-01 10"],
            ),
        ],
    )
    def test_new_year_on_the_wall_and_in_utc(self, text, zone, after, expected):
        timing = clock(text, zone)
        assert [one[:13] for one in listed(timing, after, 2)] == expected
        many = timing.stretch(ms(after), ms(f"{expected[1]}:00"))
        assert many == Stretch(2, ms(f"{expected[0]}:00"), ms(f"{expected[1]}:00"))

    def test_calendars_of_rare_dates_look_at_few_years(self):
        from tsumugi_celery.core import shifts

        shifts.spans.cache_clear()
        timing = clock("0 2 29 2 */7", "Asia/Tokyo")
        assert timing.next_after(ms("2088-03-01 00:00")) == ms("2128-02-28 17:00")
        assert shifts.spans.cache_info().misses <= 4


class TestEnds:
    @pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Asia/Manila"])
    @pytest.mark.parametrize("moment", [-FAR, -(10**15), -62_135_596_800_000, -1, 0])
    def test_before_the_beginning(self, zone, moment):
        found = clock("* * * * *", zone).next_after(moment)
        assert found is not None
        assert found > moment

    @pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Asia/Manila"])
    def test_after_the_end(self, zone):
        timing = clock("* * * * *", zone)
        assert timing.next_after(LAST_MS - 60_001) == LAST_MS - 60_000
        for moment in (LAST_MS - 60_000, LAST_MS, FAR):
            assert timing.next_after(moment) is None
        assert timing.stretch(LAST_MS, FAR) is None
        assert timing.stretch(-FAR, -FAR + 1) is None

    def test_a_stretch_that_is_empty_or_turned_round(self):
        timing = clock("0 9 * * *", "UTC")
        nine = ms("2025-01-01 09:00")
        assert timing.stretch(nine, nine) is None
        assert timing.stretch(nine, nine - 1) is None
        assert timing.stretch(nine - 1, nine) == Stretch(1, nine, nine)
        assert timing.stretch(nine, nine + 86_399_999) is None

    def test_milliseconds(self):
        timing = clock("0 9 * * *", "UTC")
        nine = ms("2025-01-01 09:00")
        assert timing.next_after(nine - 1) == nine
        assert timing.next_after(nine) == timing.next_after(nine + 1) == nine + 86_400_000


class TestLocalTimes:
    def test_a_gap(self):
        timing = clock("30 1-3 * * *", "Europe/Berlin")
        found = timing.local_times(ms("2025-03-29 12:00"), ms("2025-03-30 12:00"))
        assert [(f"{one.wall:%d %H:%M}", one.status) for one in found] == [
            ("30 01:30", "runs"),
            ("30 02:30", "skipped"),
            ("30 03:30", "runs"),
        ]

    def test_a_gap_of_a_repeat(self):
        timing = clock("30 2 * * *", "Europe/Berlin", "repeat")
        found = timing.local_times(ms("2025-03-29 12:00"), ms("2025-03-30 12:00"))
        assert [(f"{one.wall:%d %H:%M}", one.at_ms, one.status) for one in found] == [
            ("30 02:30", ms("2025-03-30 01:00"), "skipped"),
            ("30 03:00", ms("2025-03-30 01:00"), "runs"),
        ]

    def test_a_fold(self):
        timing = clock("30 * * * *", "America/New_York")
        found = timing.local_times(ms("2025-11-02 05:00"))
        assert [(f"{one.wall:%H:%M}", one.at_ms, one.status) for one in islice(found, 3)] == [
            ("01:30", ms("2025-11-02 05:30"), "runs"),
            ("01:30", ms("2025-11-02 06:30"), "repeated"),
            ("02:30", ms("2025-11-02 07:30"), "runs"),
        ]

    def test_asked_from_within_a_fold(self):
        timing = clock("*/20 * * * *", "America/New_York")
        found = timing.local_times(ms("2025-11-02 06:20"), ms("2025-11-02 07:00"))
        assert [(f"{one.wall:%H:%M}", one.status) for one in found] == [
            ("01:40", "repeated"),
            ("02:00", "runs"),
        ]

    def test_what_runs_is_what_next_after_says(self):
        timing = clock("*/20 * * * *", "Antarctica/Troll", "repeat")
        after, until = ms("2026-03-28 00:00"), ms("2026-10-27 00:00")
        ran = [one.at_ms for one in timing.local_times(after, until) if one.status == "runs"]
        assert len(ran) == len(set(ran))
        assert timing.stretch(after, until) == Stretch(len(ran), ran[0], ran[-1])


def test_the_same_arguments_give_the_same_object():
    assert clock("0 9 * * *", "UTC") is clock("0 9 * * *", "UTC")
    assert clock("0 9 * * *", "UTC") is not clock("0 9 * * *", "UTC", "repeat")


def test_a_clock_can_be_copied_and_pickled():
    timing = clock("0 9 * * *", "Europe/Rome")
    for twin in (copy.deepcopy(timing), pickle.loads(pickle.dumps(timing))):
        assert twin.next_after(0) == timing.next_after(0)


def test_sets_may_come_from_elsewhere():
    """Celery's crontab has its day fields AND-ed even when both are restricted."""
    fields = CronFields((0,), (0,), (13,), tuple(range(1, 13)), (5,), either_day=False, text="")
    timing = WallClock(fields, load_zone("UTC"))
    assert short(timing, "2026-01-01 00:00", 3) == ["02-13 00:00", "03-13 00:00", "11-13 00:00"]
