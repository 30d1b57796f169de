"""What a beat does with the times that have come: delay, overlap, pause, and nothing twice."""

import pytest
from celery.schedules import crontab

from tests.beat.bench import iso, job, ms, plain
from tsumugi_celery.core import states


def test_an_interval_starts_one_interval_after_registration(make_bench):
    """C101: nothing comes before one full interval."""
    bench = make_bench("2025-01-18T16:23:37.377Z")
    bench.start({"one": job(everyMs=3_600_000)})
    bench.run_until("2025-01-18T17:22:37Z")
    assert bench.times() == []
    bench.run_until("2025-01-18T19:23:40Z")
    assert bench.times() == [
        "2025-01-18T17:23:37.377000Z",
        "2025-01-18T18:23:37.377000Z",
        "2025-01-18T19:23:37.377000Z",
    ]


def test_restarts_every_few_minutes_do_not_move_an_interval(make_bench):
    """C097: ten minutes, restarted every four."""
    bench = make_bench("2026-05-01T12:00:00Z")
    for minute in range(0, 36, 4):
        bench.clock.to(ms(f"2026-05-01T12:{minute:02}:00Z"))
        bench.start({"one": job(everyMs=600_000)})
        bench.run_until(f"2026-05-01T12:{minute + 3:02}:00Z")
    assert bench.times() == [f"2026-05-01T12:{minute}:00Z" for minute in (10, 20, 30)]


def test_a_long_interval_outlives_short_processes(make_bench):
    """C098: six hours, restarted every hour."""
    bench = make_bench("2026-05-01T00:17:05Z")
    for hour in range(19):
        bench.clock.to(ms(f"2026-05-01T{hour:02}:30:00Z"))
        if hour == 0:
            bench.clock.set(ms("2026-05-01T00:17:05Z"))
        bench.start({"one": job(everyMs=21_600_000)})
        bench.run_until(f"2026-05-01T{hour + 1:02}:20:00Z")
    assert bench.times() == [f"2026-05-01T{hour}:17:05Z" for hour in ("06", "12", "18")]


def test_a_restart_is_no_registration(make_bench):
    """C102: the first run comes 30 minutes after the registration, not after the restart."""
    bench = make_bench("2027-04-20T09:00:00Z")
    bench.start({"one": job(everyMs=1_800_000)})
    bench.run_until("2027-04-20T09:10:00Z")
    bench.start({"one": job(everyMs=1_800_000)})
    bench.run_until("2027-04-20T09:31:00Z")
    assert bench.times() == ["2027-04-20T09:30:00Z"]


def test_a_fresh_cron_schedule_waits_for_its_time(make_bench):
    """C133: started 19 s before its time it runs once, at its time."""
    bench = make_bench("2026-02-01T07:59:41.550Z")
    bench.start({"one": job(cron="0 8 * * *")})
    bench.tick()
    assert bench.times() == []
    bench.run_until("2026-02-01T08:01:00Z")
    assert bench.times() == ["2026-02-01T08:00:00Z"]


def test_the_oldest_missed_time_runs_and_the_rest_is_counted(make_bench):
    """C105: down from 12:05:30 to 12:09:20."""
    bench = make_bench("2026-09-25T12:00:00Z")
    schedules = {"one": job(everyMs=60_000)}
    bench.start(schedules)
    bench.run_until("2026-09-25T12:05:30Z")
    bench.stop()
    bench.clock.to(ms("2026-09-25T12:09:20Z"))
    bench.start(schedules)
    bench.tick()
    assert bench.times()[-1] == "2026-09-25T12:06:00Z"
    assert bench.not_executed() == {"delay": 3}
    assert bench.stretches() == [("delay", "2026-09-25T12:07:00Z", "2026-09-25T12:09:00Z", 3)]
    assert iso(bench.row().next_at) == "2026-09-25T12:10:00Z"
    bench.run_until("2026-09-25T12:11:10Z")
    assert bench.times()[-2:] == ["2026-09-25T12:10:00Z", "2026-09-25T12:11:00Z"]


def test_thousands_of_missed_times_are_counted_in_one_row(make_bench):
    """C109: three days of every minute; 4320 missed, one runs, 4319 counted."""
    bench = make_bench("2026-09-30T23:59:00Z")
    bench.start({"one": job(cron="* * * * *")})
    bench.run_until("2026-10-01T00:00:00Z")
    bench.stop()
    bench.clock.to(ms("2026-10-04T00:00:30Z"))
    bench.start({"one": job(cron="* * * * *")})
    bench.tick()
    assert bench.times() == ["2026-10-01T00:00:00Z", "2026-10-01T00:01:00Z"]
    assert bench.not_executed() == {"delay": 4319}
    assert bench.stretches() == [("delay", "2026-10-01T00:02:00Z", "2026-10-04T00:00:00Z", 4319)]
    assert iso(bench.row().next_at) == "2026-10-04T00:01:00Z"


def test_two_overdue_schedules_both_run_at_once(make_bench):
    """C110: none waits for the other's turn."""
    schedules = {"ten": job(cron="*/10 * * * *"), "one": job(cron="* * * * *")}
    bench = make_bench("2026-05-01T09:35:00Z")
    bench.start(schedules)
    bench.run_until("2026-05-01T09:39:30Z")
    bench.stop()
    bench.clock.to(ms("2026-05-01T09:40:10Z"))
    bench.start(schedules)
    bench.tick()
    assert bench.times("one")[-1] == bench.times("ten")[-1] == "2026-05-01T09:40:00Z"
    assert iso(bench.row("ten").next_at) == "2026-05-01T09:50:00Z"
    assert iso(bench.row("one").next_at) == "2026-05-01T09:41:00Z"


def test_a_late_run_does_not_wait_for_the_next_time(make_bench):
    """C112: the loop was blocked from 10:59:50 to 11:20."""
    bench = make_bench("2026-05-01T10:30:00Z")
    bench.start({"one": job(cron="0 * * * *")})
    bench.run_until("2026-05-01T10:59:50Z")
    bench.at("2026-05-01T11:20:00Z")
    assert bench.times() == ["2026-05-01T11:00:00Z"]
    bench.run_until("2026-05-01T12:00:00Z")
    assert bench.times() == ["2026-05-01T11:00:00Z", "2026-05-01T12:00:00Z"]
    assert bench.not_executed() == {}


@pytest.mark.parametrize("slept", [True, False])
def test_a_clock_that_went_on_during_the_sleep(make_bench, slept):
    """C115: whether the machine slept or its clock was set, the run has its own time."""
    bench = make_bench("2023-11-01T11:00:00Z")
    bench.start({"one": job(cron="30 10 * * *")})
    bench.run_until("2023-11-02T09:00:00Z")
    (bench.clock.to if slept else bench.clock.set)(ms("2023-11-05T06:00:00Z"))
    bench.tick()
    assert bench.times() == ["2023-11-02T10:30:00Z"]
    assert bench.not_executed() == {"delay": 2}
    (late,) = bench.occurrences()
    assert iso(late.fired_at) == "2023-11-05T06:00:00Z"
    assert iso(bench.row().next_at) == "2023-11-05T10:30:00Z"


def test_an_old_plain_crontab_catches_up_once(make_bench):
    """C226: 40 days missed; nothing at the first registration."""
    schedules = {"one": plain(crontab(hour=6, minute=0))}
    bench = make_bench("2026-03-01T05:00:00Z")
    bench.start(schedules)
    bench.tick()
    assert bench.times() == []
    bench.run_until("2026-03-01T06:00:00Z")
    bench.stop()
    bench.clock.to(ms("2026-04-10T14:23:00Z"))
    bench.start(schedules)
    bench.tick()
    assert bench.times()[1:] == ["2026-03-02T06:00:00Z"]
    assert bench.not_executed() == {"delay": 39}
    bench.run_until("2026-04-12T07:00:00Z")
    assert bench.times()[2:] == ["2026-04-11T06:00:00Z", "2026-04-12T06:00:00Z"]


def test_skip_holds_back_while_the_previous_execution_is_unfinished(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:00Z", finish=False)
    for state in (states.SCHEDULED, states.RUNNING):
        with bench.ledger.begin() as connection:
            from tsumugi_celery.ledger import occurrences

            (row,) = bench.occurrences()
            assert occurrences.move(connection, row.id, state, wait="broker")
        bench.run_until(iso(bench.row().next_at), finish=False)
    assert bench.times() == ["2026-05-01T12:01:00Z"]
    assert bench.not_executed() == {"overlap": 2}
    assert bench.stretches() == [("overlap", "2026-05-01T12:02:00Z", "2026-05-01T12:03:00Z", 2)]
    bench.run_until("2026-05-01T12:03:30Z")
    bench.run_until("2026-05-01T12:04:00Z")
    assert bench.times()[-1] == "2026-05-01T12:04:00Z"


def test_overlap_does_not_look_at_the_previous_execution(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000, overlap="overlap")})
    bench.run_until("2026-05-01T12:03:00Z", finish=False)
    assert len(bench.times()) == 3
    assert bench.not_executed() == {}


def test_a_gap_under_skip_with_an_unfinished_execution_counts_each_time_once(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:00Z", finish=False)
    bench.at("2026-05-01T12:05:30Z", finish=False)
    assert bench.not_executed() == {"overlap": 1, "delay": 3}
    assert bench.times() == ["2026-05-01T12:01:00Z"]


def test_what_passes_while_paused_is_counted_and_never_made_up(make_bench):
    """C174 in the small: paused rows are decided on, not executed."""
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000), "two": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:00Z")
    bench.change("one", paused=True, paused_at=bench.clock.now())
    bench.run_until("2026-05-01T12:04:30Z")
    bench.stop()
    bench.clock.to(ms("2026-05-01T12:06:30Z"))
    bench.start({"one": job(everyMs=60_000), "two": job(everyMs=60_000)})  # C176: a restart
    bench.tick()
    assert bench.not_executed("one") == {"pause": 5}
    assert bench.stretches("one") == [("pause", "2026-05-01T12:02:00Z", "2026-05-01T12:06:00Z", 5)]
    bench.change("one", paused=False, paused_at=None)
    bench.run_until("2026-05-01T12:07:00Z")
    assert bench.times("one") == ["2026-05-01T12:01:00Z", "2026-05-01T12:07:00Z"]
    assert "2026-05-01T12:05:00Z" in bench.times("two")


def test_a_time_runs_once_whatever_the_loop_does(make_bench):
    """C217, C212: midnight with a loop of a tenth of a second."""
    bench = make_bench("2026-05-01T23:59:59Z")
    bench.start({"one": job(cron="0 0 * * *")})
    for tenth in range(30):
        bench.clock.to(ms("2026-05-01T23:59:59Z") + tenth * 100 + 5)
        bench.tick()
    assert bench.times() == ["2026-05-02T00:00:00Z"]
    assert iso(bench.row().next_at) == "2026-05-03T00:00:00Z"


@pytest.mark.parametrize(
    ("cron", "zone", "early", "due"),
    [
        ("0 7-23 * * 1-5", "America/Denver", "2026-08-29T00:59:58Z", "2026-08-29T01:00:00Z"),
        ("0 4 * * *", "America/Toronto", "2026-07-01T07:59:52Z", "2026-07-01T08:00:00Z"),
    ],
)
def test_waking_early_only_goes_back_to_sleep(make_bench, cron, zone, early, due):
    """C213, C214."""
    bench = make_bench(iso(ms(early) - 60_000))
    bench.start({"one": job(cron=cron, timeZone=zone)})
    delay = bench.at(early)
    assert bench.times() == []
    assert 0 < delay <= 1
    bench.at(iso(ms(due) - 1))
    assert bench.times() == []
    bench.at(due)
    bench.at(iso(ms(due) + 400))
    assert bench.times() == [due]


def test_a_clock_far_ahead_then_corrected(make_bench):
    """C114, C116: no time twice, and what is shown as next is true at once."""
    schedules = {"one": job(cron="* * * * *"), "day": job(everyMs=86_400_000)}
    bench = make_bench("2026-05-01T15:00:30Z")
    bench.start(schedules)
    bench.run_until("2026-05-01T15:02:00Z")
    bench.clock.set(ms("2026-05-01T17:02:05Z"))
    bench.tick()
    bench.clock.set(ms("2026-05-01T15:02:10Z"))
    delay = bench.tick()
    assert delay <= 1
    seen = bench.times("one")
    assert len(seen) == len(set(seen))
    assert iso(bench.row("one").next_at) == "2026-05-01T17:03:00Z"
    bench.run_until("2026-05-01T17:04:00Z")
    assert bench.times("one")[-1] == "2026-05-01T17:04:00Z"
    assert bench.row("day").next_at == ms("2026-05-02T15:00:30Z")


def test_a_crash_between_publish_and_save_runs_nothing_twice(make_bench):
    """C130: killed after the publish; the same id is taken over, not a new one made."""
    bench = make_bench("2026-05-01T09:59:30Z")
    cycle = bench.start({"one": job(cron="* * * * *")})
    bench.clock.to(ms("2026-05-01T10:00:00Z"))
    claimed = cycle.claim(10)
    cycle.dispatcher.settle = lambda: None  # killed before the settle
    cycle.send(claimed.claims)
    bench.crash()
    bench.clock.to(ms("2026-05-01T10:00:10Z"))
    bench.start({"one": job(cron="* * * * *")})
    for second in range(10, 26, 2):
        bench.at(f"2026-05-01T10:00:{second}Z", finish=False)
    (row,) = bench.occurrences()
    assert row.state == states.QUEUED
    sent = bench.messages()
    assert {message.headers["id"] for message in sent} == {row.id}
    assert len(sent) == 2  # the guard of the worker lets one of them start
