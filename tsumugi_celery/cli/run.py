"""The command that shows a Run: its state, its progress, and the tree of its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tsumugi_celery.cli.common import answering, json_option, print_json
from tsumugi_celery.cli.moments import shown
from tsumugi_celery.cli.table import print_fields, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tsumugi_celery.control.runs import BranchView
    from tsumugi_celery.control.service import Control


@click.command()
@click.argument("run_id")
@json_option
@answering
def run(control: Control, run_id: str, *, as_json: bool) -> None:
    """Show a Run: its state, its progress, and the tree of its tasks.

    RUN_ID is what `trigger` and `history` print for a schedule with a flow.
    """
    view = control.run(run_id)
    if as_json:
        print_json(view.to_dict())
        return
    zone = control.get(view.schedule).time_zone
    print_fields(
        [
            ("id", view.id),
            ("schedule", view.schedule),
            ("flow", view.target),
            ("scheduled", shown(view.scheduled_at, zone)),
            ("state", view.state),
            ("progress", f"{view.ended} of {view.known} tasks ended"),
            ("started", shown(view.started_at, zone)),
            ("ended", shown(view.ended_at, zone)),
            ("deadline", shown(view.deadline_at, zone)),
            ("error", view.error),
        ]
    )
    rows = [row for branch in view.tasks for row in _rows(branch, 0)]
    if rows:
        click.echo()
        print_table(("TASK", "STATE", "SECONDS", "WORKER", "ID", "ERROR"), rows)


def _rows(branch: BranchView, depth: int) -> Iterator[tuple[object, ...]]:
    place = "" if branch.role in {"root", "step", "member"} else f"{branch.role}: "
    label = "  " * depth + place + (branch.name or branch.shape)
    seconds = None
    if branch.started_at is not None and branch.ended_at is not None:
        seconds = f"{(branch.ended_at - branch.started_at) / 1000:.3f}"
    yield label, branch.state, seconds, branch.worker, branch.task_id, branch.error
    for child in branch.children:
        yield from _rows(child, depth + 1)
