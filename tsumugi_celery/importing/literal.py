"""Values as Python source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from celery.schedules import crontab, schedule, solar

from tsumugi_celery.definitions.celery_kinds import crontab_fields, sets_of

_FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
#: Celery's crontab takes no zone as an argument, but reads one from its attribute.
HELPER = '''
def _in_zone(schedule, zone):
    """Return a crontab that is read in a zone of its own."""
    schedule.tz = ZoneInfo(zone)
    return schedule

'''


class UnwritableError(ValueError):
    """A value that has no notation in Python, such as an object of the project's own."""


class Source:
    """Writes values, and remembers what has to be imported for them."""

    def __init__(self) -> None:
        """Begin without imports."""
        self._names: dict[str, set[str]] = {}
        self.needs_helper = False

    @property
    def imports(self) -> list[str]:
        """The lines that import what was written."""
        modules = sorted(self._names.items())
        return [f"from {module} import {', '.join(sorted(names))}" for module, names in modules]

    def _needs(self, module: str, name: str) -> None:
        self._names.setdefault(module, set()).add(name)

    def write(self, value: Any) -> str:
        """Return the source of a value.

        Raises:
            UnwritableError: it has none.
        """
        if value is None or type(value) in {bool, int, str, bytes}:
            return quoted(value)
        if type(value) is float and math.isfinite(value):
            return repr(value)
        if isinstance(value, Mapping):
            inner = ", ".join(f"{self.write(k)}: {self.write(v)}" for k, v in value.items())
            return f"{{{inner}}}"
        if type(value) in {list, tuple, set, frozenset}:
            return self._collection(value)
        if isinstance(value, (timedelta, date, Decimal, UUID)):
            return self._plain(value)
        if type(value) in {crontab, solar, schedule}:
            return self._schedule(value)
        raise UnwritableError(f"{value!r} ({type(value).__name__}) cannot be written as source")

    def _collection(self, value: Any) -> str:
        inner = ", ".join(self.write(each) for each in value)
        if isinstance(value, list):
            return f"[{inner}]"
        if isinstance(value, tuple):
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        name = type(value).__name__
        return f"{name}([{inner}])"

    def _plain(self, value: Any) -> str:
        kind = type(value)
        if kind is timedelta:
            self._needs("datetime", "timedelta")
            return f"timedelta(seconds={value.total_seconds()!r})"
        if kind is datetime and value.utcoffset() is not None:
            self._needs("datetime", "datetime")
            utc = value.astimezone(timezone.utc)
            return f"datetime.fromisoformat({utc.isoformat()!r})"
        if kind in {datetime, date}:
            self._needs("datetime", kind.__name__)
            return f"{kind.__name__}.fromisoformat({value.isoformat()!r})"
        module = {Decimal: "decimal", UUID: "uuid"}.get(kind)
        if module is None:
            raise UnwritableError(f"{value!r} ({kind.__name__}) cannot be written as source")
        self._needs(module, kind.__name__)
        return f"{kind.__name__}({str(value)!r})"

    def _schedule(self, value: Any) -> str:
        name = type(value).__name__
        self._needs("celery.schedules", name)
        if isinstance(value, solar):
            return f"solar({value.event!r}, {float(value.lat)!r}, {float(value.lon)!r})"
        if isinstance(value, crontab):
            inner = ", ".join(f"{k}={quoted(v)}" for k, v in _orig(value).items() if v != "*")
            own = vars(value).get("tz")
            if not isinstance(own, ZoneInfo):
                return f"crontab({inner})"
            self.needs_helper = True
            self._needs("zoneinfo", "ZoneInfo")
            return f"_in_zone(crontab({inner}), {quoted(own.key)})"
        seconds = value.run_every.total_seconds()
        more = ", relative=True" if value.relative else ""
        return f"schedule({seconds!r}{more})"


def in_zone(value: Any, zone: tzinfo) -> Any:
    """Return a crontab that is read in a zone of its own."""
    made = crontab(**_orig(value))
    made.tz = zone
    return made


def _orig(value: Any) -> dict[str, Any]:
    """Return the arguments of a crontab: as they were given, where that was text or a number."""
    given = {name: getattr(value, f"_orig_{name}", None) for name in _FIELDS}
    numbers = dict(zip(_FIELDS, sets_of(crontab_fields(value)), strict=True))
    return {
        name: each if isinstance(each, (int, str)) else ",".join(map(str, numbers[name]))
        for name, each in given.items()
    }


def quoted(value: Any) -> str:
    """Return the repr, text in double quotes where that needs no escapes."""
    text = repr(value)
    plain = isinstance(value, str) and text[0] == "'" and '"' not in text and "\\" not in text
    return f'"{text[1:-1]}"' if plain else text
