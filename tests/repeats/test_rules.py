"""What a beat does with repeats: once after a gap, never over itself, on after a failure."""

import pytest

from tests.beat.bench import iso, ms
from tsumugi_celery.core import states
from tsumugi_celery.ledger.schema import schedule


@pytest.fixture
def probes(world):
    return world.tsumugi.repeats("probes", binding="proj.probe")


def test_an_interval_runs_at_its_phase_for_ever(world, probes):
    probes.set("probe:1", {"url": "x"}, every="30s")
    world.start()
    world.run_until("2026-05-01T12:05:00Z")
    before = world.times("probe:1")
    assert len(before) == 10
    assert {ms(each) % 30_000 for each in before} == {ms(before[0]) % 30_000}
    probes = world.new_process().repeats("probes", binding="proj.probe")
    world.start()
    world.run_until("2026-05-01T12:06:00Z")
    after = world.times("probe:1")[10:]
    assert len(after) == 2
    assert {ms(each) % 30_000 for each in after} == {ms(before[0]) % 30_000}


def test_set_while_beat_runs_needs_no_restart(world, probes):
    """C189 by the simulated clock; test_real_processes.py has it with real ones."""
    world.start()
    world.run_until("2026-05-01T12:00:10Z")
    probes.set("late", {}, cron="1 12 * * *", time_zone="UTC")
    world.run_until("2026-05-01T12:01:02Z")
    assert world.times("late") == ["2026-05-01T12:01:00Z"]


def test_the_same_set_at_twenty_starts_is_one_repeat(world):
    """C253: one repeat; the last set wins."""
    probes = world.tsumugi.repeats("probes", binding="proj.probe")
    for number in range(20):
        probes = world.new_process().repeats("probes", binding="proj.probe")
        probes.set("one", {"number": number}, every="30s")
        world.clock.to(world.clock.now() + 1000)
    (view,) = probes.list()
    assert view.payload == {"number": 19}
    assert view.set_at == ms("2026-05-01T12:00:00Z")
    world.start()
    world.run_until("2026-05-01T12:02:20Z")
    assert len(world.times("one")) == 5


def test_each_runs_once_after_a_night_down(make_world):
    """C255: every 30 s and at 20:00 in Berlin, down from 19:00 to 08:00."""
    world = make_world("2026-11-30T17:00:00Z")
    probes = world.tsumugi.repeats("probes", binding="proj.probe")
    probes.set("often", {}, every="30s")
    probes.set("daily", {}, cron="0 20 * * *", time_zone="Europe/Berlin")
    world.start()
    world.run_until("2026-11-30T18:00:00Z", step=15_000)
    ran = len(world.times("often"))
    world.stop()
    world.clock.to(ms("2026-12-01T07:00:00Z"))
    world.start()
    world.at("2026-12-01T07:00:00Z")
    assert world.times("daily") == ["2026-11-30T19:00:00Z"]
    late = world.times("often")[ran:]
    assert len(late) == 1
    assert ms(late[0]) < ms("2026-11-30T18:01:00Z")
    world.run_until("2026-12-01T07:01:00Z")
    assert len(world.times("often")) == ran + 3
    assert iso(probes.get("daily").next_run_at) == "2026-12-01T19:00:00Z"


def test_a_repeat_never_overlaps_itself(world, probes):
    """Its next time is the first after both its own and the end of the run."""
    probes.set("one", {}, cron="* * * * *", time_zone="UTC")
    world.start()
    world.run_until("2026-05-01T12:03:30Z", finish=False)
    assert world.times("one") == ["2026-05-01T12:01:00Z"]
    held = probes.get("one")
    assert (held.waits_for_run, held.next_run_at) == (True, None)
    world.finish()
    world.run_until("2026-05-01T12:03:32Z")
    assert iso(probes.get("one").next_run_at) == "2026-05-01T12:04:00Z"
    world.run_until("2026-05-01T12:05:01Z")
    assert world.times("one")[1:] == ["2026-05-01T12:04:00Z", "2026-05-01T12:05:00Z"]


@pytest.mark.parametrize("end", [states.FAILED, states.CANCELLED, states.STALLED])
def test_it_goes_on_however_a_run_ended(world, probes, end):
    probes.set("one", {}, cron="* * * * *", time_zone="UTC")
    world.start()
    world.run_until("2026-05-01T12:02:10Z", finish=False)
    world.finish(end)
    world.run_until("2026-05-01T12:03:01Z")
    assert world.times("one") == ["2026-05-01T12:01:00Z", "2026-05-01T12:03:00Z"]


def test_a_time_that_passed_during_the_run_is_not_made_up(world, probes):
    """The beat was away when the run ended: 12:02 lay within it, so 12:03 is the next."""
    probes.set("one", {}, cron="* * * * *", time_zone="UTC")
    world.start()
    world.run_until("2026-05-01T12:01:10Z", finish=False)
    world.clock.to(ms("2026-05-01T12:02:30Z"))
    world.finish()
    world.at("2026-05-01T12:03:10Z")
    assert world.times("one") == ["2026-05-01T12:01:00Z", "2026-05-01T12:03:00Z"]


def test_a_damaged_row_says_why_and_the_others_go_on(world, probes):
    """C190 for repeats: a bad zone in the stored row."""
    for number in range(5):
        probes.set(f"p{number}", {}, cron="* * * * *", time_zone="UTC")
    with world.ledger.begin() as connection:
        bad = schedule.update().where(schedule.c.name == "p2").values(time_zone="Mars/Olympus")
        connection.execute(bad)
    world.start()
    world.run_until("2026-05-01T12:01:02Z")
    assert [len(world.times(f"p{number}")) for number in range(5)] == [1, 1, 0, 1, 1]
    assert "Mars/Olympus" in probes.get("p2").last_error


def test_a_beat_that_does_not_know_the_collection_leaves_it_alone(world, probes):
    probes.set("one", {}, cron="* * * * *", time_zone="UTC")
    world.new_process()
    cycle = world.start()
    world.at("2026-05-01T12:05:00Z")
    assert world.times("one") == []
    assert cycle.tick() > 0  # nor does it run in circles over what is due
    world.new_process().repeats("probes", binding="proj.probe")
    world.start()
    world.at("2026-05-01T12:05:30Z")
    assert world.times("one") == ["2026-05-01T12:01:00Z"]


def test_a_repeat_named_like_a_schedule_is_another_one(world):
    probes = world.tsumugi.repeats("probes", binding="proj.probe")

    @world.tsumugi.schedule("one", cron="* * * * *", time_zone="UTC")
    def one(run):
        return run

    probes.set("one", {}, cron="* * * * *", time_zone="UTC")
    world.start()
    world.run_until("2026-05-01T12:01:02Z")
    ids = [row.id for row in world.occurrences("one")]
    assert sorted(ids) == ["proj.one-1777636860000", "proj.probes~~one-1777636860000"]
    assert [view.name for view in world.tsumugi.list()] == ["one"]


def test_more_repeats_than_a_batch_are_all_fired(make_world):
    world = make_world(tsumugi_batch_size=7)
    probes = world.tsumugi.repeats("probes", binding="proj.probe")
    items = (
        {"id": f"p{n}", "payload": {}, "cron": "* * * * *", "time_zone": "UTC"} for n in range(40)
    )
    assert probes.set_many(items, batch=9) == 40
    world.start()
    world.at("2026-05-01T12:01:00Z")
    assert sum(len(world.times(f"p{n}")) for n in range(40)) == 40


def test_each_id_of_a_sharded_binding_is_its_own_partition(make_world):
    bindings = {"Sync": {"task": "proj.probe", "queue": "sync", "shards": 4}}
    world = make_world(tsumugi_bindings=bindings)
    probes = world.tsumugi.repeats("probes", binding="Sync")
    for number in range(12):
        probes.set(f"p{number}", {}, cron="* * * * *", time_zone="UTC")
    world.start()
    world.at("2026-05-01T12:01:00Z")
    queues = {row.queue for number in range(12) for row in world.occurrences(f"p{number}")}
    assert len(queues) > 1
    assert queues <= {f"sync.{n}" for n in range(4)}
