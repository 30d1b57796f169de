"""Every rule of docs/rules.md names a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "rules.md").read_text()
ROWS = re.findall(r"^\| (?!rule |---)(.*?) \| (.*) \|$", PAGE, re.MULTILINE)


@cache
def names_in(file: str) -> set[str]:
    """The names of the test functions in a file, those in classes too."""
    tree = ast.parse((ROOT / "tests" / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_page_is_read():
    assert len(ROWS) > 50
    assert len(ROWS) == len(re.findall(r"^\| ", PAGE, re.MULTILINE)) - 2 * PAGE.count("| --- |")


@pytest.mark.parametrize(("rule", "tests"), ROWS, ids=[rule[:40] for rule, _ in ROWS])
def test_a_rule_names_tests_that_exist(rule: str, tests: str):
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", tests)
    assert named, rule
    assert [(file, name) for file, name in named if name not in names_in(file)] == []
