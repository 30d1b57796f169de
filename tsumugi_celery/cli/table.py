"""Plain text in columns. Never coloured: it reads the same in a terminal, a pipe and a log."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import click

from tsumugi_celery.core.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their heads, each column as wide as its widest cell."""
    cells = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(_width(row[index]) for row in cells) for index in range(len(head))]
    for row in cells:
        padded = [
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def print_fields(fields: Sequence[tuple[str, object]]) -> None:
    """Print named values, one a line."""
    width = max(len(name) for name, _ in fields)
    for name, value in fields:
        click.echo(f"{name:<{width}}  {_cell(value)}")


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    # Names and errors are other people's text.
    return printable(str(value))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)
