"""Stages for the tests of this folder."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.processes import Project
from tests.reliability.stage import Stage
from tests.servers import Broker, Database


@pytest.fixture
def make_stage(project: Project) -> Iterator[Callable[..., Stage]]:
    """Make a stage: `make_stage(database, broker, **settings)`."""
    made: list[Stage] = []

    def make(database: Database | str, broker: Broker, **settings: Any) -> Stage:
        url = database if isinstance(database, str) else database.url
        made.append(Stage(project, url, broker.settings, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()
