"""The life of a beat process: refusals, signals, pid files, embedded in a worker."""

import json
import os
import re
import signal
import sys

import pytest

from tests.e2e.book import Book
from tests.processes import Project
from tests.servers import Broker
from tsumugi_celery.core import states

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

HEAD = """
    from pathlib import Path
    from celery import Celery
    import tsumugi_celery

    HERE = Path(__file__).parent
    app = Celery("proj")
    app.conf.update({settings!r})
    app.conf.update(
        tsumugi_database_url="sqlite:///" + str(HERE / "ledger.sqlite3"),
        beat_scheduler="tsumugi_celery.Scheduler",
        result_expires=None,
        broker_connection_retry_on_startup=True,
    )

    @app.task
    def work(*args): pass
"""


def test_beat_refuses_wrong_definitions_without_a_traceback(
    project: Project, filesystem_broker: Broker
):
    """All problems of all schedules, a non-zero exit, no database made."""
    project.write(
        HEAD.format(settings=filesystem_broker.settings)
        + """
    app.conf.beat_schedule = {
        "one": {"binding": "proj.wrok", "payload": {}, "everyMs": 10},
        "two": {"binding": "proj.work", "payload": {}, "cron": "5/2 * * * *"},
        "three": {"binding": "proj.work", "payload": {}, "cron": "0 9 * * *",
                  "timeZone": "asia/tokyo"},
    }
    """
    )
    beat = project.beat()
    assert beat.wait() == 1
    for word in ("'one'", "everyMs", "'two'", "5/2", "'three'", "Asia/Tokyo"):
        assert word in beat.text()
    assert "Traceback" not in beat.text()
    assert not (project.folder / "ledger.sqlite3").exists()


def test_beat_killed_hard_leaves_a_pid_file_that_stops_nobody(
    project: Project, filesystem_broker: Broker
):
    """C231: Celery's rule for its pid file; the package adds none of its own."""
    project.write(HEAD.format(settings=filesystem_broker.settings))
    pidfile = project.folder / "beat.pid"
    beat = project.beat(f"--pidfile={pidfile}")
    beat.wait_log("beat: Starting...")
    book = Book(project)
    project.wait_for(lambda: book.nodes("beat"))
    assert pidfile.read_text().strip() == str(beat.pid)
    beat.kill()
    assert pidfile.exists()
    again = project.beat(f"--pidfile={pidfile}")
    project.wait_for(lambda: again.pid in {one.pid for one in book.nodes("beat")}, 60)
    again.kill()
    pidfile.write_text("1\n")  # a process that lives, as in a new container
    third = project.beat("--pidfile=", scheduler=None)
    project.wait_for(lambda: third.pid in {one.pid for one in book.nodes("beat")}, 60)
    assert third.terminate() == 0
    assert sorted(one.suffix for one in project.folder.glob("*.pid")) == [".pid"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_middle_of_500_entries(
    project: Project, filesystem_broker: Broker, number: signal.Signals
):
    """C233: each is sent and recorded, or untouched and handled at the next start."""
    project.write(
        HEAD.format(settings=filesystem_broker.settings)
        + """
    app.conf.tsumugi_batch_size = 50
    app.conf.beat_schedule = {
        f"s{n}": {"binding": "proj.work", "payload": [n], "everyMs": 3_600_000_000}
        for n in range(500)
    }
    """
    )
    messages = project.folder.parent / "broker" / "messages"
    book = Book(project)

    def on_broker() -> list[str]:
        # A message that is being written at this moment is not whole yet.
        return [json.loads(one.read_text())["headers"]["id"] for one in messages.glob("*.msg")]

    beat = project.beat()
    project.wait_for(lambda: len(book.schedules()) == 500, 60)
    at = book.fire(*(f"s{n}" for n in range(500)))
    project.wait_for(lambda: any(messages.glob("*.msg")))
    os.kill(beat.pid, number)
    assert beat.wait(30) == 0
    assert book.nodes("beat") == []
    from sqlalchemy import select

    from tsumugi_celery.ledger.schema import occurrence

    rows = book.all(select(occurrence))
    assert {row.state for row in rows} == {states.QUEUED}
    sent = on_broker()
    assert sorted(sent) == sorted(row.id for row in rows)

    again = project.beat()
    project.wait_for(lambda: len(book.all(select(occurrence))) == 500, 60)
    assert again.terminate() == 0
    sent = on_broker()
    assert sorted(sent) == sorted(f"proj.s{n}-{at}" for n in range(500))
    assert {row.state for row in book.all(select(occurrence))} == {states.QUEUED}


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_beat_embedded_in_a_worker(project: Project, filesystem_broker: Broker, pool: str):
    """`worker -B`: a process beside a prefork pool, a thread beside the others."""
    project.write(
        HEAD.format(settings=filesystem_broker.settings)
        + """
    app.conf.beat_schedule = {"one": {"binding": "proj.work", "payload": {}, "everyMs": 1000}}
    """
    )
    worker = project.worker("-B", "-P", pool)
    book = Book(project)
    done = lambda: [one for one in book.occurrences("one") if one.state == states.COMPLETED]  # noqa: E731
    project.wait_for(lambda: len(done()) >= 3, 60)
    assert len(book.nodes("beat")) == 1
    assert len(book.nodes("worker")) == 1
    assert worker.terminate() == 0
    assert "Traceback" not in worker.text()
    book.explain("one", 1000)


@pytest.mark.parametrize("module", ["bare", "other"])
def test_a_worker_that_cannot_report(project: Project, filesystem_broker: Broker, module: str):
    """Without the package, or with another ledger: said once, and no schedule is held back."""
    settings = filesystem_broker.settings
    project.write(
        HEAD.format(settings=settings)
        + """
    app.conf.beat_schedule = {"one": {"binding": "proj.work", "payload": {}, "everyMs": 1000}}
    """
    )
    away = "sqlite:///other.sqlite3" if module == "other" else None
    project.write(
        f"""
        from celery import Celery
        {"import tsumugi_celery" if away else ""}
        app = Celery("proj")
        app.conf.update({settings!r})
        app.conf.broker_connection_retry_on_startup = True
        {f"app.conf.tsumugi_database_url = {away!r}" if away else ""}

        @app.task(name="proj.work")
        def work(*args):
            print("worked")
        """,
        module,
    )
    beat = project.beat()
    # Not by the celery command: that one imports the package for the sake of its own commands.
    begin = f"import {module}; {module}.app.Worker(loglevel='INFO', concurrency=2).start()"
    worker = project.start("worker", sys.executable, "-c", begin)
    worker.wait_log("succeeded in", 90, count=4)
    book = Book(project)
    project.wait_for(lambda: "No worker reports" in beat.text())
    assert beat.text().count("No worker reports") == 1
    assert worker.text().count("keeps another ledger") == (1 if away else 0)
    assert beat.terminate() == 0
    ran = re.findall(r"Task proj.work\[(.*?)\] succeeded", worker.text())
    assert len(ran) == len(set(ran))
    assert set(ran) <= {one.id for one in book.occurrences("one")}


def test_a_worker_of_a_stranger_gets_no_database(project: Project, filesystem_broker: Broker):
    """The celery command imports the package for every app (decision 0038)."""
    project.write(
        f"""
        from celery import Celery
        app = Celery("proj")
        app.conf.update({filesystem_broker.settings!r})

        @app.task
        def work(): return "done"
        """
    )
    worker = project.worker("-P", "solo")
    project.python("import proj; proj.work.delay()")
    worker.wait_log("succeeded in", 60)
    assert worker.terminate() == 0
    assert "ledger" not in worker.text()
    assert not list(project.folder.glob("*.sqlite3*"))


def test_a_worker_that_was_there_before_the_first_beat(project: Project, filesystem_broker: Broker):
    """Nothing but the import and the default file: it takes part as soon as beat has made it."""
    project.write(
        f"""
        from celery import Celery
        import tsumugi_celery
        app = Celery("proj")
        app.conf.update({filesystem_broker.settings!r})
        app.conf.beat_schedule = {{"one": {{"task": "proj.work", "schedule": 1.0}}}}

        @app.task
        def work(): return "done"
        """
    )
    project.worker()
    assert not (project.folder / "tsumugi.sqlite3").exists()
    beat = project.beat()
    book = Book(project, "tsumugi.sqlite3")
    project.wait_for(lambda: book.state("one") == states.COMPLETED, 60)
    project.wait_for(lambda: book.nodes("worker"), 60)
    assert beat.terminate() == 0
    assert "No worker reports" not in beat.text()
