"""The rhythm of real beats and workers over each broker (issue: what it shows)."""

import time

import pytest
from celery import Celery

from tests.e2e.book import Book
from tests.processes import Project
from tests.servers import Broker
from tsumugi_celery.core import states

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

#: Seconds of undisturbed work before and after each restart; the issue's 30 in all.
SPELL = 5
#: Intervals for which no beat is there.
PAUSE = 10

SOURCE = """
    import os, time
    from pathlib import Path
    from celery import Celery
    import tsumugi_celery

    HERE = Path(__file__).parent
    app = Celery("proj")
    app.conf.update({settings!r})
    app.conf.update(
        tsumugi_database_url="sqlite:///" + str(HERE / "ledger.sqlite3"),
        worker_prefetch_multiplier=1,
        beat_enable_remote_control=True,
        broker_connection_retry_on_startup=True,
    )

    def say(word):
        with open(HERE / "said", "a") as file:
            file.write(word + "\\n")

    @app.task(bind=True)
    def tick(self): say(self.request.id)

    @app.task(bind=True)
    def slow(self):
        say(f"{{self.request.id}} begins")
        time.sleep(2.5)
        say(f"{{self.request.id}} ends")

    app.conf.beat_schedule = {{
        "tick": {{"binding": "proj.tick", "payload": {{}}, "everyMs": 1000, "overlap": "overlap"}},
        "slow": {{"binding": "proj.slow", "payload": {{}}, "everyMs": 1000}},
    }}
"""


def said(project: Project) -> list[str]:
    path = project.folder / "said"
    return path.read_text().splitlines() if path.exists() else []


def executed(book: Book, name: str) -> int:
    return len([one for one in book.occurrences(name) if one.state == states.COMPLETED])


def test_every_second_once_in_phase_and_never_overlapping(project: Project, broker: Broker):
    """Also over a hand-over from beat to beat, and over ten intervals without any beat."""
    project.write(SOURCE.format(settings=broker.settings))
    book = Book(project)
    worker = project.worker("-c", "4")
    first = project.beat()
    project.wait_for(lambda: executed(book, "tick") >= SPELL, 60)

    # The second beat is there before the first goes: no second is without one.
    second = project.beat()
    second.wait_log("beat: Starting...")
    project.wait_for(lambda: len(book.nodes("beat")) == 2)
    assert first.terminate() == 0
    so_far = executed(book, "tick")
    project.wait_for(lambda: executed(book, "tick") >= so_far + SPELL, 60)
    asking = Celery(set_as_current=False)
    asking.conf.update(broker.settings)
    answers = asking.control.inspect(limit=2, timeout=30).ping()
    assert any("beat@" in name for name in answers), answers
    assert len(answers) == 2
    assert second.terminate() == 0

    last = book.last("tick").scheduled_at
    counted = book.schedules()["tick"].n_delay
    project.wait_for(lambda: time.time() * 1000 > last + (PAUSE + 0.5) * 1000)
    third = project.beat()
    project.wait_for(lambda: book.last("tick").scheduled_at > last, 60)
    times = [one.scheduled_at for one in book.occurrences("tick")]
    assert times[times.index(last) + 1] == last + 1000  # the oldest, with its own time
    assert book.schedules()["tick"].n_delay - counted >= PAUSE - 1
    missed = [one for one in book.stretches("tick") if one.first_at == last + 2000]
    assert [one.cause for one in missed] == ["delay"]
    so_far = executed(book, "tick")
    project.wait_for(lambda: executed(book, "tick") >= so_far + 3, 60)
    assert third.terminate() == 0
    project.wait_for(lambda: not [n for n in ("tick", "slow") if book.state(n) != "COMPLETED"])
    assert worker.terminate() == 0

    ticks = book.explain("tick", 1000)
    row = book.schedules()["tick"]
    assert all((at - row.first_at) % 1000 == 0 for at in ticks)
    lines = said(project)
    ran = [line for line in lines if line.startswith("proj.tick-")]
    assert sorted(ran) == sorted(f"proj.tick-{at}" for at in ticks)

    book.explain("slow", 1000)
    assert book.schedules()["slow"].n_overlap > 0
    slow = [line.split() for line in lines if line.startswith("proj.slow-")]
    assert [word for _, word in slow] == ["begins", "ends"] * (len(slow) // 2)
