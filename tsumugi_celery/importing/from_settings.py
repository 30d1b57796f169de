"""A project's own `beat_schedule`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from celery.schedules import schedule

from tsumugi_celery.core.keys import Report
from tsumugi_celery.definitions.forms import CELERY, CELERY_ONLY, as_mapping, form_of
from tsumugi_celery.importing.found import SETTINGS, Change, Found

_KNOWN = CELERY_ONLY | {"options", "name", "app", "last_run_at", "total_run_count"}


def read_settings(app: Any) -> list[Found]:
    """Return the entries of `beat_schedule`; those in Tsumugi's form already are left out."""
    return [_read(str(name), entry) for name, entry in (app.conf.beat_schedule or {}).items()]


def _read(name: str, entry: object) -> Found:
    written = as_mapping(entry)
    if written is None:
        return _left(name, "broken", f"{entry!r} is no entry of beat_schedule")
    if form_of(written, Report(name)) != CELERY:
        return _left(name, "kept", "it is in this package's form already: keep it as it is")
    return Found(
        name=name,
        source=SETTINGS,
        task=written.get("task"),
        schedule=as_schedule(written.get("schedule"), relative=written.get("relative") is True),
        args=written.get("args") or (),
        kwargs=written.get("kwargs") or {},
        options=_mapping(written.get("options")),
        more={key: written[key] for key in written if key not in _KNOWN},
    )


def as_schedule(value: Any, *, relative: bool = False) -> Any:
    """Return what Celery makes of a number or a timedelta; any other value as it is."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = timedelta(seconds=value)
    return schedule(value, relative=relative) if isinstance(value, timedelta) else value


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _left(name: str, kind: str, text: str) -> Found:
    return Found(name=name, source=SETTINGS, left_out=Change(kind, text))
