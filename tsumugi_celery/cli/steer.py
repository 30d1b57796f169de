"""Commands that change something: pause, resume, trigger, cancel, bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tsumugi_celery.cli.common import answering, json_option, print_json
from tsumugi_celery.cli.moments import shown
from tsumugi_celery.cli.table import print_table

if TYPE_CHECKING:
    from tsumugi_celery.control.service import Control


@click.command()
@click.argument("names", nargs=-1, required=True)
@json_option
@answering
def pause(control: Control, names: tuple[str, ...], *, as_json: bool) -> None:
    """Pause schedules; pausing one that is paused changes nothing."""
    views = [control.pause(name) for name in names]
    if as_json:
        print_json([view.to_dict() for view in views])
        return
    for view in views:
        click.echo(f"{view.name} is paused since {shown(view.paused_at, view.time_zone)}.")


@click.command()
@click.argument("names", nargs=-1, required=True)
@json_option
@answering
def resume(control: Control, names: tuple[str, ...], *, as_json: bool) -> None:
    """Resume schedules; times that passed meanwhile are counted, not executed."""
    views = [control.resume(name) for name in names]
    if as_json:
        print_json([view.to_dict() for view in views])
        return
    for view in views:
        click.echo(f"{view.name} goes on; next at {shown(view.next_run_at, view.time_zone)}.")


@click.command()
@click.argument("name")
@json_option
@answering
def trigger(control: Control, name: str, *, as_json: bool) -> None:
    """Run a schedule once, now; its next regular time does not move."""
    identifier = control.trigger(name)
    if as_json:
        print_json({"id": identifier})
    else:
        click.echo(identifier)


@click.command()
@click.argument("occurrence_id")
@json_option
@answering
def cancel(control: Control, occurrence_id: str, *, as_json: bool) -> None:
    """Cancel an execution that has not ended."""
    view = control.cancel(occurrence_id)
    if as_json:
        print_json(view.to_dict())
    else:
        click.echo(f"{view.id} is {view.state}.")


@click.command()
@click.option("--pause", "to_pause", multiple=True, metavar="NAME", help="Hold its jobs back.")
@click.option("--resume", "to_resume", multiple=True, metavar="NAME", help="Let its jobs run.")
@json_option
@answering
def bindings(
    control: Control, to_pause: tuple[str, ...], to_resume: tuple[str, ...], *, as_json: bool
) -> None:
    """List the bindings; pause or resume some first."""
    for name in to_pause:
        control.pause_binding(name)
    for name in to_resume:
        control.resume_binding(name)
    views = control.bindings()
    if as_json:
        print_json([view.to_dict() for view in views])
        return
    if not views:
        click.echo("No bindings.")
        return
    print_table(
        ("NAME", "TASK", "QUEUE", "SHARDS", "LIMIT", "UNFINISHED", "WAITING", "NOTE"),
        [
            (
                view.name,
                view.task,
                view.queue,
                view.shards,
                view.concurrency,
                view.unfinished,
                view.waiting,
                "paused" if view.paused else None,
            )
            for view in views
        ],
    )
