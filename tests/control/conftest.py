"""Stages: on each kind of database, or on SQLite alone where the database does not matter."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.control.stage import Stage
from tests.servers.fixtures import DATABASES


@pytest.fixture(scope="session", params=DATABASES)
def _url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One database of a kind for all tests: each stage has a namespace of its own in it."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('control') / 'ledger.sqlite3'}"
        return
    fixture = {"postgresql": "postgres_server"}.get(request.param, f"{request.param}_server")
    server: Any = request.getfixturevalue(fixture)
    server.ensure()
    yield server.create_database("control")
    server.drop_database("control")


@pytest.fixture
def stage(_url: str) -> Iterator[Stage]:
    """A stage on each kind of database."""
    made = Stage(_url)
    yield made
    made.close()


@pytest.fixture(scope="session")
def _small_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('control_small') / 'ledger.sqlite3'}"


@pytest.fixture
def small_stage(_small_url: str) -> Iterator[Stage]:
    """A stage on SQLite alone."""
    made = Stage(_small_url)
    yield made
    made.close()
