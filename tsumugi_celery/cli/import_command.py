"""The command that reads the schedules of another beat and writes them as definitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tsumugi_celery.cli.common import answering, json_option, print_json
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.importing.found import DJANGO, REDBEAT, SETTINGS, Found
from tsumugi_celery.importing.from_django import read_django
from tsumugi_celery.importing.from_redbeat import DEFAULT_PREFIX, read_redbeat
from tsumugi_celery.importing.from_settings import read_settings
from tsumugi_celery.importing.page import GENERAL, render
from tsumugi_celery.importing.translate import Translated, Translator

if TYPE_CHECKING:
    from tsumugi_celery.control.service import Control

_file = click.Path(dir_okay=False, path_type=Path)


@click.command("import")
@click.option("--django", help="URL of a database of django-celery-beat (SQLAlchemy's notation).")
@click.option("--redbeat", help="URL of a Redis of redbeat.")
@click.option("--redbeat-prefix", help="Its redbeat_key_prefix; by default the app's setting.")
@click.option("--always-cron", is_flag=True, help="Write cron also where that ORs the day fields.")
@click.option("--with-disabled", is_flag=True, help="Write schedules that are switched off, too.")
@click.option("--output", type=_file, help="Write to this new file.")
@json_option
@answering
def import_command(
    control: Control,
    django: str | None,
    redbeat: str | None,
    redbeat_prefix: str | None,
    output: Path | None,
    *,
    always_cron: bool,
    with_disabled: bool,
    as_json: bool,
) -> None:
    """Read another beat's schedules and print them as definitions, with each change in meaning.

    Without --django and --redbeat, the app's own beat_schedule is read. Nothing is written but
    the file that --output names, which must not exist yet.
    """
    app = control.source.app
    if output is not None and output.exists():
        raise ValueError(f"{output} exists; name a file that does not")
    app.loader.import_default_modules()
    app.finalize()
    now_ms = control.source.now()
    prefix = redbeat_prefix or app.conf.get("redbeat_key_prefix") or DEFAULT_PREFIX
    found = _found(app, django, redbeat, prefix, now_ms)
    translator = Translator(
        app,
        now_ms,
        always_cron=always_cron,
        with_disabled=with_disabled,
        bindings=app.conf.get("tsumugi_bindings"),
    )
    translated = translator.all(found)
    named = [
        word for word, given in ((DJANGO, django), (REDBEAT, redbeat)) if given is not None
    ] or [SETTINGS]
    text = render(translated, translator.source, f"Schedules read from {' and '.join(named)}.")
    if output is not None:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    if as_json:
        print_json(
            {
                "general": list(GENERAL),
                "schedules": [_plain(each) for each in translated],
                "python": text,
            }
        )
    elif output is None:
        click.echo(text, nl=False)
    _summarize(translated, output)


def _found(
    app: Any, django: str | None, redbeat: str | None, prefix: str, now_ms: int
) -> list[Found]:
    if django is None and redbeat is None:
        return read_settings(app)
    found = []
    if django is not None:
        try:
            found += read_django(django, now_ms)
        except ArgumentError as exc:
            raise ValueError(
                "--django was given no URL of a database; accepted: SQLAlchemy's notation, "
                "such as sqlite:///db.sqlite3 or postgresql+psycopg://user:password@host/name"
            ) from exc
        except (SQLAlchemyError, ImportError) as exc:
            raise ValueError(f"the database of --django cannot be read: {reason(exc)}") from exc
    if redbeat is not None:
        found += read_redbeat(redbeat, prefix)
    return found


def _summarize(translated: list[Translated], output: Path | None) -> None:
    """Say on standard error what was done: standard output is the file."""
    written = [each for each in translated if each.keys is not None]
    where = "" if output is None else f" to {output}"
    click.echo(
        f"{len(written)} of {len(translated)} schedules written{where}; "
        f"{len(translated) - len(written)} are not: see the comments.",
        err=True,
    )
    paused = [each.found.name for each in written if each.found.disabled]
    if paused:
        click.echo("Before the first beat starts: tsumugi pause " + " ".join(paused), err=True)


def _plain(each: Translated) -> dict[str, Any]:
    return {
        "name": each.found.name,
        "source": each.found.source,
        "written": each.keys is not None,
        "definition": each.keys,
        "time_zone": each.zone,
        "changes": [vars(change) for change in each.changes],
        "before": list(each.before),
        "after": list(each.after),
    }
