"""`celery tsumugi import` reads the app's own beat_schedule."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from celery.schedules import crontab, schedule, solar

from tsumugi_celery.cli.diff import _load


class Own(schedule):
    """A schedule class of the project's own."""

    def is_due(self, last_run_at):
        return super().is_due(last_run_at)


@pytest.mark.parametrize(
    ("when", "keys"),
    [
        (30, {"everyMs": 30_000}),
        (1.5, {"everyMs": 1500}),
        (timedelta(hours=2), {"everyMs": 7_200_000}),
        (schedule(timedelta(days=1)), {"everyMs": 86_400_000}),
        (crontab(), {"cron": "* * * * *"}),
        (crontab(minute="*/15", hour="8-17"), {"cron": "*/15 8-17 * * *"}),
        (crontab(0, 9, day_of_week="mon-fri"), {"cron": "0 9 * * 1-5"}),
        (crontab(0, 9, day_of_week="fri-mon"), {"cron": "0 9 * * 0-1,5-6"}),
        (crontab(0, 9, day_of_month={1, 2, 3, 15}), {"cron": "0 9 1-3,15 * *"}),
        (crontab(0, 9, day_of_week="0-6", day_of_month="1"), {"cron": "0 9 1 * *"}),
        # A star in front of one day field: cron ANDs the two, as Celery does.
        (crontab(0, 9, day_of_week="mon", day_of_month="*/2"), {"cron": "0 9 */2 * 1"}),
    ],
)
def test_tsumugis_form_where_it_says_the_same(shop, when, keys):
    shop.app.conf.beat_schedule = {"one": {"task": "shop.add", "schedule": when, "args": (1, 2)}}
    answer = shop.read()
    zone = {"timeZone": "Europe/Berlin"} if "cron" in keys else {}
    assert answer.schedules["one"] == {"binding": "shop.add", "payload": [1, 2], **keys, **zone}
    assert answer.same_times("one")


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("half", {"schedule": 0.5}),
        ("sun", {"schedule": solar("sunset", -37.8, 144.9)}),
        ("round", {"schedule": timedelta(hours=1), "relative": True}),
        ("both", {"schedule": 60, "args": (1,), "kwargs": {"y": 2}}),
        ("proj: a name", {"schedule": 60}),
        ("urgent", {"schedule": 60, "options": {"priority": 3}}),
        ("elsewhere", {"schedule": 60, "task": "other.task"}),
    ],
)
def test_celerys_form_where_only_it_says_the_same(shop, name, entry):
    shop.app.conf.beat_schedule = {name: {"task": "shop.add", **entry}}
    answer = shop.read()
    assert answer.schedules[name].keys() >= {"task", "schedule"}
    assert "form" in answer.kinds(name)


def test_and_of_day_fields_stays_unless_cron_is_asked_for(shop):
    when = crontab(0, 9, day_of_week="mon", day_of_month="1-7")
    shop.app.conf.beat_schedule = {"first-monday": {"task": "shop.add", "schedule": when}}
    answer = shop.read()
    assert answer.schedules["first-monday"]["schedule"] == when
    assert answer.same_times("first-monday")
    assert "'0 9 1-7 * 1'" in answer.text("first-monday", "days")

    answer = shop.read("--always-cron")
    assert answer.schedules["first-monday"]["cron"] == "0 9 1-7 * 1"
    assert not answer.same_times("first-monday")
    assert "AND became OR" in answer.text("first-monday", "days")


def test_a_crontab_on_a_night_of_the_clock_change_is_told(shop):
    shop.app.conf.beat_schedule = {
        "night": {"task": "shop.add", "schedule": crontab(30, 2)},
        "noon": {"task": "shop.add", "schedule": crontab(0, 12)},
    }
    answer = shop.read()
    assert "not at all" in answer.text("night", "daylight")
    assert "daylight" not in answer.kinds("noon")


def test_drift_of_intervals_is_told(shop):
    shop.app.conf.beat_schedule = {"often": {"task": "shop.add", "schedule": 60}}
    assert "registration + k intervals" in shop.read().text("often", "drift")


def test_options_and_keys_beside_them_stay(shop):
    shop.app.conf.beat_schedule = {
        "one": {
            "task": "shop.add",
            "schedule": 60,
            "options": {"queue": "slow", "headers": {"a": 1, "id": "x"}, "expires": 90},
            "overlap": "overlap",
        },
        "two": {"task": "shop.add", "schedule": 60, "options": {"task_id": "mine"}},
        "three": {
            "task": "shop.add",
            "schedule": 60,
            "options": {"expires": datetime(2030, 1, 1, tzinfo=timezone.utc)},
        },
    }
    answer = shop.read()
    one = answer.schedules["one"]
    assert one["options"] == {"queue": "slow", "headers": {"a": 1}}
    assert (one["expiresMs"], one["overlap"]) == (90_000, "overlap")
    assert {"lost", "expires"} <= answer.kinds("one")
    assert "task_id" in answer.text("two", "lost")
    assert answer.schedules["three"]["options"]["expires"].year == 2030


def test_what_cannot_be_written_stays_where_it_is_and_says_why(shop):
    shop.app.conf.beat_schedule = {
        "own": {"task": "shop.add", "schedule": Own(60)},
        "object": {"task": "shop.add", "schedule": 60, "args": (object(),)},
        "ours": {"binding": "shop.add", "payload": {}, "everyMs": 60_000},
        "wrong": {"task": "shop.add", "schedule": 60, "args": (1, 2, 3)},
        "celery.backend_cleanup": {"task": "celery.backend_cleanup", "schedule": crontab(0, 4)},
    }
    answer = shop.read()
    assert answer.schedules == {}
    kinds = {name: row["changes"][0]["kind"] for name, row in answer.rows.items()}
    assert kinds == {
        "own": "kept",
        "object": "kept",
        "ours": "kept",
        "wrong": "refused",
        "celery.backend_cleanup": "built-in",
    }


def test_plain_output_is_a_file_that_says_what_changed(shop):
    shop.app.conf.beat_schedule = {
        "one\n}": {"task": "shop.add", "schedule": 60},
        "own": {"task": "shop.add", "schedule": Own(60)},
    }
    result = shop.call()
    assert "# not written: own" in result.stdout
    assert "# drift: " in result.stdout
    assert "1 of 2 schedules written" in result.stderr
    names: dict = {}
    exec(result.stdout, names)
    assert [*names["schedules"]] == ["one\n}"]


def test_nothing_is_written_unless_told_to(shop, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shop.app.conf.beat_schedule = {"one": {"task": "shop.add", "schedule": 60}}
    shop.call()
    assert [*tmp_path.iterdir()] == []

    file = tmp_path / "schedules.py"
    result = shop.call("--output", str(file))
    assert result.stdout == ""
    assert f"written to {file}" in result.stderr
    assert _load(file).keys() == {"one"}

    before = file.read_text()
    again = shop.call("--output", str(file))
    assert again.exit_code == 1
    assert f"{file} exists" in again.output
    assert file.read_text() == before
