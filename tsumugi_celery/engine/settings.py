"""The settings, read from the Celery app's configuration and checked together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.ages import Retention, read_retention
from tsumugi_celery.core.errors import DefinitionError, Problem
from tsumugi_celery.core.keys import Report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celery import Celery

PREFIX = "tsumugi_"
#: Read elsewhere, with checks of their own.
OTHERS = ("database_url", "bindings", "flows", "namespace", "default_overlap")


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations, in seconds. Each is the Celery setting `tsumugi_<name>`.

    Attributes:
        poll_interval: how often beat looks for changes made by other processes.
        payload_timeout: how long a payload callable may take.
        heartbeat: how often beats and workers refresh their row.
        presumed_gone: a worker whose row has not changed for this long is taken for gone; a beat
            after half of it, since what a beat has claimed may safely be sent twice.
        timeout_grace: between the soft limit of `timeoutMs` and the hard kill.
        publish_timeout: how long connecting to the broker, and a send, may take.
        republish_after: when a message that nobody has started is first taken for lost.
        batch_size: how many occurrences are claimed and sent together.
        retention: how long history is kept, by outcome.
    """

    poll_interval: float = 1.0
    payload_timeout: float = 10.0
    heartbeat: float = 5.0
    presumed_gone: float = 20.0
    timeout_grace: float = 5.0
    publish_timeout: float = 4.0
    republish_after: float = 60.0
    batch_size: int = 500
    retention: Retention = field(default_factory=Retention)


#: The least value of each; all are finite numbers.
_LEAST = {"poll_interval": 0.05, "heartbeat": 0.1, "presumed_gone": 0.5, "batch_size": 1}


def read_settings(app: Celery) -> Settings:
    """Read and check the settings of the app.

    Raises:
        DefinitionError: naming every setting that is unknown or out of range.
    """
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    retention = read_retention(app.conf.get("tsumugi_retention"), Report("settings", problems))
    for each in fields(Settings):
        if each.name == "retention":
            continue
        value = app.conf.get(PREFIX + each.name)
        if value is None:
            continue
        least = _LEAST.get(each.name, 0.001)
        whole = each.name == "batch_size"
        kinds = (int,) if whole else (int, float)
        if (
            isinstance(value, bool)
            or not isinstance(value, kinds)
            or not math.isfinite(value)
            or value < least
        ):
            kind = "a whole number" if whole else "a number of seconds"
            accepted = f"{kind}, {least} or more"
            problems.append(Problem("settings", PREFIX + each.name, repr(value)[:60], accepted))
            continue
        values[each.name] = value if whole else float(value)
    problems += _unknown(app.conf)
    settings = Settings(**values, retention=retention)
    if not problems and settings.presumed_gone < 2 * settings.heartbeat:
        problems.append(
            Problem(
                "settings",
                "tsumugi_presumed_gone",
                repr(settings.presumed_gone),
                f"at least twice tsumugi_heartbeat ({settings.heartbeat} s)",
                "a node that misses one heartbeat is not gone",
            )
        )
    if problems:
        raise DefinitionError(problems)
    return settings


def _unknown(conf: Mapping[str, Any]) -> list[Problem]:
    known = {field.name for field in fields(Settings)} | set(OTHERS)
    found = sorted({str(key).lower() for key in conf if PREFIX in str(key).lower()})
    problems = []
    for key in found:
        name = key[key.index(PREFIX) + len(PREFIX) :]
        if name not in known:
            accepted = ", ".join(sorted(PREFIX + each for each in known))
            problems.append(Problem("settings", key, "a setting that does not exist", accepted))
    return problems
