"""A project whose schedules are read: `celery tsumugi import` called in this process."""

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from click.testing import CliRunner, Result

from tsumugi_celery.cli import tsumugi
from tsumugi_celery.definitions.read import read_definitions


class Project:
    """An app with tasks, and the command."""

    def __init__(self) -> None:
        self.app = Celery("shop", broker="memory://", set_as_current=False)
        self.app.conf.timezone = "Europe/Berlin"

        @self.app.task(name="shop.add", shared=False)
        def add(x: int = 1, y: int = 2) -> int:
            return x + y

    def call(self, *args: str) -> Result:
        """Call the command."""
        return CliRunner().invoke(tsumugi, ["import", *args], obj=SimpleNamespace(app=self.app))

    def read(self, *args: str) -> "Answer":
        """Call the command; what it prints must be Python that this package accepts."""
        result = self.call("--json", *args)
        assert result.exit_code == 0, result.output
        answer = Answer(json.loads(result.stdout))
        read_definitions(self.app, answer.schedules)
        return answer


class Answer:
    """What the command prints as JSON, by name."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.python: str = answer["python"]
        self.rows = {row["name"]: row for row in answer["schedules"]}
        names: dict[str, Any] = {}
        exec(compile(self.python, "imported", "exec"), names)
        self.schedules = names["schedules"]

    def kinds(self, name: str) -> set[str]:
        """The kinds of the changes of a schedule."""
        return {change["kind"] for change in self.rows[name]["changes"]}

    def text(self, name: str, kind: str) -> str:
        """The sentence of one change."""
        (found,) = (each["text"] for each in self.rows[name]["changes"] if each["kind"] == kind)
        return str(found)

    def same_times(self, name: str) -> bool:
        """Whether the next ten times are those that they were."""
        row = self.rows[name]
        return len(row["after"]) == 10 and row["before"] == row["after"]


@pytest.fixture
def shop() -> Project:
    return Project()
