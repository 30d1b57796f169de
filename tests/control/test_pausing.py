"""Pause and resume, on each kind of database."""

import threading
from typing import Any

import pytest
from celery.schedules import schedule as celery_schedule

from tests.control.stage import DAY, HOUR, MINUTE, Stage, job, ms
from tests.waiting import wait_for
from tsumugi_celery import UnknownSchedule
from tsumugi_celery.ledger import schedules


def test_pausing_twice_and_resuming_twice_changes_nothing(stage: Stage):
    """C175: all ways equal; repeats of the same call change nothing."""
    names = [f"s{number}" for number in range(5)]
    tsumugi = stage.define({name: job(cron="0 * * * *") for name in names})
    stage.beat()
    first = [tsumugi.pause(name) for name in names]
    stage.clock.time += 5_000
    assert [tsumugi.pause(name) for name in names] == first
    assert all(each.paused and each.paused_at == ms("2026-03-01T00:00:00Z") for each in first)
    resumed = [tsumugi.resume(name) for name in names]
    stage.clock.time += 5_000
    assert [tsumugi.resume(name) for name in names] == resumed
    assert not any(each.paused or each.paused_at or each.skipped_count for each in resumed)


def test_a_beat_counts_while_paused_and_runs_nothing(stage: Stage):
    tsumugi = stage.define({"s": job(cron="* * * * *")})
    beat = stage.beat()
    tsumugi.pause("s")
    for _ in range(3):
        stage.clock.time += MINUTE
        beat.claim_all()
    assert stage.messages() == []
    assert stage.counts("s") == (0, 0, 3, 0)
    (stretch,) = tsumugi.occurrences("s")
    assert (stretch.state, stretch.cause, stretch.count) == ("NOT_EXECUTED", "pause", 3)
    assert stretch.last_at == stretch.scheduled_at + 2 * MINUTE


def test_resume_counts_what_no_beat_has_looked_at(stage: Stage):
    """C174: 40 days paused; runs at the next minute after the resume."""
    tsumugi = stage.define({"s": job(cron="* * * * *")})
    beat = stage.beat()
    stage.clock.time += MINUTE
    beat.claim_all()
    stage.finish()
    tsumugi.pause("s")
    stage.clock.time += 10 * MINUTE
    beat.claim_all()
    stage.clock.time += 40 * DAY - 10 * MINUTE + 7_000
    view = tsumugi.resume("s")
    assert view.next_run_at == stage.clock.time + MINUTE - 7_000
    assert stage.counts("s") == (0, 0, 40 * 24 * 60, 0)
    stretch, executed = tsumugi.occurrences("s")
    assert (stretch.count, executed.state) == (40 * 24 * 60, "COMPLETED")
    stage.messages()
    beat.claim_all()
    assert stage.messages() == []
    stage.clock.time += MINUTE
    beat.claim_all()
    (message,) = stage.messages()
    assert message.headers["tsumugi"]["at"] == view.next_run_at


def test_nothing_is_made_up_after_a_resume(stage: Stage):
    """C172: `0 10 * * 6`, paused from a Friday to a Wednesday twelve days on: next Saturday."""
    stage.clock.time = ms("2024-07-11T09:00:00Z")
    tsumugi = stage.define({"s": job(cron="0 10 * * 6", timeZone="UTC")})
    stage.beat()
    stage.clock.time = ms("2024-07-12T09:00:00Z")
    tsumugi.pause("s")
    stage.clock.time = ms("2024-07-24T09:00:00Z")
    assert tsumugi.resume("s").next_run_at == ms("2024-07-27T10:00:00Z")
    assert stage.counts("s") == (0, 0, 2, 0)
    stage.beat().claim_all()
    assert stage.messages() == []


def test_a_time_at_the_very_moment_of_the_resume_is_counted(stage: Stage):
    tsumugi = stage.define({"s": job(everyMs=MINUTE)})
    stage.beat()
    tsumugi.pause("s")
    stage.clock.time += 2 * MINUTE
    assert tsumugi.resume("s").next_run_at == stage.clock.time + MINUTE
    assert stage.counts("s") == (0, 0, 2, 0)


def test_a_pause_over_no_scheduled_time_counts_nothing(stage: Stage):
    tsumugi = stage.define({"s": job(cron="0 0 * * *")})
    stage.beat()
    due = tsumugi.get("s").next_run_at
    tsumugi.pause("s")
    stage.clock.time += HOUR
    assert tsumugi.resume("s").next_run_at == due
    assert stage.counts("s") == (0, 0, 0, 0)


def test_a_pause_survives_a_restart_of_beat(stage: Stage):
    """C176: no run from the pause on; jobs queued before go on."""
    definitions = {"s": job(cron="* * * * *")}
    tsumugi = stage.define(definitions)
    beat = stage.beat()
    stage.clock.time += MINUTE
    beat.claim_all()
    stage.clock.time += MINUTE - 2_000
    tsumugi.pause("s")
    stage.close()
    tsumugi = stage.define(definitions)
    beat = stage.beat()
    stage.clock.time += MINUTE
    beat.claim_all()
    assert tsumugi.get("s").paused
    assert len(stage.messages()) == 1
    assert tsumugi.occurrences("s")[-1].state == "QUEUED"


def test_a_schedule_that_no_beat_has_seen_can_be_paused(stage: Stage):
    tsumugi = stage.define({"s": job(cron="* * * * *")})
    assert tsumugi.pause("s").paused
    beat = stage.beat()
    stage.clock.time += MINUTE
    beat.claim_all()
    assert stage.messages() == []
    assert stage.counts("s") == (0, 0, 1, 0)


@pytest.mark.parametrize("name", ["nigthly", "", "nightly\x00", "\ud800", "n" * 2000])
def test_an_unknown_name(stage: Stage, name: str):
    tsumugi = stage.define({"nightly": job(cron="0 0 * * *")})
    for call in (tsumugi.pause, tsumugi.resume, tsumugi.trigger, tsumugi.get, tsumugi.occurrences):
        with pytest.raises(UnknownSchedule) as caught:
            call(name)
        assert (caught.value.near == ("nightly",)) == (name in {"nigthly", "nightly\x00"})


class Odd(celery_schedule):
    """A schedule whose times only its own code knows."""

    def remaining_estimate(self, last_run_at: Any) -> Any:
        return super().remaining_estimate(last_run_at)

    def __reduce__(self) -> Any:
        return self.__class__, (self.run_every,)


class Asked(Odd):
    """A schedule that is asked whether it is due."""

    def is_due(self, last_run_at: Any) -> Any:
        return super().is_due(last_run_at)


@pytest.mark.parametrize("kind", [Odd, Asked])
def test_schedule_classes_of_the_users_own(small_stage: Stage, kind: type[celery_schedule]):
    definition = {"task": "proj.add", "schedule": kind(60.0)}
    tsumugi = small_stage.define({"s": definition})
    beat = small_stage.beat()
    tsumugi.pause("s")
    small_stage.clock.time += 150_000
    view = tsumugi.resume("s")
    assert view.next_run_at is not None
    assert view.next_run_at > small_stage.clock.time
    beat.claim_all()
    assert small_stage.messages() == []
    small_stage.clock.time += 61_000
    beat.claim_all()
    assert len(small_stage.messages()) <= 1


def test_a_process_that_does_not_know_the_times_resumes_all_the_same(small_stage: Stage):
    definition = {"task": "proj.add", "schedule": Odd(60.0)}
    small_stage.define({"s": definition}).pause("s")
    small_stage.close()
    tsumugi = small_stage.define({})
    small_stage.clock.time += 150_000
    assert not tsumugi.resume("s").paused
    small_stage.close()
    small_stage.define({"s": definition})
    small_stage.beat().claim_all()
    assert small_stage.messages() == []


def test_a_pause_waits_for_the_claim_under_way_and_comes_before_the_next(stage: Stage):
    tsumugi = stage.define({"s": job(cron="* * * * *")})
    beat = stage.beat()
    stage.clock.time += MINUTE
    paused = threading.Event()

    def pause() -> None:
        tsumugi.pause("s")
        paused.set()

    with tsumugi._state.ledger.begin() as connection:
        schedules.due(connection, stage.namespace, now=stage.clock.time, limit=1)
        thread = threading.Thread(target=pause)
        thread.start()
        assert not paused.wait(0.2)
    wait_for(paused.is_set, what="the pause, once the claim is done")
    thread.join()
    beat.claim_all()
    assert stage.messages() == []
