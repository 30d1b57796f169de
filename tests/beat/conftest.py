"""A bench for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.beat.bench import Bench


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Make a bench that begins at a given time."""
    made: list[Bench] = []

    def make(at: str = "2026-05-01T12:00:00Z", **settings: Any) -> Bench:
        one = Bench(tmp_path, at, **settings)
        made.append(one)
        return one

    yield make
    for one in made:
        one.stop()
