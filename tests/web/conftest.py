"""Stages for the web tests: SQLite is enough, the service is tested on all databases."""

from collections.abc import Iterator

import pytest

from tests.control.stage import MINUTE, Stage, job
from tests.servers import Database
from tests.web.site import Site
from tsumugi_celery.web import unsafe_no_auth


@pytest.fixture
def stage(sqlite_database: Database) -> Iterator[Stage]:
    made = Stage(sqlite_database.url)
    yield made
    made.close()


@pytest.fixture
def site(stage: Stage) -> Site:
    """An open site with two schedules that a beat has registered; `broken` cannot be enqueued."""
    return _site(stage)


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all tests of a file that change nothing."""
    made = Stage(f"sqlite:///{tmp_path_factory.mktemp('web') / 'ledger.sqlite3'}")
    yield _site(made)
    made.close()


def _site(stage: Stage) -> Site:
    stage.define(
        {
            "nightly": job(cron="0 9 * * *", timeZone="Asia/Tokyo"),
            "broken": {"binding": "proj.add", "payload": lambda _: 1 / 0, "everyMs": MINUTE},
        }
    )
    stage.beat()
    return Site(stage, auth=unsafe_no_auth())
