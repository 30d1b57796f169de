"""The examples of docs/repeats.md and docs/testing.md run."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python_of(page):
    text = (ROOT / "docs" / page).read_text()
    return "\n".join(re.findall(r"^```python.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def test_the_page_of_repeats(tmp_path):
    (tmp_path / "proj.py").write_text(python_of("repeats.md"))
    ran = subprocess.run(
        [sys.executable, "proj.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_the_page_of_tests(tmp_path):
    """The plugin is named, so that it is found without an installed entry point too."""
    (tmp_path / "test_proj.py").write_text(python_of("testing.md"))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tsumugi_celery.testing.plugin",
         "-p", "no:cacheprovider", "test_proj.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "4 passed" in ran.stdout
