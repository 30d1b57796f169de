"""The pytest plugin: `tsumugi_clock`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tsumugi_celery.testing.clock import Moment
    from tsumugi_celery.testing.simulation import Simulation


@pytest.fixture(scope="session")
def _tsumugi_empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the tables once; each simulation gets a copy."""
    # Imported here: pytest loads this plugin in every project of the environment.
    from tsumugi_celery.ledger.ledger import Ledger  # noqa: PLC0415

    path = tmp_path_factory.mktemp("tsumugi") / "empty.sqlite3"
    ledger = Ledger(f"sqlite:///{path}")
    ledger.open()
    ledger.close()
    return path


@pytest.fixture
def tsumugi_clock(
    _tsumugi_empty_ledger: Path, tmp_path: Path
) -> Iterator[Callable[..., Simulation]]:
    """Return a function that begins a simulation: `tsumugi_clock(tsumugi, start=…)`.

    Its first argument is the handle that `define_tsumugi` returned, or the Celery app.
    """
    from tsumugi_celery.app import state_of  # noqa: PLC0415
    from tsumugi_celery.testing.simulation import Simulation  # noqa: PLC0415

    made: list[Simulation] = []

    def begin(project: Any, *, start: Moment) -> Simulation:
        path = tmp_path / f"simulation-{len(made)}.sqlite3"
        shutil.copy(_tsumugi_empty_ledger, path)
        app = getattr(project, "app", project)
        made.append(Simulation(state_of(app), path, start))
        return made[-1]

    yield begin
    for each in made:
        each.close()
