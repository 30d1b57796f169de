"""A Redis that a real redbeat has filled."""

from datetime import datetime, timedelta, timezone
from itertools import count

import pytest
from celery import Celery
from celery.schedules import crontab, schedule

pytest.importorskip("redbeat")
redis = pytest.importorskip("redis")

from redbeat import RedBeatSchedulerEntry  # noqa: E402
from redbeat.schedules import rrule  # noqa: E402

_numbers = count(1)


@pytest.fixture
def prefix() -> str:
    return f"red[{next(_numbers)}]*:"


@pytest.fixture
def filled(redis_server, prefix):
    """The URL of a Redis with entries; a clock of redbeat and its lock lie beside them."""
    app = Celery("other", broker="memory://", set_as_current=False)
    app.conf.update(redbeat_redis_url=redis_server.url, redbeat_key_prefix=prefix)

    def add(name, when, **given):
        RedBeatSchedulerEntry(name, "shop.add", when, app=app, **given).save()

    ran = datetime.now(timezone.utc) - timedelta(minutes=10)
    add("often", schedule(60), args=[1, 2], options={"queue": "slow"}, last_run_at=ran)
    add("daily", crontab(0, 9, day_of_week="mon-fri"), kwargs={"x": 3})
    add("both", crontab(0, 9, day_of_week="mon", day_of_month="1-7"))
    add("round", schedule(timedelta(hours=1), relative=True))
    add("rule", rrule("DAILY", dtstart=ran))
    add("off", schedule(60), enabled=False)
    add("ends", schedule(60), options={"expires": datetime(2090, 1, 1, tzinfo=timezone.utc)})
    with redis.Redis.from_url(redis_server.url) as client:
        client.set(f"{prefix}:lock", "x")
        client.hdel(f"{prefix}daily", "meta")  # it never ran
        client.hset(f"{prefix}damaged", "definition", "{")
    return redis_server.url


def test_entries(shop, filled, prefix):
    answer = shop.read("--redbeat", filled, "--redbeat-prefix", prefix)
    assert answer.schedules["often"] == {
        "binding": "shop.add",
        "payload": [1, 2],
        "everyMs": 60_000,
        "options": {"queue": "slow"},
    }
    assert answer.schedules["daily"] == {
        "binding": "shop.add",
        "payload": {"x": 3},
        "cron": "0 9 * * 1-5",
        "timeZone": "Europe/Berlin",
    }
    assert answer.schedules["both"]["schedule"] == crontab(
        0, 9, day_of_week="mon", day_of_month="1-7"
    )
    assert answer.schedules["round"]["schedule"].relative is True
    assert answer.schedules["ends"]["options"]["expires"].year == 2090
    assert "days" in answer.kinds("both")


def test_what_is_overdue_would_run_at_once_there(shop, filled, prefix):
    answer = shop.read("--redbeat", filled, "--redbeat-prefix", prefix)
    # Ten minutes late there; here the first time is an interval away.
    assert answer.rows["often"]["after"][0] - answer.rows["often"]["before"][0] == 60_000
    # Never run: redbeat runs it at once.
    assert "overdue" in answer.kinds("daily")


def test_what_is_not_written_says_why(shop, filled, prefix):
    answer = shop.read("--redbeat", filled, "--redbeat-prefix", prefix)
    kinds = {n: row["changes"][0]["kind"] for n, row in answer.rows.items() if not row["written"]}
    assert kinds == {"rule": "rrule", "off": "disabled", "damaged": "broken"}


def test_the_prefix_of_the_settings_is_used(shop, filled, prefix):
    shop.app.conf.redbeat_key_prefix = prefix
    assert "often" in shop.read("--redbeat", filled).schedules


def test_of_two_with_one_name_the_first_is_written(shop, filled, prefix, tmp_path):
    import sqlite3

    path = tmp_path / "db.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "create table django_celery_beat_periodictask (id, name, task, interval_id, args,"
            " kwargs, enabled);"
            "create table django_celery_beat_intervalschedule (id, every, period);"
            "insert into django_celery_beat_intervalschedule values (1, 2, 'hours');"
            "insert into django_celery_beat_periodictask"
            " values (1, 'often', 'shop.add', 1, '[]', '{}', 1);"
        )
    url = f"sqlite:///{path}"
    answer = shop.read("--django", url, "--redbeat", filled, "--redbeat-prefix", prefix)
    assert answer.schedules["often"]["everyMs"] == 7_200_000
    # The one that was read later says why it is not written.
    assert "django-celery-beat" in answer.text("often", "doubled")


def test_a_redis_that_is_away_is_said(shop):
    result = shop.call("--redbeat", "redis://127.0.0.1:1")
    assert result.exit_code == 1
    assert "does not answer" in result.output
