"""A database that a real django-celery-beat has made."""

import json
import subprocess
import sys
from datetime import timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from celery.schedules import crontab

pytest.importorskip("django_celery_beat")

from django_celery_beat.tzcrontab import TzAwareCrontab
from sqlalchemy.engine import make_url

from tsumugi_celery.importing.times import CeleryTimes

SCRIPT = """
import datetime, django, json, sys
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["django_celery_beat"], USE_TZ=True, SECRET_KEY="x",
    DATABASES={"default": json.loads(sys.argv[1])},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django_celery_beat.models import *
utc = datetime.timezone.utc
minutes = IntervalSchedule.objects.create(every=5, period="minutes")
micro = IntervalSchedule.objects.create(every=5, period="microseconds")
tokyo = CrontabSchedule.objects.create(minute="0", hour="9", timezone="Asia/Tokyo")
both = CrontabSchedule.objects.create(
    minute="0", hour="9", day_of_month="1-7", day_of_week="mon", timezone="Asia/Tokyo")
sun = SolarSchedule.objects.create(event="sunset", latitude="52.5", longitude="13.4")
later = ClockedSchedule.objects.create(clocked_time=datetime.datetime(2090, 1, 1, tzinfo=utc))
past = ClockedSchedule.objects.create(clocked_time=datetime.datetime(2020, 1, 1, tzinfo=utc))

def add(name, **given):
    PeriodicTask.objects.create(name=name, **{"task": "shop.add", **given})

add("interval", interval=minutes, args="[1, 2]", queue="slow", headers='{"a": 1}')
add("tokyo", crontab=tokyo, kwargs='{"x": 3}', expire_seconds=60)
add("both", crontab=both, exchange="e", routing_key="r")
add("sun", solar=sun)
add("micro", interval=micro)
add("later", clocked=later, one_off=True)
add("past", clocked=past, one_off=True)
add("once", interval=minutes, one_off=True)
add("off", interval=minutes, enabled=False)
add("urgent", interval=minutes, priority=200)
add("starts", interval=minutes, start_time=datetime.datetime(2090, 1, 1, tzinfo=utc))
add("ends", interval=minutes, expires=datetime.datetime(2090, 1, 1, tzinfo=utc))
add("ended", interval=minutes, expires=datetime.datetime(2020, 1, 1, tzinfo=utc))
add("elsewhere", interval=minutes, task="other.task")
add("a name, freely chosen", interval=minutes)
PeriodicTask.objects.filter(name="elsewhere").update(args="no json")
"""


def fill(**database: object) -> None:
    """Make the tables and their rows, by Django."""
    subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(database)], check=True, timeout=100)


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> str:
    path: Path = tmp_path_factory.mktemp("django") / "db.sqlite3"
    fill(ENGINE="django.db.backends.sqlite3", NAME=str(path))
    return f"sqlite:///{path}"


@pytest.fixture
def answer(shop, url):
    return shop.read("--django", url)


def test_intervals(answer):
    assert answer.schedules["interval"] == {
        "binding": "shop.add",
        "payload": [1, 2],
        "everyMs": 300_000,
        "options": {"queue": "slow", "headers": {"a": 1}},
    }
    assert "drift" in answer.kinds("interval")


def test_a_crontab_keeps_its_own_zone(answer):
    assert answer.schedules["tokyo"] == {
        "binding": "shop.add",
        "payload": {"x": 3},
        "cron": "0 9 * * *",
        "timeZone": "Asia/Tokyo",
        "expiresMs": 60_000,
    }
    assert answer.same_times("tokyo")


def test_a_crontab_with_both_day_fields_keeps_its_own_zone_in_celerys_form(answer):
    both = answer.schedules["both"]
    assert both["schedule"] == crontab(0, 9, day_of_month="1-7", day_of_week="mon")
    assert both["schedule"].tz == ZoneInfo("Asia/Tokyo")
    assert both["options"] == {"exchange": "e", "routing_key": "r"}
    assert answer.same_times("both")


def test_solar(answer):
    assert answer.schedules["sun"]["schedule"].event == "sunset"


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("micro", "refused", "0.001"),
        ("later", "clocked", "2090-01-01"),
        ("past", "clocked", "has passed"),
        ("once", "one-off", "one_off"),
        ("ended", "ended", "2020-01-01"),
        ("off", "disabled", "--with-disabled"),
        ("elsewhere", "broken", "cannot be read"),
    ],
)
def test_what_is_not_written_says_why(answer, name, kind, told):
    assert name not in answer.schedules
    assert answer.rows[name]["definition"] is None
    assert told in answer.text(name, kind)


def test_lost_options_are_told(answer):
    assert "start_time" in answer.text("starts", "lost")
    assert "expires 2090" in answer.text("ends", "lost")
    assert answer.schedules["urgent"]["options"] == {"priority": 200}
    assert "priority" in answer.text("urgent", "form")
    assert "name" in answer.text("a name, freely chosen", "form")


def test_on_postgresql_it_is_the_same(shop, answer, postgres_database):
    url = make_url(postgres_database.url)
    host = url.host or url.query.get("host")
    names = {"NAME": url.database, "USER": url.username, "PASSWORD": url.password}
    fill(ENGINE="django.db.backends.postgresql", HOST=host, PORT=url.port or "", **names)
    # Without a driver, as Django's users write it.
    there = shop.read("--django", postgres_database.url.replace("+psycopg", ""))
    assert there.schedules.keys() == answer.schedules.keys()
    written = {name: row["definition"] for name, row in there.rows.items()}
    assert written == {name: row["definition"] for name, row in answer.rows.items()}


def test_switched_off_ones_are_to_be_paused(shop, url):
    result = shop.call("--django", url, "--with-disabled")
    assert "tsumugi pause off" in result.stderr
    assert "off" in shop.read("--django", url, "--with-disabled").schedules


def test_the_times_before_are_those_of_djangos_own_schedule(shop, answer):
    real = TzAwareCrontab(
        "0", "9", day_of_month="1-7", day_of_week="mon", tz=ZoneInfo("Asia/Tokyo")
    )
    row = answer.rows["both"]
    start = row["before"][0] - 1
    times = CeleryTimes(real, shop.app, timezone.utc).after(start, start)
    assert [next(times) for _ in range(10)] == row["before"]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite://", "no table django_celery_beat_periodictask"),
        ("nonsense", "given no URL of a database"),
        ("sqlite:////nowhere/at/all.sqlite3", "cannot be read"),
    ],
)
def test_a_database_that_is_none_is_said(shop, url, told):
    result = shop.call("--django", url)
    assert result.exit_code == 1
    assert told in result.output


def test_the_password_is_not_shown(shop, tmp_path):
    result = shop.call("--django", f"sqlite://user:secret@/{tmp_path}/x.sqlite3")
    assert "secret" not in result.output
