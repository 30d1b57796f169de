"""The `backoff` option: what is accepted for each kind.

Source: section 4 of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tsumugi_celery.core.backoff import Backoff
from tsumugi_celery.core.keys import Report, read_keys

MAX_WAIT_MS = 30 * 86_400_000
MAX_FACTOR = 1000

#: kind -> key -> default; None: the key must be given.
KINDS: dict[str, dict[str, Any]] = {
    "exponential": {"baseMs": 1000, "factor": 2, "maxMs": 3_600_000, "jitter": True},
    "fixed": {"delayMs": None, "jitter": True},
}


def _ms(low: int) -> tuple[str, Callable[[Any], bool]]:
    return (
        f"an integer of milliseconds from {low} to {MAX_WAIT_MS} (30 days)",
        lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= MAX_WAIT_MS,
    )


def _is_factor(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 1 <= value <= MAX_FACTOR  # NaN is not, and neither is infinity


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
    if not isinstance(raw, Mapping):
        shapes = (f"kind {kind!r} with {', '.join(keys)}" for kind, keys in KINDS.items())
        report.add("backoff", raw, f"a dict: {' or '.join(shapes)}")
        return None
    nested = report.inside("backoff")
    before = len(report.problems)
    given = read_keys(raw, {"kind", *_RULES}, nested)
    kind = _read_kind(given, nested)
    if kind is None:
        return None
    _check_values(kind, given, nested)
    if len(report.problems) > before:
        return None
    full = {**KINDS[kind], **given}
    if kind == "fixed":
        return Backoff.fixed(full["delayMs"], jitter=full["jitter"])
    # A base above the default ceiling raises the ceiling; one above a given ceiling is refused.
    highest = full["maxMs"] if "maxMs" in given else max(full["maxMs"], full["baseMs"])
    return Backoff(
        base_ms=full["baseMs"], factor=full["factor"], max_ms=highest, jitter=full["jitter"]
    )


def _read_kind(given: dict[str, Any], report: Report) -> str | None:
    accepted = "'exponential' or 'fixed'"
    if "kind" not in given:
        report.say("kind", "nothing", accepted, "the kind must be given")
        return None
    kind = given.pop("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        report.add("kind", kind, accepted)
        return None
    return kind


def _check_values(kind: str, given: Mapping[str, Any], report: Report) -> None:
    before = len(report.problems)
    for key, value in given.items():
        accepted, fits = _RULES[key]
        if key not in KINDS[kind]:
            keys = ", ".join(KINDS[kind])
            report.add(key, value, f"only {keys} with kind {kind!r}", f"delete {key}")
        elif not fits(value):
            report.add(key, value, accepted)
    if kind == "fixed" and "delayMs" not in given:
        report.say("delayMs", "nothing", _RULES["delayMs"][0], "kind 'fixed' needs it")
    base = given.get("baseMs", KINDS["exponential"]["baseMs"])
    if len(report.problems) == before and "maxMs" in given and given["maxMs"] < base:
        report.add("maxMs", given["maxMs"], f"at least baseMs, which is {base}")
