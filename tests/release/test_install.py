"""The wheel in fresh environments: every Python at hand, oldest and newest dependencies.

An environment takes some twenty seconds and the package index, so that an ordinary run tries one
alone; all of them are tried with TSUMUGI_RELEASE=1, as .ci/run sets it.
"""

import os
import re
from pathlib import Path

import pytest

from tests.release.conftest import ROOT, pythons, run

HERE = Path(__file__).parent
SMOKE = HERE / "smoke.py"
OLDEST = HERE / "oldest.txt"
PYTHONS = pythons()

pytestmark = pytest.mark.timeout(600)
thorough = pytest.mark.skipif(
    not os.environ.get("TSUMUGI_RELEASE"), reason="takes minutes: set TSUMUGI_RELEASE=1"
)


def smoke(python: Path, folder: Path) -> None:
    folder.mkdir()
    assert run(python, SMOKE, folder, cwd=folder).splitlines()[-1] == "fine"


def test_the_oldest_dependencies_on_the_oldest_python(built, fresh, tmp_path: Path):
    python = PYTHONS.get("3.10") or pytest.skip("no Python 3.10 here")
    installed = fresh(python, built["wheel"], "--constraint", OLDEST)
    smoke(installed, tmp_path / "smoke")


@thorough
@pytest.mark.release
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_the_newest_dependencies_on_every_python(version, built, fresh, tmp_path: Path):
    python = PYTHONS.get(version) or pytest.skip(f"no Python {version} here")
    installed = fresh(python, built["wheel"])
    smoke(installed, tmp_path / "smoke")


@thorough
@pytest.mark.release
def test_the_rules_hold_with_the_oldest_dependencies(built, fresh, tmp_path: Path):
    python = PYTHONS.get("3.10") or pytest.skip("no Python 3.10 here")
    tools = ["pytest", "pytest-timeout", "hypothesis", "psutil", "ephem", "pytz"]
    extras = f"{built['wheel']}[web,redis,postgres,mysql]"
    installed = fresh(python, extras, *tools, "--constraint", OLDEST)
    rooms = ["core/test_upcoming.py", "definitions", "beat", "ledger", "control"]
    told = run(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "-k", "not postgres and not mariadb and not rabbitmq",
        *(ROOT / "tests" / room for room in rooms),
        cwd=ROOT, timeout=550,
    )  # fmt: skip
    assert re.search(r"\d+ passed", told)


def bounds() -> dict[str, str]:
    tomllib = pytest.importorskip("tomllib")  # since Python 3.11
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    return dict(
        re.findall(r"^([\w-]+)>=([\w.]+)", "\n".join(project["dependencies"]), re.MULTILINE)
    )


def test_what_is_tried_as_oldest_is_what_is_promised():
    tried = dict(re.findall(r"^([\w-]+)==([\w.]+)", OLDEST.read_text(), re.MULTILINE))
    assert tried == bounds()


@pytest.mark.parametrize("page", ["README.md", "docs/deployment.md"])
def test_the_pages_say_the_same_ranges(page):
    text = (ROOT / page).read_text()
    for name, word in (("celery", "Celery"), ("kombu", "kombu"), ("sqlalchemy", "SQLAlchemy")):
        oldest = bounds()[name]
        assert re.search(rf"{word} {re.escape(oldest)}", text), (word, oldest)
