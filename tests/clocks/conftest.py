"""A world of its own for every test."""

import pytest

from tests.clocks.driving import Driver
from tests.clocks.moments import ms
from tests.model.world import World, make_template, make_world


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return make_template(tmp_path_factory.mktemp("clocks") / "template.sqlite3")


@pytest.fixture
def drive(template, tmp_path):
    """Return a driver whose clock begins at the given moment."""
    worlds: list[World] = []

    def make(start: str) -> Driver:
        world = make_world(template, tmp_path / f"world{len(worlds)}", ms(start))
        worlds.append(world)
        return Driver(world)

    yield make
    for world in worlds:
        world.close()
