"""A program patched by gevent: its beat sends, its green tasks are told truly."""

import pytest

from tests.e2e.book import Book
from tests.processes import Project
from tests.servers import Broker
from tsumugi_celery.core import states

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

MANY = 200

SOURCE = """
    from gevent import monkey
    monkey.patch_all()
    import time
    from pathlib import Path
    from celery import Celery
    import tsumugi_celery

    app = Celery("proj")
    app.conf.update({settings!r})
    app.conf.update(
        tsumugi_database_url="sqlite:///" + str(Path(__file__).parent / "ledger.sqlite3"),
        result_expires=None,
        broker_connection_retry_on_startup=True,
    )

    @app.task
    def work(n):
        time.sleep(0.2)
        if n % 10 == 0:
            raise ValueError(n)

    def made(occurrence):
        time.sleep(0.1)
        return [1]

    app.conf.beat_schedule = {{
        **{{
            f"s{{n}}": {{"binding": "proj.work", "payload": [n], "everyMs": 3_600_000_000}}
            for n in range({many})
        }},
        "made": {{"binding": "proj.work", "payload": made, "everyMs": 1000}},
    }}
"""


def test_two_hundred_green_tasks_and_a_patched_beat(project: Project, filesystem_broker: Broker):
    """C236 (beat in a patched program), C237 (the worker's green tasks)."""
    project.write(SOURCE.format(settings=filesystem_broker.settings, many=MANY))
    book = Book(project)
    project.worker("-P", "gevent", "-c", "50")
    beat = project.beat()
    project.wait_for(lambda: len(book.schedules()) == MANY + 1, 60)
    names = [f"s{n}" for n in range(MANY)]
    book.fire(*names)
    found: dict[str, str | None] = {}

    def all_finished() -> bool:
        found.update(
            {name: book.state(name) for name in names if found.get(name) not in states.FINISHED}
        )
        return all(state in states.FINISHED for state in found.values())

    project.wait_for(all_finished, 120)
    wrong = {
        name: state
        for n, name in enumerate(names)
        if (state := found[name]) != (states.COMPLETED if n % 10 else states.FAILED)
    }
    assert wrong == {}
    project.wait_for(lambda: book.state("made") is not None)
    project.wait_for(lambda: [o for o in book.occurrences("made") if o.state == states.COMPLETED])
    assert beat.terminate() == 0
    book.explain("made", 1000)
