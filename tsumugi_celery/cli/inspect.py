"""Commands that look: list, show, next, history, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tsumugi_celery.cli.common import answering, json_option, print_json
from tsumugi_celery.cli.moments import read_time, shown
from tsumugi_celery.cli.table import print_fields, print_table
from tsumugi_celery.core.states import CAUSES, STATES

if TYPE_CHECKING:
    from tsumugi_celery.control.service import Control
    from tsumugi_celery.control.views import OccurrenceView, ScheduleView

_MARKS = {"runs": "", "skipped": "does not exist: skipped", "repeated": "second pass: silent"}


@click.command("list")
@click.option("--search", help="Only schedules whose name or target contains this text.")
@click.option("--limit", type=click.IntRange(1), help="How many at the most.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to leave out first.")
@json_option
@answering
def list_command(
    control: Control, search: str | None, limit: int | None, offset: int, *, as_json: bool
) -> None:
    """List the schedules: next time, last execution, what did not run and why."""
    page = control.list(search=search, limit=limit, offset=offset)
    if as_json:
        print_json(page.to_dict())
        return
    if not page.schedules:
        click.echo("No schedules." if search is None else f"No schedule matches {search!r}.")
        return
    print_table(
        ("NAME", "WHEN", "NEXT", "LAST", "STATE", "NOT EXECUTED", "NOTE"),
        [_row(each) for each in page.schedules],
    )
    if len(page.schedules) < page.total:
        click.echo(f"{len(page.schedules)} of {page.total}; see --limit and --offset.")


@click.command()
@click.argument("name")
@json_option
@answering
def show(control: Control, name: str, *, as_json: bool) -> None:
    """Show everything about one schedule."""
    view = control.get(name)
    if as_json:
        print_json(view.to_dict())
        return
    zone = view.time_zone
    print_fields(
        [
            ("name", view.name),
            ("target", f"{view.target} ({view.kind})"),
            ("when", view.schedule_text),
            ("zone", zone or "UTC (interval)"),
            ("overlap", view.overlap),
            ("paused", f"since {shown(view.paused_at, zone)}" if view.paused else "no"),
            ("registered", shown(view.registered_at, zone)),
            ("next", shown(view.next_run_at, zone)),
            ("last executed", shown(view.last_run_at, zone)),
            ("enqueued at", shown(view.last_fired_at, zone)),
            ("its id", view.last_job_id if view.kind == "job" else view.last_run_id),
            ("its state", view.last_state),
            ("unfinished", view.unfinished),
            ("last not executed", shown(view.last_skipped_at, zone)),
            *((f"not executed: {cause}", count) for cause, count in view.not_executed.items()),
            ("last error", view.last_error),
            ("error at", shown(view.last_error_at, zone)),
        ]
    )


@click.command("next")
@click.argument("name")
@click.option("-n", "--count", type=click.IntRange(1, 1000), default=10, help="How many (10).")
@click.option("--after", help="From when on; now by default.")
@json_option
@answering
def next_command(
    control: Control, name: str, count: int, after: str | None, *, as_json: bool
) -> None:
    """Show the coming times, with local times that daylight saving skips or repeats marked."""
    start = None if after is None else read_time(after, control.get(name).time_zone)
    times = control.upcoming(name, count, after=start)
    if as_json:
        print_json([each.to_dict() for each in times])
        return
    print_table(
        ("LOCAL", "OFFSET", "NOTE"),
        [
            (each.local[:19].replace("T", " "), each.utc_offset, _MARKS[each.status])
            for each in times
        ],
    )


@click.command()
@click.argument("name")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    help="Only this state; may be repeated.",
)
@click.option(
    "--cause",
    "causes",
    multiple=True,
    type=click.Choice(CAUSES),
    help="Only this cause; may be repeated.",
)
@click.option("--since", help="From this time on.")
@click.option("--until", help="Up to this time.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, help="How many (20).")
@click.option("--cursor", help="What the page before named as next.")
@json_option
@answering
def history(  # noqa: PLR0917 - each is an option of the command
    control: Control,
    name: str,
    states: tuple[str, ...],
    causes: tuple[str, ...],
    since: str | None,
    until: str | None,
    limit: int,
    cursor: str | None,
    *,
    as_json: bool,
) -> None:
    """Show what became of the scheduled times, newest first."""
    zone = control.time_zone(name)
    page = control.occurrences(
        name,
        states=states,
        causes=causes,
        since=None if since is None else read_time(since, zone),
        until=None if until is None else read_time(until, zone),
        limit=limit,
        cursor=cursor,
    )
    if as_json:
        print_json(page.to_dict())
        return
    if not page.occurrences:
        click.echo("No occurrences.")
        return
    print_table(
        ("SCHEDULED", "STATE", "CAUSE", "COUNT", "ATTEMPT", "ID", "ERROR"),
        [_occurrence(each, zone) for each in page.occurrences],
    )
    if page.next is not None:
        click.echo(f"More: --cursor {page.next}")


@click.command()
@click.argument("name")
@click.argument("time")
@json_option
@answering
def why(control: Control, name: str, time: str, *, as_json: bool) -> None:
    """Say in one sentence what became of a time, and why.

    TIME is epoch milliseconds or ISO 8601; without an offset it is local to the schedule's zone.
    """
    explanation = control.why(name, read_time(time, control.time_zone(name)))
    if as_json:
        print_json(explanation.to_dict())
    else:
        click.echo(explanation.text)


def _row(view: ScheduleView) -> tuple[object, ...]:
    causes = [f"{count} {cause}" for cause, count in view.not_executed.items() if count]
    notes = ["paused"] if view.paused else []
    if view.last_error is not None:
        notes.append(f"error: {view.last_error}")
    return (
        view.name,
        view.schedule_text,
        shown(view.next_run_at, view.time_zone),
        shown(view.last_run_at, view.time_zone),
        view.last_state,
        ", ".join(causes),
        "; ".join(notes)[:80],
    )


def _occurrence(view: OccurrenceView, zone: str | None) -> tuple[object, ...]:
    return (
        shown(view.scheduled_at, zone),
        view.state,
        view.cause,
        view.count,
        view.attempt or None,
        view.id,
        view.error,
    )
