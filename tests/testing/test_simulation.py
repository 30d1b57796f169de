"""A year of schedules in seconds, and what becomes of them when beat or a job is away."""

from collections import Counter
from datetime import datetime, timedelta, timezone

import pytest
from celery import Celery

from tsumugi_celery import UnknownSchedule, define_tsumugi


def make_project(every_ms=3_600_000):
    app = Celery("proj", broker="memory://", set_as_current=False)

    @app.task(name="proj.work", shared=False, typing=False)
    def work(**kwargs):
        """Stand for any task."""

    tsumugi = define_tsumugi(
        app,
        schedules={
            "nightly": {
                "binding": "proj.work", "payload": {},
                "cron": "30 2 * * *", "timeZone": "Europe/Berlin",
            },
            "hourly": {"binding": "proj.work", "payload": {}, "everyMs": every_ms},
            "told": {
                "binding": "proj.work",
                "payload": lambda o: {"at": o.scheduled_at.isoformat()},
                "cron": "0 0 1 * *",
            },
        },
    )  # fmt: skip
    tsumugi.repeats("digests", binding="proj.work")

    @tsumugi.schedule("cleanup", cron="30 2 * * *", time_zone="Europe/Berlin")
    def cleanup(run):
        return run

    return tsumugi


@pytest.fixture
def project():
    return make_project()


def test_a_year_of_all_schedules(tsumugi_clock):
    clock = tsumugi_clock(make_project(24 * 3_600_000), start="2026-01-01T00:00:00Z")
    clock.repeats("digests").set("user:1", {}, cron="@weekly", time_zone="Asia/Tokyo")
    runs = clock.run_until("2027-01-01T00:00:00Z")
    counts = Counter(run.name for run in runs)
    # Berlin has no 02:30 on one night: a schedule leaves it out, a handler runs after the gap.
    assert counts == {
        "hourly": 365, "nightly": 364, "cleanup": 365, "told": 12, "user:1": 52,
    }  # fmt: skip
    assert all(run.started_at == run.scheduled_at for run in runs)


def test_what_runs_between(tsumugi_clock, project):
    clock = tsumugi_clock(project, start="2026-03-28T00:00:00Z")
    runs = clock.between("2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z")
    assert sorted((run.scheduled_at.isoformat(), run.name) for run in runs) == [
        ("2026-03-29T00:00:00+00:00", "hourly"),
        ("2026-03-29T01:00:00+00:00", "hourly"),
        ("2026-03-29T02:00:00+00:00", "hourly"),
        ("2026-03-29T03:00:00+02:00", "cleanup"),
    ]


def test_beat_is_down_for_a_night(tsumugi_clock, project):
    clock = tsumugi_clock(project, start="2026-05-01T12:00:00Z")
    clock.repeats("digests").set("user:1", {}, cron="0 20 * * *", time_zone="Europe/Berlin")
    clock.beat_down("2026-05-01T17:30:00Z", "2026-05-02T06:10:00Z")
    clock.run_until("2026-05-02T06:09:59Z")
    runs = clock.run_until("2026-05-02T07:30:00Z")
    late = [run for run in runs if run.started_at != run.scheduled_at]
    assert {run.name for run in late} == {"hourly", "nightly", "cleanup", "user:1"}
    assert {run.started_at for run in late} == {datetime(2026, 5, 2, 6, 10, tzinfo=timezone.utc)}
    assert clock.not_executed("hourly") == {"delay": 12}
    assert [run.name for run in runs if run not in late] == ["hourly"]


def test_a_job_that_takes_longer_than_its_interval(tsumugi_clock, project):
    clock = tsumugi_clock(project, start="2026-05-01T12:00:00Z")
    clock.takes("hourly", timedelta(minutes=80))
    runs = clock.run_until("2026-05-01T18:30:00Z")
    assert [run.scheduled_at.hour for run in runs if run.name == "hourly"] == [13, 15, 17]
    assert clock.not_executed("hourly") == {"overlap": 3}
    assert runs[0].ended_at - runs[0].started_at == timedelta(minutes=80)


def test_pausing(tsumugi_clock, project):
    clock = tsumugi_clock(project, start="2026-05-01T12:00:00Z")
    clock.pause("hourly")
    assert clock.run_until("2026-05-01T15:30:00Z") == []
    clock.resume("hourly")
    assert [run.name for run in clock.run_until("2026-05-01T16:30:00Z")] == ["hourly"]
    assert clock.not_executed("hourly") == {"pause": 3}
    assert clock.now == datetime(2026, 5, 1, 16, 30, tzinfo=timezone.utc)


def test_what_is_wrong_is_said(tsumugi_clock, project):
    clock = tsumugi_clock(project, start="2026-05-01T12:00:00Z")
    with pytest.raises(UnknownSchedule, match="hourly"):
        clock.takes("hourli", timedelta(minutes=1))
    with pytest.raises(UnknownSchedule):
        clock.repeats("nobody")
    with pytest.raises(ValueError, match="not later"):
        clock.beat_down("2026-05-02T12:00:00Z", "2026-05-02T12:00:00Z")
    with pytest.raises(ValueError, match="zone"):
        clock.run_until("2026-05-02T12:00:00")
    with pytest.raises(ValueError, match="not a time"):
        clock.run_until("tomorrow")


def test_the_project_s_own_ledger_is_not_touched(tsumugi_clock, project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tsumugi_clock(project, start="2026-05-01T12:00:00Z").run_until("2026-05-01T14:00:00Z")
    assert not (tmp_path / "tsumugi.sqlite3").exists()
