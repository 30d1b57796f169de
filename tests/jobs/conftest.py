"""Stages of this room."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.jobs.bench import Bench
from tests.jobs.stage import Stage
from tests.processes import Project
from tests.servers.kinds import Broker, Database


@pytest.fixture(params=["redis", "rabbitmq"])
def stage(request: pytest.FixtureRequest, project: Project, sqlite_database: Database) -> Stage:
    """A project on Redis, and on RabbitMQ."""
    broker: Broker = request.getfixturevalue(f"{request.param}_broker")
    return Stage(project, broker, sqlite_database.url)


@pytest.fixture
def redis_stage(project: Project, redis_broker: Broker, sqlite_database: Database) -> Stage:
    """A project on Redis."""
    return Stage(project, redis_broker, sqlite_database.url)


@pytest.fixture
def bench(sqlite_database: Database) -> Iterator[Callable[..., Bench]]:
    """Makes beats of this process; all keep the same ledger."""
    yield from _benches(sqlite_database.url)


@pytest.fixture
def any_bench(database: Database) -> Iterator[Callable[..., Bench]]:
    """The same, once on each kind of database."""
    yield from _benches(database.url)


def _benches(url: str) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(*args: Any, **more: Any) -> Bench:
        made.append(Bench(url, *args, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()
