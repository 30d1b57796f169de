"""The public API under mypy strict and pyright: what is right passes, what is wrong is found."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import pytest
from celery import Celery

from tsumugi_celery import typing as types
from tsumugi_celery.core.keys import snake
from tsumugi_celery.core.options import JOB_OPTION_KEYS
from tsumugi_celery.definitions.forms import CELERY_KEYS, TSUMUGI_KEYS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RIGHT, WRONG = HERE / "right.py", HERE / "wrong.py"
MARKED = {
    number
    for number, line in enumerate(WRONG.read_text().splitlines(), 1)
    if line.endswith("# wrong")
}

Found = dict[str, set[int]]


def mypy() -> Found:
    # Celery's types as a project sees them, not as this repository sets them aside.
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    options = ["--follow-imports=silent", f"--cache-dir={ROOT / '.mypy_cache' / 'public'}"]
    done = subprocess.run(
        [*command, *options, str(RIGHT), str(WRONG)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    found: Found = {"right.py": set(), "wrong.py": set()}
    for name, line in re.findall(r"(\w+\.py):(\d+): error", done.stdout):
        found[name].add(int(line))
    return found


def pyright() -> Found:
    command = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("pyright is not installed")
    done = subprocess.run(
        [command, "--outputjson", "--pythonpath", sys.executable, str(RIGHT), str(WRONG)],
        cwd=HERE, capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    try:
        answer = json.loads(done.stdout)
    except ValueError:  # it fetches its own program on first use
        pytest.skip(f"pyright does not start: {done.stderr[-200:]}")
    found: Found = {"right.py": set(), "wrong.py": set()}
    for each in answer["generalDiagnostics"]:
        if each["severity"] == "error":
            found[Path(each["file"]).name].add(each["range"]["start"]["line"] + 1)
    return found


@pytest.mark.parametrize("check", [mypy, pyright])
def test_right_is_right_and_wrong_is_wrong(check: Callable[[], Found]):
    assert check() == {"right.py": set(), "wrong.py": MARKED}


def both_spellings(keys):
    return {*keys, *map(snake, keys)}


def test_the_types_have_the_keys_that_are_accepted():
    ours = set(get_type_hints(types.JobDefinition)) | set(get_type_hints(types.FlowDefinition))
    assert ours == both_spellings(TSUMUGI_KEYS)
    celery = set(get_type_hints(types.CeleryDefinition))
    # Celery's form refuses a partitionKey, whatever its value.
    assert celery == both_spellings(CELERY_KEYS - {"partitionKey"})
    binding = {"task", "queue", "shards", "policy", "options"}
    assert set(get_type_hints(types.BindingDefinition)) == both_spellings(
        JOB_OPTION_KEYS - {"partitionKey"} | binding
    )


@pytest.fixture
def task():
    app = Celery("types", broker="memory://", set_as_current=False)

    @app.task(bind=True)
    def send(self, to, subject="", *, copies=1, **headers): ...

    return send


def test_a_payload_is_positional_or_by_name(task):
    assert types.payload_for(task, "a", "b") == ["a", "b"]
    assert types.payload_for(task, to="a", x=1) == {"to": "a", "x": 1}
    assert types.payload_for(task, "a", copies=2, x=1) == {"to": "a", "copies": 2, "x": 1}


def test_what_does_not_fit_is_refused(task):
    with pytest.raises(TypeError, match="missing a required argument"):
        types.payload_for(task)

    @task.app.task
    def every(first, /, *rest, last): ...

    with pytest.raises(TypeError, match="by position only"):
        types.payload_for(every, 1, last=2)
