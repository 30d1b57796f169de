"""The Redis of redbeat, read without redbeat: its entries are JSON.

Source: `redbeat.decoder` and `redbeat.schedulers.RedBeatSchedulerEntry`.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from celery.schedules import crontab, schedule

from tsumugi_celery.importing.found import REDBEAT, Change, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_PREFIX = "redbeat:"
TYPE = "__type__"


def read_redbeat(url: str, prefix: str = DEFAULT_PREFIX) -> list[Found]:
    """Return the entries of redbeat, by name; nothing is written.

    Args:
        url: of the Redis.
        prefix: the setting `redbeat_key_prefix`.

    Raises:
        ValueError: the client for Redis is not installed, or Redis does not answer.
    """
    try:
        import redis  # noqa: PLC0415 - an extra
    except ImportError as exc:
        raise ValueError(
            "reading redbeat needs the package redis; pip install 'tsumugi-celery[redis]'"
        ) from exc
    try:
        with redis.Redis.from_url(url, decode_responses=True) as client:
            return sorted(_read_all(client, prefix), key=lambda each: each.name)
    except redis.RedisError as exc:
        raise ValueError(f"the Redis of redbeat does not answer: {exc}") from exc


def _read_all(client: Any, prefix: str) -> Iterator[Found]:
    # The bookkeeping of redbeat (schedule, statics, lock) has a second colon in front.
    for key in client.scan_iter(f"{_escaped(prefix)}*", _type="HASH"):
        definition, meta = client.hmget(key, "definition", "meta")
        if definition:
            yield _read(key.removeprefix(prefix), definition, meta)


def _escaped(prefix: str) -> str:
    return "".join(f"\\{each}" if each in "*?[]^\\" else each for each in prefix)


def _read(name: str, definition: str, meta: str | None) -> Found:
    try:
        given = json.loads(definition)
        last = json.loads(meta).get("last_run_at") if meta else None
        return Found(
            name=str(given.get("name") or name),
            source=REDBEAT,
            task=given.get("task"),
            schedule=_schedule(given["schedule"]),
            args=given.get("args") or (),
            kwargs=given.get("kwargs") or {},
            options=_decoded(given.get("options") or {}),
            last_run_at=_decoded(last),
            at_once=True,
            disabled=not given.get("enabled", True),
        )
    except _NoScheduleError as exc:
        return Found(name=name, source=REDBEAT, left_out=Change("rrule", str(exc)))
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        left = Change("broken", f"its entry cannot be read: {exc!r}")
        return Found(name=name, source=REDBEAT, left_out=left)


class _NoScheduleError(Exception):
    pass


def _schedule(given: dict[str, Any]) -> Any:
    kind = given[TYPE]
    values = {key: value for key, value in given.items() if key != TYPE}
    if kind == "interval":
        every = timedelta(seconds=values["every"])
        return schedule(every, relative=bool(values.get("relative")))
    if kind == "crontab":
        return crontab(**values)
    raise _NoScheduleError(
        f"a schedule of the kind {kind!r}, which only redbeat knows; write it as cron, or keep "
        "its class in beat_schedule"
    )


def _decoded(value: Any) -> Any:
    """Return a value with redbeat's own notation for times replaced by times."""
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get(TYPE) != "datetime":
        return {key: _decoded(each) for key, each in value.items()}
    parts = {key: each for key, each in value.items() if key not in {TYPE, "timezone"}}
    return datetime(**parts, tzinfo=_zone(value.get("timezone", "UTC")))


def _zone(value: Any) -> tzinfo:
    if isinstance(value, (int, float)):
        return timezone(timedelta(seconds=value))
    return ZoneInfo(str(value))
