"""`@tsumugi.schedule` and `run_due`: handlers in this process, on a clock that stands still."""

import asyncio
from datetime import timedelta

import pytest

from tests.beat.bench import iso, ms
from tsumugi_celery import DefinitionError
from tsumugi_celery.core import states


def due(world, text):
    """Run what is due at that moment."""
    return world.tsumugi.run_due(ms(text))


def test_a_handler_gets_the_run_alone(world):
    runs = []

    @world.tsumugi.schedule("cleanup", cron="10 3 * * *", time_zone="Europe/Berlin")
    def cleanup(run):
        runs.append(run)
        return "cleaned"

    assert due(world, "2026-05-01T12:00:00Z") == []
    (ran,) = due(world, "2026-05-02T06:00:00Z")
    (run,) = runs
    assert run.at.isoformat() == "2026-05-02T03:10:00+02:00"
    assert str(run.at.tzinfo) == "Europe/Berlin"
    assert (run.name, run.attempt, run.occurrence_id) == ("cleanup", 1, ran.occurrence_id)
    assert (ran.name, ran.state, ran.result, ran.error) == ("cleanup", "COMPLETED", "cleaned", None)
    assert ran.scheduled_at == run.at
    assert world.tsumugi.occurrence(ran.occurrence_id).state == states.COMPLETED
    assert due(world, "2026-05-02T06:00:00Z") == []


def test_async_handlers_are_awaited(world):
    @world.tsumugi.schedule("cleanup", cron="@daily", time_zone="UTC")
    async def cleanup(run):
        await asyncio.sleep(0)
        return run.at.isoformat()

    due(world, "2026-05-01T12:00:00Z")
    (ran,) = due(world, "2026-05-02T06:00:00Z")
    assert ran.result == "2026-05-02T00:00:00+00:00"


def test_after_a_night_down_it_runs_once_for_the_night_it_belongs_to(world):
    @world.tsumugi.schedule("cleanup", cron="10 3 * * *", time_zone="Europe/Berlin")
    def cleanup(run):
        return run.at - timedelta(days=30)

    due(world, "2026-05-01T12:00:00Z")
    (ran,) = due(world, "2026-05-04T12:00:00Z")
    assert ran.result.isoformat() == "2026-04-02T03:10:00+02:00"
    assert cleanup.get().next_run_at == ms("2026-05-05T01:10:00Z")


def test_a_gap_runs_at_its_first_minute(make_world):
    world = make_world("2026-03-28T12:00:00Z")

    @world.tsumugi.schedule("night", cron="30 2 * * *", time_zone="Europe/Berlin")
    def night(run):
        return run.at.isoformat()

    due(world, "2026-03-28T12:00:00Z")
    (ran,) = due(world, "2026-03-29T12:00:00Z")
    assert ran.result == "2026-03-29T03:00:00+02:00"


def test_an_interval_has_a_phase_of_its_own(world):
    @world.tsumugi.schedule("often", every="1h")
    def often(run):
        return run.at

    due(world, "2026-05-01T12:00:00Z")
    first = often.get().next_run_at
    assert first is not None
    world.new_process()

    @world.tsumugi.schedule("often", every="1h")
    def again(run):
        return run.at

    (ran,) = due(world, "2026-05-01T13:00:00Z")
    assert int(ran.scheduled_at.timestamp() * 1000) == first
    assert again.get().next_run_at == first + 3_600_000


def test_the_schedule_of_the_code_replaces_the_one_kept(world):
    @world.tsumugi.schedule("cleanup", cron="@daily", time_zone="UTC")
    def cleanup(run):
        return run

    due(world, "2026-05-01T12:00:00Z")
    world.new_process()

    @world.tsumugi.schedule("cleanup", cron="30 4 * * *", time_zone="UTC")
    def other(run):
        return run

    due(world, "2026-05-01T12:01:00Z")
    view = world.tsumugi.get("cleanup")
    assert (view.cron, iso(view.next_run_at)) == ("30 4 * * *", "2026-05-02T04:30:00Z")


def test_a_failure_is_told_and_the_schedule_goes_on(world):
    @world.tsumugi.schedule("cleanup", cron="@hourly", time_zone="UTC")
    def cleanup(run):
        raise ZeroDivisionError(run.name)

    due(world, "2026-05-01T12:00:00Z")
    (ran,) = due(world, "2026-05-01T13:00:00Z")
    assert ran.state == states.FAILED
    assert isinstance(ran.error, ZeroDivisionError)
    view = cleanup.get()
    assert view.last_state == states.FAILED
    assert "ZeroDivisionError" in view.last_error
    assert view.last_duration_ms == 0
    assert iso(view.next_run_at) == "2026-05-01T14:00:00Z"
    assert len(due(world, "2026-05-01T14:00:00Z")) == 1


def test_retries_wait_in_the_ledger_and_never_pass_the_next_time(world):
    attempts = []
    backoff = {"kind": "fixed", "delayMs": 20 * 60_000, "jitter": False}

    @world.tsumugi.schedule(
        "flaky", cron="@hourly", time_zone="UTC", max_attempts=9, backoff=backoff
    )
    def flaky(run):
        attempts.append((run.attempt, run.at.isoformat()))
        raise OSError("again")

    due(world, "2026-05-01T12:00:00Z")
    (ran,) = due(world, "2026-05-01T13:00:00Z")
    assert ran.state == states.SCHEDULED
    assert due(world, "2026-05-01T13:10:00Z") == []
    due(world, "2026-05-01T13:20:00Z")
    (ran,) = due(world, "2026-05-01T13:40:00Z")
    # The fourth attempt would be at 14:00, which is the next time.
    assert ran.state == states.FAILED
    assert attempts == [(n, "2026-05-01T13:00:00+00:00") for n in (1, 2, 3)]
    (ran,) = due(world, "2026-05-01T14:00:00Z")
    assert attempts[-1] == (1, "2026-05-01T14:00:00+00:00")


def test_the_task_s_own_retries_do_not_pass_the_next_time_either(world):
    attempts = []

    @world.app.task(name="proj.own", bind=True, max_retries=9, shared=False)
    def own(self, **kwargs):
        attempts.append(kwargs["n"])
        raise self.retry(countdown=25 * 60)

    flaky = world.tsumugi.repeats("flaky", binding="proj.own")
    flaky.set("one", {"n": 1}, cron="@hourly", time_zone="UTC")
    for minute, state in ((0, states.SCHEDULED), (25, states.SCHEDULED), (50, states.FAILED)):
        (ran,) = due(world, f"2026-05-01T13:{minute:02}:00Z")
        assert ran.state == state
    assert attempts == [1, 1, 1]


def test_repeats_and_plain_schedules_are_run_too(world):
    probes = world.tsumugi.repeats("probes", binding="proj.probe")
    probes.set("one", {"url": "x"}, cron="@hourly", time_zone="Asia/Kathmandu")
    world.app.conf.beat_schedule = {
        "plain": {"task": "proj.probe", "schedule": 3600.0, "kwargs": {"plain": True}}
    }
    assert due(world, "2026-05-01T12:00:00Z") == []
    found = {ran.name: ran for ran in due(world, "2026-05-01T13:20:00Z")}
    assert found["one"].result == {"url": "x"}
    assert found["one"].scheduled_at.isoformat() == "2026-05-01T18:00:00+05:45"
    assert found["plain"].result == {"plain": True}


def test_stop_leaves_the_schedule_to_other_processes(world):
    @world.tsumugi.schedule("cleanup", cron="@hourly", time_zone="UTC")
    def cleanup(run):
        return run

    due(world, "2026-05-01T12:00:00Z")
    cleanup.stop()
    assert cleanup.get().stopped
    assert due(world, "2026-05-01T13:00:00Z") == []
    assert iso(cleanup.get().next_run_at) == "2026-05-01T13:00:00Z"
    world.new_process()

    @world.tsumugi.schedule("cleanup", cron="@hourly", time_zone="UTC")
    def elsewhere(run):
        return run

    assert len(due(world, "2026-05-01T13:00:01Z")) == 1


def test_a_task_that_is_not_here_is_told(world):
    bindings = {"Remote": {"task": "elsewhere.task"}}
    world.app.conf.tsumugi_bindings = bindings
    probes = world.tsumugi.repeats("probes", binding="Remote")
    probes.set("one", {}, cron="@hourly", time_zone="UTC")
    (ran,) = due(world, "2026-05-01T13:00:00Z")
    assert ran.state == states.NOT_EXECUTED
    assert "elsewhere.task" in str(ran.error)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "neither every nor cron"),
        ({"cron": "@daily"}, "time_zone: got nothing"),
        ({"every": "30s", "time_zone": "UTC"}, "it belongs to cron"),
        ({"every": "30s", "overlap": "skip"}, "never overlaps itself"),
        ({"every": "30s", "payload": {}}, "payload"),
        ({"every": "30s", "max_atempts": 3}, "max_attempts"),
    ],
)
def test_bad_definitions_are_refused_at_the_decorator(world, given, told):
    with pytest.raises(DefinitionError) as caught:

        @world.tsumugi.schedule("cleanup", **given)
        def cleanup(run):
            return run

    assert told in str(caught.value)
    world.tsumugi.check()  # nothing of it is left


def test_bad_handlers_and_doubled_names_are_refused(world):
    define = world.tsumugi.schedule("cleanup", every="30s")
    with pytest.raises(DefinitionError, match="one argument"):
        define(lambda: None)
    with pytest.raises(DefinitionError, match="Celery task"):
        define(world.app.tasks["proj.probe"])

    @define
    def cleanup(run):
        return run

    with pytest.raises(DefinitionError, match="defined twice"):

        @define
        def other(run):
            return run

    assert cleanup(5) == 5  # the function can still be called
