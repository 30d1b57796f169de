"""Commands for setting up: check and migrate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tsumugi_celery.app import state_of
from tsumugi_celery.cli.common import FAILED, answering, json_option, print_json
from tsumugi_celery.core.errors import DefinitionError
from tsumugi_celery.ledger import versions

if TYPE_CHECKING:
    from tsumugi_celery.control.service import Control


@click.command()
@json_option
@answering
def check(control: Control, *, as_json: bool) -> None:
    """Check all definitions, with the tasks imported; nothing is started or connected.

    Exits with 1 when there are problems.
    """
    try:
        definitions = state_of(control.source.app).check()
    except DefinitionError as exc:
        if not as_json:
            raise
        print_json({"problems": [vars(problem) for problem in exc.problems]})
        raise SystemExit(FAILED) from exc
    if as_json:
        print_json({"problems": []})
        return
    counts = [
        (len(definitions.schedules), "schedule"),
        (len(definitions.bindings), "binding"),
        (len(definitions.flows), "flow"),
    ]
    words = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
    click.echo(f"No problems: {words}.")


@click.command()
@json_option
@answering
def migrate(control: Control, *, as_json: bool) -> None:
    """Bring the tables of the ledger to the version this package needs."""
    ledger = control.source.state.ledger
    before, now = versions.upgrade(ledger)
    if as_json:
        print_json({"ledger": str(ledger), "before": before, "now": now})
    elif before == now:
        click.echo(f"{ledger} has version {now} already.")
    else:
        click.echo(f"{ledger} was brought from version {before or 'none'} to {now}.")
