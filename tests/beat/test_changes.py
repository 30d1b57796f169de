"""Definitions that change, go away and come back; rows that are changed by hand."""

import logging

from celery.schedules import crontab, schedule

from tests.beat.bench import iso, job, ms, plain


class Stubborn(schedule):
    """Due at once, but asks to be tried later, as some custom schedules do."""

    def is_due(self, last_run_at):  # noqa: ARG002
        return False, 60


class Broken(schedule):
    """Fails when it is asked."""

    def is_due(self, last_run_at):  # noqa: ARG002
        raise ZeroDivisionError("the schedule's own fault")


class BrokenEstimate(schedule):
    """Fails when it is asked for its next time."""

    def remaining_estimate(self, last_run_at):  # noqa: ARG002
        raise ZeroDivisionError("the schedule's own fault")


def test_code_wins_over_what_is_stored(make_bench):
    """C183: another cron counts from the next occurrence."""
    bench = make_bench("2024-06-13T11:00:00Z")
    bench.start({"one": job(cron="0 6 25 * *")})
    bench.tick()
    bench.clock.to(ms("2024-06-13T12:00:00Z"))
    bench.start({"one": job(cron="0 5 10 * *")})
    bench.run_until("2024-08-10T06:00:00Z")
    assert bench.times() == ["2024-07-10T05:00:00Z", "2024-08-10T05:00:00Z"]
    assert bench.row().cron == "0 5 10 * *"


def test_a_changed_interval_registers_anew(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:10Z")
    bench.start({"one": job(everyMs=120_000)})
    bench.run_until("2026-05-01T12:05:30Z")
    assert bench.times() == [
        "2026-05-01T12:01:00Z",
        "2026-05-01T12:03:10Z",
        "2026-05-01T12:05:10Z",
    ]


def test_any_other_change_leaves_the_phase_alone(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:10Z")
    bench.start({"one": {**job(everyMs=60_000, overlap="overlap"), "payload": {"n": 2}}})
    bench.run_until("2026-05-01T12:02:10Z")
    assert bench.times() == ["2026-05-01T12:01:00Z", "2026-05-01T12:02:00Z"]
    assert bench.row().overlap == "overlap"
    assert '"n": 2' in bench.occurrences()[-1].body.replace("\\", "")


def test_a_changed_time_explains_what_the_old_one_still_owed(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:10Z")
    bench.stop()
    bench.clock.to(ms("2026-05-01T12:04:30Z"))
    bench.start({"one": job(everyMs=90_000)})
    assert bench.stretches() == [("delay", "2026-05-01T12:02:00Z", "2026-05-01T12:04:00Z", 3)]
    assert bench.not_executed() == {"delay": 3}
    bench.run_until("2026-05-01T12:06:00Z")
    assert bench.times() == ["2026-05-01T12:01:00Z", "2026-05-01T12:06:00Z"]


def test_a_removed_schedule_does_not_run_and_keeps_its_queued_job(make_bench):
    """C184."""
    three = {name: job(everyMs=60_000) for name in ("a", "b", "c")}
    bench = make_bench()
    bench.start(three)
    bench.run_until("2026-05-01T12:01:00Z", finish=False)
    del three["b"]
    bench.start(three)
    bench.run_until("2026-05-01T12:05:00Z")
    assert not bench.row("b").active
    assert bench.row("b").next_at is None
    (queued,) = bench.occurrences("b")
    assert queued.fired_at is not None
    assert len(bench.times("a")) > 1


def test_a_schedule_that_comes_back_is_in_its_old_phase_and_owes_nothing(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=600_000), "two": job(everyMs=600_000)})
    bench.run_until("2026-05-01T12:10:00Z")
    bench.start({"two": job(everyMs=600_000)})
    bench.run_until("2026-05-01T12:55:00Z")
    bench.start({"one": job(everyMs=600_000), "two": job(everyMs=600_000)})
    bench.run_until("2026-05-01T13:00:00Z")
    assert bench.times("one") == ["2026-05-01T12:10:00Z", "2026-05-01T13:00:00Z"]
    assert bench.not_executed("one") == {}


def test_a_bad_zone_in_the_stored_row_concerns_nobody_and_is_mended(make_bench):
    """C190: the row is a copy; what fires is the definition (decision 0035)."""
    five = {name: job(cron="* * * * *", timeZone="Asia/Tokyo") for name in "abcde"}
    bench = make_bench()
    bench.start(five)
    bench.run_until("2026-05-01T12:01:00Z")
    bench.change("c", time_zone="Not/A_Zone")
    bench.run_until("2026-05-01T12:03:00Z")
    assert all(len(bench.times(name)) == 3 for name in five)
    bench.start(five)
    assert bench.row("c").time_zone == "Asia/Tokyo"


def test_a_bad_stored_row_does_not_stop_a_definition_from_changing(make_bench, caplog):
    """C190: what the old times still owed cannot be counted then, and that is said."""
    five = {name: job(cron="* * * * *") for name in "abcde"}
    bench = make_bench()
    bench.start(five)
    bench.run_until("2026-05-01T12:01:00Z")
    bench.stop()
    bench.change("c", time_zone="Not/A_Zone")
    bench.clock.to(ms("2026-05-01T12:03:30Z"))
    with caplog.at_level(logging.INFO):
        bench.start({name: job(cron="*/2 * * * *") for name in five})
    assert any("Not/A_Zone" in record.getMessage() for record in caplog.records)
    bench.run_until("2026-05-01T12:06:00Z")
    assert bench.times("c")[-2:] == ["2026-05-01T12:04:00Z", "2026-05-01T12:06:00Z"]
    assert bench.times("a") == bench.times("c")


def test_a_row_deleted_by_hand_is_made_again(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000), "two": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:00Z")
    bench.remove_row("two")
    bench.run_until("2026-05-01T12:04:00Z")
    assert len(bench.times("one")) == 4
    assert bench.row("two").active
    bench.run_until("2026-05-01T12:06:00Z")
    assert len(bench.times("one")) == 6
    assert bench.times("two")


def test_all_rows_deleted_by_hand_are_made_again(make_bench):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:00Z")
    bench.remove_row("one")
    bench.at("2026-05-01T12:01:30Z")
    bench.at("2026-05-01T12:01:50Z")
    assert bench.row("one").active


def test_a_custom_schedule_that_asks_to_be_tried_later_starves_nobody(make_bench):
    """C193."""
    bench = make_bench()
    bench.start({"stubborn": plain(Stubborn(10)), "one": plain(20)})
    bench.run_until("2026-05-01T12:03:00Z")
    assert bench.times("one") == [iso(ms("2026-05-01T12:00:20Z") + n * 20_000) for n in range(9)]
    assert bench.times("stubborn") == []


def test_an_evaluation_that_fails_concerns_that_schedule_alone(make_bench):
    """C191: wherever in the dictionary it stands."""
    bench = make_bench()
    bench.start(
        {
            "first": plain(Broken(10)),
            "one": plain(20),
            "middle": plain(BrokenEstimate(10)),
            "two": plain(crontab()),
            "last": plain(Broken(10)),
        }
    )
    bench.run_until("2026-05-01T12:02:00Z")
    assert len(bench.times("one")) == 6
    assert len(bench.times("two")) == 2
    for name in ("first", "middle", "last"):
        assert "ZeroDivisionError" in bench.row(name).last_error
        assert bench.times(name) == []


def test_a_plain_entry_of_a_wrong_type_is_named(make_bench):
    """C191: beat refuses it by name rather than dropping what follows."""
    import pytest

    from tsumugi_celery import DefinitionError

    bench = make_bench()
    for position in range(3):
        entries: list[tuple[str, object]] = [("a", plain(20)), ("b", plain(20))]
        entries.insert(position, ("wrong", "not an entry at all"))
        with pytest.raises(DefinitionError, match="wrong"):
            bench.start(dict(entries))


def test_an_empty_schedule_is_a_quiet_beat(make_bench):
    bench = make_bench()
    bench.start({})
    assert 0 < bench.tick() <= 1
    bench.run_until("2026-05-01T13:00:00Z")
    assert bench.rows() == []


def test_odd_names_of_plain_entries(make_bench):
    names = [
        "with blank",
        "结び 🎌",
        "a'b\"c;--",
        "x" * 300,
        "tab\there",
        "Case",
        "case",
        "%s %(a)s",
    ]
    bench = make_bench()
    bench.start({name: plain(20) for name in names})
    bench.run_until("2026-05-01T12:00:20Z")
    for name in names:
        assert bench.times(name) == ["2026-05-01T12:00:20Z"]
    ids = [bench.occurrences(name)[0].id for name in names]
    assert len(set(ids)) == len(names)
    assert all(len(one) <= 150 for one in ids)
