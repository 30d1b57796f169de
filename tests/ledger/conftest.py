"""Ledgers on each kind of database."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers import Database
from tests.servers.fixtures import DATABASES
from tsumugi_celery.ledger import schema
from tsumugi_celery.ledger.ledger import Ledger


@pytest.fixture
def fresh_ledger(database: Database) -> Iterator[Ledger]:
    """A ledger that has just been made, in a database of its own."""
    made = Ledger(database.url)
    made.open()
    yield made
    made.close()


@pytest.fixture(scope="module", params=DATABASES)
def _module_ledger(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ledger]:
    server: Any = None
    name = f"rows_{request.node.name.removesuffix('.py').rpartition('_')[2]}"
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.sqlite3'}"
    else:
        fixture = {"postgresql": "postgres_server"}.get(request.param, f"{request.param}_server")
        server = request.getfixturevalue(fixture)
        server.ensure()
        url = server.create_database(name)
    made = Ledger(url)
    made.open()
    yield made
    made.close()
    if server is not None:
        server.drop_database(name)


@pytest.fixture
def ledger(_module_ledger: Ledger) -> Ledger:
    """An empty ledger: the tables are made once for a file, since that is what takes time."""
    with _module_ledger.begin() as connection:
        for table in schema.metadata.sorted_tables:
            if table is not schema.meta:
                connection.execute(table.delete())
    return _module_ledger
