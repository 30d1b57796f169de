"""`celery tsumugi diff OLD NEW`: what a changed definition file does to the coming times."""

import json
from types import SimpleNamespace

import pytest
from celery import Celery
from click.testing import CliRunner

from tsumugi_celery import define_tsumugi
from tsumugi_celery.cli import tsumugi
from tsumugi_celery.core.comparing import compare

START = ("--from", "2026-03-27T00:00:00Z")


@pytest.fixture
def diff(tmp_path):
    app = Celery("proj", broker="memory://", set_as_current=False)

    @app.task(name="proj.work", shared=False)
    def work():
        """Stand for any task."""

    define_tsumugi(app, database_url=f"sqlite:///{tmp_path}/ledger.sqlite3")

    def run(old, new, *args, suffix=".json"):
        files = []
        for name, content in (("old", old), ("new", new)):
            path = tmp_path / f"{name}{suffix}"
            path.write_text(content if isinstance(content, str) else json.dumps(content))
            files.append(str(path))
        return CliRunner().invoke(
            tsumugi, ["diff", *files, *START, *args], obj=SimpleNamespace(app=app)
        )

    return run


def job(**more):
    return {"binding": "proj.work", "payload": {}, **more}


def test_a_moved_hour_an_added_and_a_dropped_schedule(diff):
    berlin = {"timeZone": "Europe/Berlin"}
    old = {"nightly": job(cron="30 2 * * *", **berlin), "old": job(everyMs=86_400_000)}
    new = {"nightly": job(cron="30 4 * * *", **berlin), "new": job(cron="0 12 * * 6")}
    result = diff(old, new, "--days", "2")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [
        "new (new): 1 added, 0 moved, 0 dropped, 0 kept",
        "  + 2026-03-28 12:00:00 GMT+00:00",
        "nightly: 0 added, 2 moved, 0 dropped, 0 kept",
        "  > 2026-03-27 02:30:00 GMT+01:00 -> 2026-03-27 04:30:00 GMT+01:00",
        "  > 2026-03-28 02:30:00 GMT+01:00 -> 2026-03-28 04:30:00 GMT+01:00",
        "old (gone): 0 added, 0 moved, 2 dropped, 0 kept",
        "  - 2026-03-28 00:00:00 GMT+00:00",
        "  - 2026-03-29 00:00:00 GMT+00:00",
    ]


def test_a_night_without_the_time_is_seen(diff):
    old = {"nightly": job(cron="30 2 * * *", timeZone="Europe/Berlin")}
    new = {"nightly": job(cron="30 3 * * *", timeZone="Europe/Berlin")}
    told = json.loads(diff(old, new, "--days", "3", "--json").output)["nightly"]
    assert (len(told["added"]), len(told["dropped"]), told["moved"]) == (3, 2, [])


def test_python_files_and_no_change(diff):
    text = (
        "from celery.schedules import crontab\n"
        "beat_schedule = {'plain': {'task': 'proj.work', 'schedule': crontab(hour=7, minute=0)}}\n"
    )
    result = diff(text, text, suffix=".py")
    assert result.output == "No time within 7 days is added, moved or dropped.\n"
    more = diff(text, text.replace("minute=0", "minute='*'"), "--show", "2", suffix=".py")
    assert more.output.splitlines()[0] == "plain: 413 added, 0 moved, 0 dropped, 7 kept"
    assert more.output.splitlines()[-1] == "  and 411 more; see --show"


@pytest.mark.parametrize(
    ("text", "suffix", "told"),
    [
        ("[]", ".json", "has no definitions"),
        ("{", ".json", "is not JSON"),
        ("x = 1", ".py", "has no definitions"),
        ("1 / 0", ".py", "ZeroDivisionError"),
        ('{"a": {"binding": "proj.work", "payload": {}}}', ".json", "everyMs"),
    ],
)
def test_files_that_are_wrong_are_told(diff, text, suffix, told):
    result = diff(text, text, suffix=suffix)
    assert result.exit_code == 1
    assert told in result.output


def test_comparing_pairs_times_only_where_each_has_a_partner():
    day = 86_400_000
    assert compare([1, 2], [1, 2]).kept == 2
    assert compare([0], [day - 1]).moved == ((0, day - 1),)
    assert compare([0], [day]).moved == ()
    far = compare([0], [day])
    assert (far.added, far.dropped) == ((day,), (0,))
