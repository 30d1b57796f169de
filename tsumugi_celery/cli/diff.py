"""The command for reviews: which coming times a changed definition file adds, moves or drops."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tsumugi_celery.cli.common import answering, json_option, print_json
from tsumugi_celery.cli.moments import read_time, shown
from tsumugi_celery.core.comparing import Changed, compare
from tsumugi_celery.definitions.read import read_definitions

if TYPE_CHECKING:
    from tsumugi_celery.control.service import Control
    from tsumugi_celery.definitions.model import Definition

#: The names under which a Python file may hold its definitions.
NAMES = ("schedules", "beat_schedule", "SCHEDULES", "BEAT_SCHEDULE")
DAY = 86_400_000
#: The most times of one schedule that are compared.
MOST = 10_000

_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("diff")
@click.argument("old", type=_file)
@click.argument("new", type=_file)
@click.option("--from", "start", help="From when on; now by default.")
@click.option("--days", type=click.IntRange(1, 3660), default=7, help="How far to look.")
@click.option("--show", "most", type=click.IntRange(1), default=10, help="How many times to print.")
@json_option
@answering
def diff(  # noqa: PLR0917 - what click gives
    control: Control,
    old: Path,
    new: Path,
    start: str | None,
    days: int,
    most: int,
    *,
    as_json: bool,
) -> None:
    """Compare two definition files: the coming times that are added, moved or dropped.

    A file is JSON, or Python with a dict named schedules or beat_schedule, which is run. Intervals
    are counted from the start, as if both were registered then.
    """
    after = control.source.now() if start is None else read_time(start, None)
    until = after + days * DAY
    before, later = _read(control, old), _read(control, new)
    found: list[tuple[str, str | None, Changed]] = []
    for name in sorted({*before, *later}):
        changed = compare(
            _times(before.get(name), after, until), _times(later.get(name), after, until)
        )
        if changed.added or changed.dropped or changed.moved:
            zone = (later.get(name) or before[name]).time_zone
            found.append((name, zone, changed))
    if as_json:
        print_json({name: _plain(changed) for name, _, changed in found})
        return
    if not found:
        click.echo(f"No time within {days} days is added, moved or dropped.")
    for name, zone, changed in found:
        word = "" if name in before and name in later else " (new)" if name in later else " (gone)"
        click.echo(
            f"{name}{word}: {len(changed.added)} added, {len(changed.moved)} moved, "
            f"{len(changed.dropped)} dropped, {changed.kept} kept"
        )
        lines = [
            *((a, f"  > {shown(a, zone)} -> {shown(b, zone)}") for a, b in changed.moved),
            *((each, f"  + {shown(each, zone)}") for each in changed.added),
            *((each, f"  - {shown(each, zone)}") for each in changed.dropped),
        ]
        for _, line in sorted(lines)[:most]:
            click.echo(line)
        if len(lines) > most:
            click.echo(f"  and {len(lines) - most} more; see --show")


def _read(control: Control, path: Path) -> Mapping[str, Definition]:
    schedules = _load(path)
    conf = control.source.app.conf
    known = control.source.definitions
    read = read_definitions(
        control.source.app,
        schedules,
        bindings=conf.get("tsumugi_bindings"),
        flows={**(conf.get("tsumugi_flows") or {}), **known.flows},
        default_overlap=conf.get("tsumugi_default_overlap", "skip"),
    )
    return read.schedules


def _load(path: Path) -> Mapping[str, Any]:
    accepted = f"a JSON object of name to definition, or Python with one of {', '.join(NAMES)}"
    if path.suffix == ".json":
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as exc:
            raise ValueError(f"{path} is not JSON: {exc}; accepted: {accepted}") from exc
    else:
        try:
            names = runpy.run_path(str(path))
        except Exception as exc:
            raise ValueError(f"{path} cannot be run: {exc!r}; accepted: {accepted}") from exc
        found = next((names[name] for name in NAMES if name in names), None)
    if not isinstance(found, Mapping):
        raise ValueError(f"{path} has no definitions; accepted: {accepted}")  # noqa: TRY004 - of a file
    return found


def _times(definition: Definition | None, after: int, until: int) -> list[int]:
    if definition is None:
        return []
    timing = definition.timing(definition.first_after(after))
    found: list[int] = []
    at: int | None = after
    while at is not None and len(found) < MOST:
        at = timing.next_after(at)
        if at is None or at > until:
            break
        found.append(at)
    return found


def _plain(changed: Changed) -> dict[str, Any]:
    return {
        "added": list(changed.added),
        "moved": [list(pair) for pair in changed.moved],
        "dropped": list(changed.dropped),
        "kept": changed.kept,
    }
