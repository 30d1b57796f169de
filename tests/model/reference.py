"""What the contract says about scheduled times, as a few sets: the model the engine is held to.

It knows no states, no statements and no optimizations, and shares no code with the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.model.clock import DAY


@dataclass(frozen=True)
class Times:
    """Every `step` ms, one of them at `origin`, none up to `since`."""

    origin: int
    step: int
    since: int

    def between(self, after: int, until: int) -> list[int]:
        """All times in (after, until]."""
        after = max(after, self.since)
        first = after + self.step - (after - self.origin) % self.step
        return list(range(first, until + 1, self.step))

    def next_after(self, ms: int) -> int:
        return self.between(ms, max(ms, self.since) + self.step)[0]


CRONS = {"*/15 * * * *": 900_000, "0 * * * *": 3_600_000, "0 */6 * * *": 21_600_000}


def times_of(given: Mapping[str, Any], registered: int) -> Times:
    every = given.get("everyMs")
    if every is None:
        return Times(0, CRONS[given["cron"]], -(10**15))
    return Times(registered, every, registered)


@dataclass
class Known:
    """What is true of one schedule."""

    given: Mapping[str, Any]
    times: Times
    registered: int
    accounted: int
    active: bool = True
    paused: bool = False
    #: Regular times that were executed (or tried), and manual executions apart.
    executed: set[int] = field(default_factory=set)
    #: Times that were not executed, and why.
    counted: dict[int, str] = field(default_factory=dict)
    #: What was counted before the times changed: ranges no longer mix with it.
    failed: int = 0

    @property
    def next_at(self) -> int | None:
        return self.times.next_after(self.accounted) if self.active else None

    def owed(self, now: int) -> list[int]:
        return self.times.between(self.accounted, now)

    def count(self, times: Iterable[int], cause: str) -> None:
        for each in times:
            if each not in self.executed:
                assert each not in self.counted
                self.counted[each] = cause
            self.accounted = max(self.accounted, each)


class Reference:
    """All schedules, by name."""

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}

    def register(self, given: Mapping[str, Mapping[str, Any]], now: int) -> None:
        for name, each in given.items():
            old = self.known.get(name)
            if old is None:
                self.known[name] = Known(each, times_of(each, now), now, now)
                continue
            if _timing(old.given) != _timing(each):
                if old.active:
                    old.count(old.owed(now), "pause" if old.paused else "delay")
                old.times, old.registered = times_of(each, now), now
                old.accounted = max(old.accounted, now)
            elif not old.active:
                old.accounted = max(old.accounted, now)
            old.given, old.active = each, True
        for name, old in self.known.items():
            if name not in given and old.active:
                old.count(old.owed(now), "pause" if old.paused else "delay")
                old.active = False
        self.mend(given, now)

    def mend(self, given: Mapping[str, Mapping[str, Any]], now: int) -> None:
        """A record more than a day ahead of now was a wrong clock's (decision 0020)."""
        for name, each in given.items():
            known = self.known[name]
            if not known.active or known.given != each or known.accounted <= now + DAY:
                continue
            known.counted = {at: why for at, why in known.counted.items() if at <= now}
            known.accounted = now
            if known.registered > now:
                # An interval keeps its phase, but begins no later than one interval from now.
                known.registered = now
                if "everyMs" in known.given:
                    known.times = Times(known.times.origin, known.times.step, now)

    def claim(self, given: Mapping[str, Mapping[str, Any]], now: int, busy: set[str]) -> set[str]:
        """Decide on all that is due; return 'name@time' of what is executed."""
        begun = set()
        for name, each in given.items():
            known = self.known[name]
            if not known.active or known.given != each:
                continue
            owed = known.owed(now)
            if not owed:
                continue
            first, *rest = owed
            if known.paused:
                known.count(owed, "pause")
            elif name in busy and each.get("overlap", "skip") == "skip":
                known.count([first], "overlap")
                known.count(rest, "delay")
            else:
                if first not in known.executed:
                    begun.add(f"{name}@{first}")
                known.executed.add(first)
                known.accounted = first
                known.count(rest, "delay")
        return begun

    def pause(self, name: str) -> None:
        self.known[name].paused = True

    def resume(self, name: str, now: int) -> None:
        known = self.known[name]
        if known.paused:
            if known.active:
                known.count(known.owed(now), "pause")
            known.accounted = max(known.accounted, now)
            known.paused = False


def _timing(given: Mapping[str, Any]) -> tuple[Any, Any]:
    return given.get("everyMs"), given.get("cron")
