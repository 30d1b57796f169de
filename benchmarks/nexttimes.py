"""(f) Computing next times: cached and cold, against croniter and cronsim."""

import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

from tsumugi_celery.core.cron import parse_cron
from tsumugi_celery.core.timing import WallClock
from tsumugi_celery.core.zones import load_zone

BEGIN = datetime(2026, 3, 1, tzinfo=timezone.utc)
EXPRESSIONS = ("*/5 * * * *", "30 2 * * *", "0 0 29 2 *")
ZONE = "Europe/Berlin"


def measure() -> list[dict[str, Any]]:
    """Microseconds for one next time; "cold" reads the expression anew each time."""
    return [row for text in EXPRESSIONS for row in _of(text)]


def _of(text: str) -> list[dict[str, Any]]:
    at = int(BEGIN.timestamp() * 1000)
    zone = load_zone(ZONE)
    local = BEGIN.astimezone(ZoneInfo(ZONE))
    known = WallClock(parse_cron(text), zone)
    cases: dict[str, Callable[[int], object]] = {
        "tsumugi, read before": lambda i: known.next_after(at + i),
        "tsumugi, cold": lambda i: WallClock(parse_cron(text), zone).next_after(at + i),
        "croniter": lambda _: croniter(text, local).get_next(datetime),
        "cronsim": lambda _: next(CronSim(text, local)),
    }
    return [
        {"what": what, "cron": text, "us": round(_time(work), 1)} for what, work in cases.items()
    ]


def _time(work: Callable[[int], object]) -> float:
    number, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < 0.3:
        # Another millisecond each time, as in reality: no answer is asked for twice.
        work(number)
        number += 1
    return 1e6 * passed / number
