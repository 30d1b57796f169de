"""Messages nobody reports on: waited for while they are queued, let go once they are taken."""

import pytest

from tests.beat.bench import job, plain
from tsumugi_celery.core import states
from tsumugi_celery.engine import lost


@pytest.fixture(autouse=True)
def _say_again(monkeypatch):
    monkeypatch.setattr(lost, "_said_untracked", set())


def test_a_message_that_is_still_queued_holds_its_schedule_back(make_bench):
    """No worker is there at all: nothing piles up, however long it takes."""
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000)})
    bench.run_until("2026-05-01T13:00:00Z", finish=False)
    assert bench.times() == ["2026-05-01T12:01:00Z"]
    assert bench.not_executed() == {"overlap": 59}
    assert len(bench.messages()) == 1


def test_a_message_taken_by_nobody_who_reports_is_let_go_and_said_once(make_bench, caplog):
    bench = make_bench()
    bench.start({"one": job(everyMs=60_000)})
    for minute in range(1, 6):
        bench.run_until(f"2026-05-01T12:0{minute}:00Z", finish=False)
        assert len(bench.messages()) == 1  # a worker without the package takes it
        bench.at(f"2026-05-01T12:0{minute}:30Z", finish=False)
    assert len(bench.times()) == 5
    said = [one for one in caplog.records if getattr(one, "action", "") == "worker.untracked"]
    assert len(said) == 1


def test_the_queue_that_is_looked_at_is_the_one_the_app_routes_to(make_bench):
    bench = make_bench(task_routes={"proj.work": {"queue": "elsewhere"}})
    bench.start({"one": job(everyMs=60_000), "own": plain(60, options={"queue": "own"})})
    bench.run_until("2026-05-01T12:05:00Z", finish=False)
    for name in ("one", "own"):
        assert bench.times(name) == ["2026-05-01T12:01:00Z"]
        assert bench.not_executed(name) == {"overlap": 4}


def test_the_result_backend_is_asked_where_no_worker_reports(make_bench):
    bench = make_bench(result_backend="cache+memory://")
    bench.start({"one": job(everyMs=60_000), "two": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:00Z", finish=False)
    bench.messages()
    (one,), (two,) = bench.occurrences("one"), bench.occurrences("two")
    bench.app.backend.store_result(one.id, "fine", "SUCCESS")
    bench.app.backend.store_result(two.id, ValueError("no"), "FAILURE")
    bench.at("2026-05-01T12:01:30Z", finish=False)
    assert bench.occurrences("one")[0].state == states.COMPLETED
    assert bench.occurrences("two")[0].state == states.FAILED
