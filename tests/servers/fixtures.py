"""The fixtures: one server of a kind for a whole run, a fresh database or broker for each test."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.base import Server
from tests.servers.kinds import Broker, Database
from tests.servers.mariadb import MariaDB
from tests.servers.postgresql import PostgreSQL
from tests.servers.rabbitmq import RabbitMQ
from tests.servers.redis_server import Redis

DATABASES = ("sqlite", "postgresql", "mariadb")
BROKERS = ("filesystem", "redis", "rabbitmq")

_numbers = itertools.count(1)


def _serve(server: Server) -> Iterator[Server]:
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    yield from _serve(PostgreSQL())


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Server]:
    yield from _serve(MariaDB())


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    yield from _serve(Redis())


@pytest.fixture(scope="session")
def rabbitmq_server() -> Iterator[Server]:
    yield from _serve(RabbitMQ())


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Database:
    """An SQLite file that does not exist yet."""
    return Database("sqlite", f"sqlite:///{tmp_path / 'ledger.sqlite3'}")


@pytest.fixture
def postgres_database(postgres_server: PostgreSQL) -> Iterator[Database]:
    """An empty PostgreSQL database."""
    yield from _database("postgresql", postgres_server)


@pytest.fixture
def mariadb_database(mariadb_server: MariaDB) -> Iterator[Database]:
    """An empty MariaDB database."""
    yield from _database("mariadb", mariadb_server)


def _database(kind: str, server: PostgreSQL | MariaDB) -> Iterator[Database]:
    server.ensure()
    name = f"test_{next(_numbers)}"
    yield Database(kind, server.create_database(name), server)
    server.ensure()
    server.drop_database(name)


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> Database:
    """A fresh, empty database: the test runs once on each kind."""
    fixture = {"postgresql": "postgres_database"}.get(request.param, f"{request.param}_database")
    found: Database = request.getfixturevalue(fixture)
    return found


@pytest.fixture
def database_url(database: Database) -> str:
    """The URL of a fresh, empty database: the test runs once on each kind."""
    return database.url


@pytest.fixture
def filesystem_broker(tmp_path: Path) -> Broker:
    """A broker in a folder, looked at ten times a second."""
    messages, control = tmp_path / "broker" / "messages", tmp_path / "broker" / "control"
    messages.mkdir(parents=True)
    control.mkdir()
    options = {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.1,
    }
    return Broker("filesystem", "filesystem://", options)


@pytest.fixture
def redis_broker(redis_server: Redis) -> Broker:
    """An empty Redis database."""
    redis_server.ensure()
    return Broker("redis", redis_server.database_url(redis_server.new_database()), {}, redis_server)


@pytest.fixture
def rabbitmq_broker(rabbitmq_server: RabbitMQ) -> Broker:
    """An empty virtual host of RabbitMQ, with publisher confirms as in production."""
    rabbitmq_server.ensure()
    url = rabbitmq_server.vhost_url(rabbitmq_server.new_vhost())
    return Broker("rabbitmq", url, {"confirm_publish": True}, rabbitmq_server)


@pytest.fixture(params=BROKERS)
def broker(request: pytest.FixtureRequest) -> Broker:
    """A fresh, empty broker: the test runs once on each kind."""
    found: Broker = request.getfixturevalue(f"{request.param}_broker")
    return found
