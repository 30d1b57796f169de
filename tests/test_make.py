"""The commands a newcomer meets first say what they are, and every lint exception says why."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def make() -> str:
    return shutil.which("make") or pytest.skip("make is not installed")


def run(make: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([make, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_help_is_the_default_and_lists_every_target(make: str):
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    told = run(make).stdout
    assert re.findall(r"^  (\w+) +\w", told, re.MULTILINE) == phony.split()
    assert "SECONDS=" in told


def test_the_scripts_that_targets_run_are_there():
    scripts = re.findall(r"python (\S+\.py)", (ROOT / "Makefile").read_text())
    assert len(scripts) == 3
    assert [script for script in scripts if not (ROOT / script).exists()] == []


def test_an_old_python_is_refused_with_the_remedy(make: str, tmp_path: Path):
    done = run(make, f"VENV={tmp_path / 'venv'}", "PYTHON=false", "check")
    assert done.returncode != 0
    assert "false is missing or older than 3.10; say 'make PYTHON=" in done.stderr


def test_every_lint_exception_has_its_reason():
    text = (ROOT / "pyproject.toml").read_text()
    exceptions = re.findall(r'^    "[A-Z]+\d*",.*$', text, re.MULTILINE)
    assert len(exceptions) > 10
    assert [line for line in exceptions if not re.search(r"# \w.{6,}", line)] == []


def test_the_extra_for_redis_is_celerys_own():
    """The client alone is not enough: kombu's Redis transport imports more than it."""
    text = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'^redis = \["celery\[redis\]', text, re.MULTILINE)
