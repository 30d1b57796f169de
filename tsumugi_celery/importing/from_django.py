"""The tables of django-celery-beat, read without Django.

Source: `django_celery_beat.models` and `django_celery_beat.schedulers.ModelEntry`.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from celery.schedules import crontab, schedule, solar
from sqlalchemy import MetaData, Table, create_engine, inspect, select
from sqlalchemy.engine import URL, make_url

from tsumugi_celery.core.errors import LedgerError
from tsumugi_celery.importing.found import DJANGO, Change, Found
from tsumugi_celery.ledger.connect import read_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

PREFIX = "django_celery_beat_"
KINDS = {
    "interval": "intervalschedule",
    "crontab": "crontabschedule",
    "solar": "solarschedule",
    "clocked": "clockedschedule",
}
OPTIONS = ("queue", "exchange", "routing_key", "priority")

Row = dict[str, Any]


def read_django(url: str, now_ms: int) -> list[Found]:
    """Return the periodic tasks of a database, by name; nothing is written.

    Args:
        url: SQLAlchemy's URL of the database Django uses.
        now_ms: the present, epoch ms.

    Raises:
        ValueError: the database has no tables of django-celery-beat.
        SQLAlchemyError: it does not answer.
    """
    now = datetime.fromtimestamp(now_ms / 1000, tz=timezone.utc)
    engine = create_engine(_url(url))
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table(f"{PREFIX}periodictask"):
                shown = make_url(url).render_as_string(hide_password=True)
                raise ValueError(
                    f"{shown} has no table {PREFIX}periodictask; accepted: the database of a "
                    "Django project with django_celery_beat in INSTALLED_APPS, migrated"
                )
            tasks = _rows(connection, "periodictask")
            whens = {kind: _rows(connection, table) for kind, table in KINDS.items()}
    finally:
        engine.dispose()
    return [_read(row, whens, now) for row in sorted(tasks.values(), key=lambda row: row["name"])]


def _url(text: str) -> URL:
    """Return a URL with the drivers of the ledger, where it is a database of that kind.

    Raises:
        ArgumentError: it is no URL.
    """
    url = make_url(text)
    try:
        return read_url(url)
    except LedgerError:
        return url


def _rows(connection: Connection, name: str) -> dict[int, Row]:
    if not inspect(connection).has_table(PREFIX + name):
        return {}  # versions before 2.0 had no clocked schedules
    table = Table(PREFIX + name, MetaData(), autoload_with=connection)
    return {row["id"]: dict(row) for row in connection.execute(select(table)).mappings()}


def _read(row: Row, whens: Mapping[str, dict[int, Row]], now: datetime) -> Found:
    changes: list[Change] = []
    parts: dict[str, Any] = {"name": row["name"], "source": DJANGO, "task": row["task"]}
    kind, when = _when(row, whens)
    left = _never(row, kind, when, now)
    try:
        # A clocked one without `one_off` is refused by Django, so `_never` has said all.
        if left is None:
            parts |= _schedule(kind, when)
        parts["args"] = json.loads(row["args"] or "[]")
        parts["kwargs"] = json.loads(row["kwargs"] or "{}")
        parts["options"] = _options(row)
    except (ValueError, TypeError, KeyError) as exc:
        left = left or Change("broken", f"its row cannot be read: {exc}")
    start = _moment(row.get("start_time"))
    if start is not None and start > now:
        changes.append(Change("lost", f"start_time {start}: here it begins with the next time"))
    expires = _moment(row.get("expires"))
    if expires is not None:
        changes.append(
            Change("lost", f"expires {expires}: a definition has no end; delete it then")
        )
    return Found(
        **parts,
        last_run_at=_moment(row.get("last_run_at")) or _moment(row.get("date_changed")),
        disabled=not row["enabled"],
        left_out=left,
        changes=tuple(changes),
    )


def _when(row: Row, whens: Mapping[str, dict[int, Row]]) -> tuple[str | None, Row]:
    for kind, rows in whens.items():
        key = row.get(f"{kind}_id")
        if key is not None:
            return (kind, rows[key]) if key in rows else (None, {})
    return None, {}


def _never(row: Row, kind: str | None, when: Row, now: datetime) -> Change | None:
    """Return why a row has no times that a definition could tell; None if it has."""
    if kind is None:
        return Change("broken", "its row has no schedule")
    expires = _moment(row.get("expires"))
    if expires is not None and expires <= now:
        return Change("ended", f"it ended at {expires} (expires)")
    if kind == "clocked":
        at = _moment(when["clocked_time"])
        gone = "which has passed" if at is not None and at <= now else "with apply_async(eta=…)"
        return Change("clocked", f"it runs once, at {at}: {gone}; a definition is for ever")
    if row.get("one_off"):
        text = (
            "it runs once and no more (one_off); a definition is for ever: use apply_async(eta=…)"
        )
        return Change("one-off", text)
    return None


def _schedule(kind: str | None, when: Row) -> dict[str, Any]:
    if kind == "interval":
        return {"schedule": schedule(timedelta(**{when["period"]: when["every"]}))}
    if kind == "solar":
        return {"schedule": solar(when["event"], float(when["latitude"]), float(when["longitude"]))}
    fields = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
    # Django's form takes blanks out of these, but not everyone comes by the form.
    texts = [str(when[name]).replace(" ", "") for name in fields]
    return {"schedule": crontab(*texts), "zone": str(when.get("timezone") or "UTC")}


def _options(row: Row) -> dict[str, Any]:
    options = {name: row[name] for name in OPTIONS if row.get(name) is not None}
    if row.get("expire_seconds"):
        options["expires"] = row["expire_seconds"]
    headers = json.loads(row.get("headers") or "{}")
    return {**options, **({"headers": headers} if headers else {})}


def _moment(value: object) -> datetime | None:
    """Return a time of a row, aware: Django writes UTC, and SQLite hands it out as text."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        return None
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
