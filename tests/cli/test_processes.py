"""The command line as a user starts it."""

import re
import urllib.error
import urllib.request

import pytest

BAD = """
    from celery import Celery
    app = Celery("proj", broker="memory://")
    app.conf.beat_schedule = {
        "a b": {"binding": "proj.add", "payload": {}, "everyMs": 10},
        "c": {"binding": "proj.add", "payload": {}, "cron": "0 0 31 2 *", "overlapp": "skip"},
    }
"""

GOOD = """
    from celery import Celery
    from tsumugi_celery import define_tsumugi
    app = Celery("proj", broker="memory://")
    @app.task
    def add(x, y): return x + y
    define_tsumugi(app, schedules={"sum": {"binding": add, "payload": [1, 2], "everyMs": 1000}})
"""


def test_check_names_every_problem_and_starts_nothing(project):
    project.write(BAD)
    done = project.celery("tsumugi", "check")
    assert done.returncode == 1
    for part in ("'a b'", "everyMs", "'c'", "overlapp", "'overlap'", "cron", "proj.add"):
        assert part in done.stdout
    assert "Traceback" not in done.stdout
    assert not list(project.folder.glob("*.sqlite3"))


def test_a_ledger_that_cannot_be_used_is_said_in_one_message(project):
    project.write(GOOD.replace("schedules=", "database_url='sqlite:////nowhere/x.db', schedules="))
    done = project.celery("tsumugi", "list")
    assert done.returncode == 1
    assert "/nowhere does not exist" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.e2e
def test_web_asks_for_the_token(project):
    project.write(GOOD)
    project.env["TSUMUGI_TOKEN"] = "a-secret-of-this-test"
    web = project.start("web", *project.command("tsumugi", "web", "--port", "0"))
    web.wait_log("Serving on")
    (base,) = re.findall(r"Serving on (http://127\.0\.0\.1:\d+)/", web.text())
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{base}/api/schedules")
    assert refused.value.code == 401
    asked = urllib.request.Request(
        f"{base}/api/schedules", headers={"Authorization": "Bearer a-secret-of-this-test"}
    )
    with urllib.request.urlopen(asked) as answer:
        assert b'"sum"' in answer.read()
    assert "a-secret-of-this-test" not in web.text()
    web.terminate()
