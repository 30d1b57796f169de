"""The command that lists repeats which the data owns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tsumugi_celery.cli.common import answering, json_option, print_json
from tsumugi_celery.cli.moments import shown
from tsumugi_celery.cli.table import print_table

if TYPE_CHECKING:
    from tsumugi_celery.control.repeats import RepeatItem
    from tsumugi_celery.control.service import Control


@click.command("repeats")
@click.argument("collection")
@click.option("--prefix", default="", help="Only ids that begin so.")
@click.option("--after", help="Only ids behind this one: the last of the page before.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, help="How many at the most.")
@json_option
@answering
def repeats(
    control: Control, collection: str, prefix: str, after: str | None, limit: int, *, as_json: bool
) -> None:
    """List repeats of a collection: when each runs next and when it ran last."""
    page = control.repeats(collection, prefix=prefix, after=after, limit=limit)
    if as_json:
        print_json(page.to_dict())
        return
    if not page.repeats:
        click.echo("No repeats.")
        return
    print_table(("ID", "WHEN", "NEXT", "LAST", "NOTE"), [_row(each) for each in page.repeats])
    if page.next is not None:
        click.echo(f"{len(page.repeats)} of {page.total}; go on with --after {page.next!r}")


def _row(each: RepeatItem) -> tuple[object, ...]:
    zone = each.time_zone
    when = f"{each.cron} ({zone})" if each.cron else f"every {(each.every_ms or 0) / 1000:g} s"
    note = "paused" if each.paused else "waits for its run to end" if each.waits_for_run else ""
    return (
        each.id,
        when,
        shown(each.next_run_at, zone),
        shown(each.last_run_at, zone),
        (each.last_error or note),
    )
