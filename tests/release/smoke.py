"""Runs in a fresh environment: imports all, checks an app, and lets a real beat send one job.

Usage: python smoke.py FOLDER. Nothing of the repository is on the path.
"""

import importlib
import pkgutil
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

PROJECT = """
from celery import Celery
from tsumugi_celery import define_tsumugi
app = Celery("proj", broker="filesystem://")
app.conf.broker_transport_options = {
    "data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control"}
@app.task(name="proj.add")
def add(x, y): return x + y
tsumugi = define_tsumugi(
    app,
    schedules={"often": {"binding": add, "payload": [1, 2], "everyMs": 1000}},
    database_url="sqlite:///ledger.sqlite3",
)
"""
#: Needs extras, or a server program around it.
EXTRAS = (
    "tsumugi_celery.testing",
    "tsumugi_celery.web",
    "tsumugi_celery.ledger.migrations",
    "tsumugi_celery.ledger.bounded_",
)


def main(folder: Path) -> None:
    import tsumugi_celery

    for module in pkgutil.walk_packages(tsumugi_celery.__path__, "tsumugi_celery."):
        if not module.name.startswith(EXTRAS):
            importlib.import_module(module.name)
    found = tsumugi_celery.upcoming(
        cron="0 9 * * *",
        time_zone="Asia/Tokyo",
        after=datetime(2026, 1, 1, tzinfo=timezone.utc),
        count=1,
    )
    assert found == [datetime(2026, 1, 2, tzinfo=timezone.utc)], found
    (folder / "proj.py").write_text(PROJECT)
    for name in ("queue", "control"):
        (folder / name).mkdir()
    celery = [sys.executable, "-m", "celery", "-A", "proj"]
    told = subprocess.run(
        [*celery, "tsumugi", "check"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    assert "No problems: 1 schedule" in told, told
    beat = subprocess.Popen([*celery, "beat", "-S", "tsumugi_celery.Scheduler"], cwd=folder)
    try:
        deadline = time.monotonic() + 60
        while not sent(folder / "ledger.sqlite3"):
            assert beat.poll() is None, "beat has ended"
            assert time.monotonic() < deadline, "beat has sent nothing"
            time.sleep(0.2)
    finally:
        beat.send_signal(signal.SIGTERM)
        assert beat.wait(30) == 0
    assert list((folder / "queue").iterdir())
    sys.stdout.write("fine\n")


def sent(ledger: Path) -> bool:
    if not ledger.exists():
        return False
    with sqlite3.connect(ledger) as connection:
        try:
            (count,) = connection.execute(
                "select count(*) from tsumugi_occurrence where state = 'QUEUED'"
            ).fetchone()
        except sqlite3.OperationalError:  # the tables are still being made
            return False
    return bool(count)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
