"""Stages: on each kind of database, or on SQLite alone where the database does not matter."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.control.stage import Stage
from tests.servers import Database
from tests.servers.fixtures import DATABASES


@pytest.fixture(scope="module", params=DATABASES)
def _url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One database for a file: each stage has a namespace of its own in it."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('control') / 'ledger.sqlite3'}"
        return
    fixture = {"postgresql": "postgres_server"}.get(request.param, f"{request.param}_server")
    server: Any = request.getfixturevalue(fixture)
    server.ensure()
    name = f"control_{request.node.name.removesuffix('.py').rpartition('_')[2]}"
    yield server.create_database(name)
    server.drop_database(name)


@pytest.fixture
def stage(_url: str) -> Iterator[Stage]:
    """A stage on each kind of database."""
    made = Stage(_url)
    yield made
    made.close()


@pytest.fixture
def small_stage(sqlite_database: Database) -> Iterator[Stage]:
    """A stage on a new SQLite file."""
    made = Stage(sqlite_database.url)
    yield made
    made.close()
