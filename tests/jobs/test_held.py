"""Jobs that wait in the ledger: whose turn it is, and what is sent when their schedule is gone."""

from __future__ import annotations

import json
import threading
from itertools import pairwise

import pytest

from tests.jobs.bench import MINUTE, START
from tsumugi_celery.ledger import bindings as binding_rows
from tsumugi_celery.ledger.schema import binding as binding_table

HOUR = 60 * MINUTE
KEYED = {"binding": "work", "payload": {}, "everyMs": MINUTE, "overlap": "overlap"}


def key(name, **more):
    return {**KEYED, "payload": {"key": name}, "concurrencyKey": name, **more}


def sent(beat):
    return [message.headers["id"] for message in beat.messages()]


def times(beat, name):
    return [(row.scheduled_at - START) // MINUTE for row in beat.rows(name) if not row.wait]


def finish(beat, name, minute, state="COMPLETED"):
    identifier = f"bench.{name}-{START + minute * MINUTE}"
    beat.set(identifier, state=state, ended_at=beat.clock.at)


def test_the_oldest_of_a_key_goes_first_and_one_at_a_time(bench):
    beat = bench({"a": key("k"), "b": key("k", everyMs=2 * MINUTE)})
    for _ in range(4):
        beat.pass_time(MINUTE)
    assert sent(beat) == [f"bench.a-{START + MINUTE}"]
    expected = [("a", 1), ("a", 2), ("b", 2), ("a", 3), ("a", 4), ("b", 4)]
    for (name, minute), (following, at) in pairwise(expected):
        finish(beat, name, minute)
        beat.pass_time(1000)
        assert sent(beat) == [f"bench.{following}-{START + at * MINUTE}"]


def test_a_key_with_many_waiting_jobs_does_not_hold_up_another(bench):
    beat = bench({"a": key("k")}, tsumugi_batch_size=2)
    for _ in range(6):
        beat.pass_time(MINUTE)
    late = bench({"a": key("k"), "z": key("other")}, clock=beat.clock, tsumugi_batch_size=2)
    late.pass_time(MINUTE)
    assert times(late, "z") == [7]


def test_limits_of_a_binding_hold_for_all_keys_and_all_beats(any_bench):
    bench = any_bench
    policy = {"perKeyConcurrency": 2, "concurrency": 3}
    bindings = {"B": {"task": "work", "policy": policy}}
    schedules = {name: key(name, binding="B") for name in ("k1", "k2")}
    schedules["free"] = {**KEYED, "binding": "B"}
    one = bench(schedules, bindings)
    two = bench(schedules, bindings, clock=one.clock)
    for _ in range(3):
        one.clock.at += MINUTE
        one.cycle.tick()
        two.cycle.tick()
    through = [row for name in schedules for row in one.rows(name) if not row.wait]
    assert len(through) == 3
    assert {row.scheduled_at for row in through} == {START + MINUTE}
    for name in schedules:
        finish(one, name, 1)
    one.clock.at += 1000
    two.cycle.tick()
    one.cycle.tick()
    assert len([row for name in schedules for row in one.rows(name) if row.state == "QUEUED"]) == 3


def test_a_job_between_two_attempts_keeps_its_slot(bench):
    beat = bench({"a": key("k")})
    beat.pass_time(MINUTE)
    first = beat.rows("a")[0].id
    for wait in ("retry", "broker"):
        due = beat.clock.at + HOUR
        beat.set(first, state="SCHEDULED", wait=wait, due_at=due, attempt=1)
        beat.pass_time(MINUTE)
        assert [row.wait for row in beat.rows("a")[1:]] == ["slot"] * (len(beat.rows("a")) - 1)


def test_a_job_that_nobody_reports_on_holds_no_slot(bench):
    beat = bench({"a": key("k")})
    beat.pass_time(MINUTE)
    beat.set(beat.rows("a")[0].id, untracked=True)
    beat.pass_time(MINUTE)
    assert times(beat, "a") == [1, 2]


def test_a_waiting_job_is_unfinished_for_the_overlap_rule(bench):
    beat = bench({"holder": key("k", everyMs=HOUR), "a": key("k", overlap="skip")})
    with beat.ledger.begin() as connection:
        binding_rows.ensure(connection, "bench", "work")
        connection.execute(binding_table.update().values(paused=True))
    for _ in range(3):
        beat.pass_time(MINUTE)
    (row,) = beat.rows("a")
    assert (row.state, row.wait) == ("SCHEDULED", "binding")
    with beat.ledger.read() as connection:
        skipped = connection.exec_driver_sql(
            "SELECT n_overlap FROM tsumugi_schedule WHERE name = 'a'"
        ).scalar()
    assert skipped == 2


def test_jobs_of_a_paused_binding_wait_and_go_oldest_first(bench):
    beat = bench({"a": dict(KEYED), "b": {**KEYED, "everyMs": 2 * MINUTE}})
    with beat.ledger.begin() as connection:
        binding_rows.ensure(connection, "bench", "work")
        connection.execute(binding_table.update().values(paused=True))
    for _ in range(3):
        beat.pass_time(MINUTE)
    assert sent(beat) == []
    # Put back by a worker, and so put aside later than the others.
    beat.set(f"bench.a-{START + MINUTE}", wait="binding", due_at=beat.clock.at)
    with beat.ledger.begin() as connection:
        connection.execute(binding_table.update().values(paused=False))
    beat.pass_time(1000)
    assert sent(beat) == [
        f"bench.{name}-{START + at * MINUTE}"
        for name, at in [("a", 1), ("a", 2), ("b", 2), ("a", 3)]
    ]


def test_a_job_that_expires_while_it_waits_is_cancelled(bench):
    beat = bench({"a": key("k", expiresMs=90_000)})
    for _ in range(2):
        beat.pass_time(MINUTE)
    beat.pass_time(89_000)
    assert [row.state for row in beat.rows("a")[:2]] == ["QUEUED", "SCHEDULED"]
    beat.pass_time(1000)
    assert (beat.rows("a")[1].state, beat.rows("a")[1].ended_at) == ("CANCELLED", beat.clock.at)
    assert "expired" in beat.rows("a")[1].error
    finish(beat, "a", 1)
    beat.pass_time(1000)
    assert len(sent(beat)) == 2


def held(bench, **more):
    """One job under way and one that waits, of a schedule that is then defined otherwise."""
    beat = bench({"a": key("k", **more)})
    for _ in range(2):
        beat.pass_time(MINUTE)
    return beat


OLD = {
    "payload": {"old": 1},
    "priority": 2,
    "timeoutMs": 1000,
    "maxAttempts": 4,
    "options": {"headers": {"x": "old"}},
}


@pytest.mark.parametrize(
    "now_defined",
    [{}, {"a": {**KEYED, "payload": {"new": 2}, "priority": 9}}],
    ids=["removed", "changed"],
)
def test_a_held_job_is_sent_as_it_was_written_down(bench, now_defined):
    beat = held(bench, **OLD)
    later = bench(now_defined, clock=beat.clock)
    assert len(sent(beat)) == 1
    later.pass_time(1000)
    assert [row.wait for row in beat.rows("a")] == [None, "slot"]
    finish(beat, "a", 1)
    later.pass_time(1000)
    (message,) = later.messages()
    assert message.headers["id"] == f"bench.a-{START + 2 * MINUTE}"
    assert json.loads(message.body)[1] == {"old": 1}
    assert message.headers["x"] == "old"
    assert message.headers["timelimit"] == [6.0, 1.0]
    assert message.properties["priority"] == 2
    header = message.headers["tsumugi"]
    assert (header["schedule"], header["max_attempts"]) == ("a", 4)
    assert header["backoff"]["base_ms"] == 1000


def made(occurrence):
    return {"made": occurrence.scheduled_at_ms}


def test_without_its_callable_a_held_job_is_cancelled_and_says_why(bench):
    beat = held(bench, payload=made)
    later = bench({}, clock=beat.clock)
    finish(beat, "a", 1)
    later.pass_time(1000)
    row = beat.rows("a")[1]
    assert (row.state, row.ended_at) == ("CANCELLED", later.clock.at)
    assert "its schedule was removed" in row.error


def test_a_held_job_that_another_beat_can_send_is_left_to_it(bench):
    beat = held(bench, payload=made)
    beat.cycle.plans.pop("a")
    finish(beat, "a", 1)
    beat.pass_time(1000)
    assert (beat.rows("a")[1].state, beat.rows("a")[1].wait) == ("SCHEDULED", "slot")


def test_a_lost_job_is_run_again_with_the_same_arguments(bench):
    calls = []

    def count(occurrence):
        calls.append(occurrence.name)
        return {"call": len(calls)}

    beat = bench({"a": {**KEYED, "payload": count}})
    beat.pass_time(MINUTE)
    while not beat.rows("a")[0].fired_at:
        beat.cycle.tick()
    beat.messages()
    beat.set(beat.rows("a")[0].id, state="SCHEDULED", wait="retry", due_at=0, attempt=1)
    beat.pass_time(1000)
    (message,) = beat.messages()
    assert json.loads(message.body)[1] == {"call": 1}
    assert message.headers["tsumugi"]["base"] == 1
    assert calls == ["a"]


def test_beats_that_release_at_the_same_time_stay_below_the_limit(any_bench):
    bindings = {"B": {"task": "work", "policy": {"perKeyConcurrency": 2}}}
    schedules = {f"s{n}": key("k", binding="B") for n in range(12)}
    beats = [any_bench(schedules, bindings)]
    beats += [any_bench(schedules, bindings, clock=beats[0].clock) for _ in range(2)]
    first = beats[0]
    first.clock.at += MINUTE
    first.cycle.claim_all()
    done: set[str] = set()
    most = 0
    barrier = threading.Barrier(len(beats))

    def release(beat):
        barrier.wait(20)
        beat.cycle.chores.release()

    while len(done) < len(schedules):
        first.clock.at += 1000
        threads = [threading.Thread(target=release, args=(beat,)) for beat in beats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        rows = [row for name in schedules for row in first.rows(name)]
        through = [row.id for row in rows if row.state not in {"SCHEDULED", "COMPLETED"}]
        most = max(most, len(through))
        assert through, "nothing was released although slots are free"
        done.add(through[0])
        first.set(through[0], state="COMPLETED", ended_at=first.clock.at)
    assert most == 2
    assert sum(len(sent(beat)) for beat in beats) == len(schedules)


@pytest.mark.parametrize(
    ("payload", "state"), [({"fixed": 1}, "QUEUED"), (made, "NOT_EXECUTED")], ids=["kept", "code"]
)
def test_a_claim_of_a_lost_beat_outlives_its_schedule(bench, payload, state):
    beat = bench({"a": {**KEYED, "payload": payload}})
    with beat.ledger.begin() as connection:
        binding_rows.ensure(connection, "bench", "work")
        connection.execute(binding_table.update().values(paused=True))
    beat.pass_time(MINUTE)
    values = {"claimed_by": "ghost", "wait": None, "due_at": None}
    beat.set(beat.rows("a")[0].id, state="CLAIMED", **values)
    later = bench({}, clock=beat.clock)
    for _ in range(25):
        later.pass_time(1000)
    row = beat.rows("a")[0]
    assert row.state == state
    assert len(sent(later)) == (state == "QUEUED")
    assert row.cause == (None if state == "QUEUED" else "failure")
