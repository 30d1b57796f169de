"""Imports point one way: faces -> engine, control -> ledger -> core; and core is pure.

The check reads the source with `ast`, so it also sees imports inside functions and those for type
checkers only: a name needed from above is a dependency on above.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "tsumugi_celery"
SOURCE = Path(__file__).parents[1] / PACKAGE

# A room may import from itself and from the rooms named here. A new room needs a line.
BELOW_ENGINE = {"core", "definitions", "ledger"}
BELOW_FACES = BELOW_ENGINE | {"engine", "control", "flows", "repeats"}
FACES = {"__init__", "app", "beat", "cli", "handle", "local", "testing", "typing", "web", "worker"}
MAY_IMPORT = {
    "core": set(),
    "definitions": {"core"},
    "ledger": {"core"},
    "engine": BELOW_ENGINE | {"flows"},
    "control": BELOW_ENGINE | {"engine", "flows"},
    "flows": BELOW_ENGINE,  # decision 0070
    "repeats": BELOW_ENGINE | {"engine"},
    "importing": BELOW_ENGINE | {"control"},
    **dict.fromkeys(FACES, BELOW_FACES | FACES | {"importing"}),
}

# Rooms that are kept free of the world outside: what else they may import.
STANDARD = sys.stdlib_module_names
OUTSIDE = {
    "core": (STANDARD - {"random", "secrets", "time"}) | {"croniter", "tzdata"},
    "definitions": STANDARD | {"celery", "kombu", "vine"},
}
# Time and chance are arguments in core; these are the ways to get them otherwise.
IMPURE = {"now", "utcnow", "today", "urandom", "uuid1", "uuid4"}


def violations(source: Path) -> list[str]:
    """All that is against the rules in a package folder, one line each."""
    return [
        f"{path.relative_to(source)}:{line}: {what}"
        for path in sorted(source.rglob("*.py"))
        for line, what in _violations_of(path.relative_to(source), ast.parse(path.read_text()))
    ]


def _violations_of(path: Path, tree: ast.AST) -> Iterator[tuple[int, str]]:
    room = path.parts[0].removesuffix(".py")
    if room not in MAY_IMPORT:
        yield 1, f"the room {room} has no line in MAY_IMPORT of {Path(__file__).name}"
        return
    for line, module in _imports(path, tree):
        top, _, rest = module.partition(".")
        if top == PACKAGE:
            other = rest.partition(".")[0] or "__init__"
            if other not in MAY_IMPORT[room] | {room}:
                yield line, f"{room} imports {module}, which is not below it"
        elif room in OUTSIDE and top not in OUTSIDE[room]:
            yield line, f"{room} imports {module}, which has no business there"
    if room == "core":
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in IMPURE:
                yield node.lineno, f"core uses .{node.attr}: time and chance are arguments there"


def _imports(path: Path, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of all that is imported, relative names made absolute."""
    here = [PACKAGE, *path.parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == PACKAGE:  # `from tsumugi_celery import core` is about the room core
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module


def test_the_package_keeps_the_rules():
    assert violations(SOURCE) == []


def test_the_package_is_really_read():
    assert (SOURCE / "core").is_dir()
    assert len(list(SOURCE.rglob("*.py"))) > 5


@pytest.mark.parametrize(
    ("path", "source", "told"),
    [
        ("core/a.py", "import celery", "core imports celery"),
        ("core/a.py", "from kombu.utils import json", "core imports kombu.utils"),
        ("core/a.py", "def f():\n    import sqlalchemy", "a.py:2: core imports sqlalchemy"),
        ("core/a.py", "from flask import Flask", "core imports flask"),
        ("core/a.py", "import random", "core imports random"),
        ("core/a.py", "from time import time", "core imports time"),
        ("core/a.py", "import datetime as d\nd.datetime.now()", "a.py:2: core uses .now"),
        ("core/a.py", "from datetime import datetime as d\nnow = d.utcnow", "core uses .utcnow"),
        ("core/a.py", "from tsumugi_celery.ledger import b", "core imports tsumugi_celery.ledger"),
        ("core/a.py", "from ..engine import b", "core imports tsumugi_celery.engine"),
        ("core/a.py", "from .. import ledger", "core imports tsumugi_celery.ledger"),
        ("core/deep/a.py", "from ...ledger.b import c", "core imports tsumugi_celery.ledger.b"),
        ("core/a.py", "import tsumugi_celery", "core imports tsumugi_celery"),
        ("ledger/a.py", "import tsumugi_celery.engine.b", "ledger imports tsumugi_celery.engine"),
        ("ledger/a.py", "from tsumugi_celery import definitions", "ledger imports"),
        ("definitions/a.py", "from ..ledger import b", "definitions imports"),
        ("definitions/a.py", "import sqlalchemy", "definitions imports sqlalchemy"),
        ("engine/a.py", "from tsumugi_celery.beat import Scheduler", "engine imports"),
        ("engine/a.py", "from ..worker import guard", "engine imports tsumugi_celery.worker"),
        ("attic/a.py", "", "the room attic has no line"),
    ],
)
def test_a_planted_violation_is_noticed(tmp_path: Path, path: str, source: str, told: str):
    planted = tmp_path / path
    planted.parent.mkdir(parents=True)
    planted.write_text(source)
    (found,) = violations(tmp_path)
    assert told in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "core/a.py",
            "import croniter, zoneinfo, datetime\nfrom .b import c\nfrom datetime import time",
        ),
        ("definitions/a.py", "import celery\nfrom ..core import errors"),
        ("ledger/a.py", "import sqlalchemy\nfrom tsumugi_celery.core.ids import occurrence_id"),
        (
            "engine/a.py",
            "import time\nfrom ..definitions import model\nfrom ..ledger import schema",
        ),
        ("beat.py", "from .engine import cycle\nfrom .app import state_of"),
        ("__init__.py", "from .app import define_tsumugi"),
    ],
)
def test_what_is_allowed_is_not_refused(tmp_path: Path, path: str, source: str):
    planted = tmp_path / path
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(source)
    assert violations(tmp_path) == []
