"""The `backoff` option: what is accepted for each kind.

Source: section 4 of the contract.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.core.keys import Report, read_keys, snake

MAX_WAIT_MS = 30 * 86_400_000
MAX_FACTOR = 1000

#: kind -> key -> default; None: the key must be given.
KINDS: dict[str, dict[str, Any]] = {
    "exponential": {"baseMs": 1000, "factor": 2, "maxMs": 3_600_000, "jitter": True},
    "fixed": {"delayMs": None, "jitter": False},
}


def _ms(low: int) -> tuple[str, Callable[[Any], bool]]:
    return (
        f"an integer of milliseconds from {low} to {MAX_WAIT_MS} (30 days)",
        lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= MAX_WAIT_MS,
    )


def _is_factor(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and 1 <= value <= MAX_FACTOR


_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "baseMs": _ms(1),
    "maxMs": _ms(1),
    "delayMs": _ms(0),
    "factor": (f"a number from 1 to {MAX_FACTOR}", _is_factor),
    "jitter": ("True or False", lambda v: isinstance(v, bool)),
}

#: In force with `maxAttempts` alone.
DEFAULT_BACKOFF = Backoff()


def read_backoff(raw: object, report: Report) -> Backoff | None:
    """Return the backoff that `raw` describes; None, with its problems reported, if it is wrong."""
    shape = "a dict with kind 'exponential' (baseMs, factor, maxMs, jitter) or 'fixed' (delayMs, "
    shape += "jitter)"
    if not isinstance(raw, Mapping):
        report.add("backoff", raw, shape)
        return None
    nested = report.inside("backoff")
    before = len(report.problems)
    given = read_keys(raw, {"kind", *_RULES}, nested)
    if "kind" not in given:
        nested.say("kind", "nothing", "'exponential' or 'fixed'", "the kind must be given")
        return None
    kind = given.pop("kind")
    defaults = KINDS.get(kind) if isinstance(kind, str) else None
    if defaults is None:
        nested.add("kind", kind, "'exponential' or 'fixed'")
        return None
    for key, value in given.items():
        accepted, fits = _RULES[key]
        if key not in defaults:
            keys = ", ".join(defaults)
            nested.add(key, value, f"only {keys} with kind {kind!r}", f"delete {key}")
        elif not fits(value):
            nested.add(key, value, accepted)
    if kind == "fixed" and "delayMs" not in given:
        nested.say("delayMs", "nothing", _RULES["delayMs"][0], "kind 'fixed' needs it")
    if len(report.problems) > before:
        return None
    full = {**defaults, **given}
    if kind == "fixed":
        return Backoff.fixed(full["delayMs"], jitter=full["jitter"])
    if full["maxMs"] < full["baseMs"]:
        if "maxMs" in given:
            nested.add("maxMs", full["maxMs"], f"at least baseMs, which is {full['baseMs']}")
            return None
        full["maxMs"] = full["baseMs"]
    return Backoff(**{snake(key): value for key, value in full.items()})
