"""Payload callables: what they are told, and every way in which they fail."""

import threading
import time
from datetime import datetime
from zoneinfo import ZoneInfo

from tests.beat.bench import job, ms
from tsumugi_celery.core import states
from tsumugi_celery.engine.cycle import STOP_WAIT


def test_a_callable_is_told_of_its_occurrence(make_bench):
    told = []

    def payload(occurrence):
        told.append(occurrence)
        return {"until": occurrence.scheduled_at.isoformat()}

    bench = make_bench("2026-05-01T23:59:00Z")
    bench.start({"one": job(cron="0 9 * * *", timeZone="Asia/Tokyo", payload=payload)})
    bench.run_until("2026-05-02T00:00:00Z")
    (one,) = told
    assert one.scheduled_at == datetime(2026, 5, 2, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert one.scheduled_at.utcoffset().total_seconds() == 9 * 3600
    assert one.scheduled_at_ms == ms("2026-05-02T00:00:00Z")
    assert one.name == "one"
    (message,) = bench.messages()
    assert one.occurrence_id == message.headers["id"] == bench.occurrences()[0].id
    assert message.payload[1] == {"until": "2026-05-02T09:00:00+09:00"}


def test_an_awaitable_is_awaited(make_bench):
    async def payload(occurrence):
        return [occurrence.name]

    bench = make_bench()
    bench.start({"one": job(everyMs=60_000, payload=payload)})
    bench.run_until("2026-05-01T12:01:00Z")
    (message,) = bench.messages()
    assert message.payload[0] == ["one"]


def test_what_fails_is_recorded_not_retried_and_cleared_by_the_next_success(make_bench):
    """C197: a callable that raises, and one that returns what cannot be serialized."""
    answers = [ValueError("no data today"), {"thing": object()}, {"n": 1}]

    def payload(_occurrence):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    bench = make_bench()
    bench.start({"one": job(everyMs=60_000, payload=payload), "two": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:30Z")
    assert bench.not_executed() == {"failure": 1}
    assert bench.row().last_error == "ValueError: no data today"
    bench.run_until("2026-05-01T12:02:30Z")
    assert bench.not_executed() == {"failure": 2}
    assert "serializable" in bench.row().last_error or "Encode" in bench.row().last_error
    assert bench.row().last_skipped_at == ms("2026-05-01T12:02:00Z")
    assert len(bench.times("two")) == 2
    bench.run_until("2026-05-01T12:03:30Z")
    assert bench.times() == ["2026-05-01T12:03:00Z"]
    assert bench.row().last_error is None
    assert bench.row().last_error_at is None
    assert [row.state for row in bench.occurrences()] == [
        states.NOT_EXECUTED,
        states.NOT_EXECUTED,
        states.COMPLETED,
    ]


def test_a_callable_that_hangs_times_out_and_holds_up_nobody(make_bench):
    hang, calls = threading.Event(), []

    def payload(occurrence):
        calls.append(occurrence.scheduled_at_ms)
        hang.wait(20)
        return {}

    bench = make_bench(tsumugi_payload_timeout=10)
    bench.start({"one": job(everyMs=60_000, payload=payload), "two": job(everyMs=60_000)})
    began = time.monotonic()
    bench.run_until("2026-05-01T12:01:00Z")
    assert bench.times("two") == ["2026-05-01T12:01:00Z"]
    assert bench.occurrences("one")[0].state == states.CLAIMED
    bench.at("2026-05-01T12:01:10Z")
    assert "tsumugi_payload_timeout" in bench.row("one").last_error
    bench.run_until("2026-05-01T12:02:30Z")
    assert bench.not_executed("one") == {"failure": 2}
    assert "still has not returned" in bench.row("one").last_error
    assert len(calls) == 1  # refused while the first is stuck, not called again
    assert len(bench.times("two")) == 2
    hang.set()
    assert time.monotonic() - began < 10
    bench.at("2026-05-01T12:02:40Z")
    bench.run_until("2026-05-01T12:03:00Z")
    assert bench.times("one") == ["2026-05-01T12:03:00Z"]
    assert bench.row("one").last_error is None


def test_what_a_late_callable_returns_is_not_sent(make_bench):
    hang = threading.Event()

    def payload(_occurrence):
        hang.wait(20)
        return {"late": True}

    bench = make_bench(tsumugi_payload_timeout=5)
    bench.start({"one": job(everyMs=60_000, payload=payload)})
    bench.run_until("2026-05-01T12:01:00Z")
    bench.at("2026-05-01T12:01:06Z")
    hang.set()
    bench.at("2026-05-01T12:01:20Z")
    assert bench.messages() == []
    assert bench.not_executed() == {"failure": 1}


def test_a_beat_that_ends_leaves_no_claim_behind(make_bench):
    hang = threading.Event()

    def payload(_occurrence):
        hang.wait(20)
        return {}

    bench = make_bench(tsumugi_payload_timeout=60)
    bench.start({"one": job(everyMs=60_000, payload=payload)})
    bench.run_until("2026-05-01T12:01:00Z")
    soon = bench.clock.steady + STOP_WAIT + 1
    threading.Timer(0.3, lambda: setattr(bench.clock, "steady", soon)).start()
    bench.stop()
    hang.set()
    (row,) = bench.occurrences()
    assert row.state == states.SCHEDULED
    bench.start({"one": job(everyMs=60_000, payload=lambda _: {"again": 1})})
    bench.tick()
    (message,) = bench.messages()
    assert message.headers["id"] == row.id


def test_the_thread_of_one_that_exits_does_not_end_beat(make_bench):
    def payload(_occurrence):
        raise SystemExit(3)

    bench = make_bench()
    bench.start({"one": job(everyMs=60_000, payload=payload)})
    bench.run_until("2026-05-01T12:01:00Z")
    assert "SystemExit" in bench.row().last_error
