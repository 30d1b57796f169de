"""An app with a few schedules, registered in a ledger of its own, and a way to call commands."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery import Celery
from click.testing import CliRunner, Result

from tsumugi_celery import define_tsumugi
from tsumugi_celery.app import state_of
from tsumugi_celery.cli import tsumugi
from tsumugi_celery.engine.cycle import Cycle

Call = Callable[..., Result]


@pytest.fixture
def app(tmp_path: Path) -> Celery:
    made = Celery("shop", broker="memory://", set_as_current=False)

    @made.task(name="shop.add", shared=False)
    def add(x: int, y: int) -> int:
        return x + y

    define_tsumugi(
        made,
        database_url=f"sqlite:///{tmp_path}/ledger.sqlite3",
        bindings={"Sum": {"task": "shop.add", "policy": {"concurrency": 1}}},
        schedules={
            "minutely": {"binding": "Sum", "payload": [1, 2], "cron": "* * * * *"},
            "nightly": {
                "binding": add,
                "payload": [1, 2],
                "cron": "30 2 * * *",
                "timeZone": "Europe/Berlin",
            },
            "often": {"binding": add, "payload": {"x": 1, "y": 2}, "everyMs": 60_000},
            "日本": {"task": "shop.add", "schedule": 90.0, "args": (1, 2)},
            "evil\x1b[31m": {"task": "shop.add", "schedule": 90.0, "args": (1, 2)},
        },
    )
    state = state_of(made)
    cycle = Cycle(
        made, state.ledger, state.check().schedules, state.namespace, state.settings, state.clock
    )
    cycle.start()
    cycle.stop()
    return made


@pytest.fixture
def call(app: Celery) -> Call:
    """Call `celery tsumugi …` in this process."""

    def run(*args: str) -> Result:
        return CliRunner().invoke(tsumugi, args, obj=SimpleNamespace(app=app))

    return run
