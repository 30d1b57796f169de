"""What the demo prints: each occurrence once, and a summary."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tsumugi_celery import Tsumugi
    from tsumugi_celery.control.views import OccurrenceView

FINISHED = ("COMPLETED", "FAILED", "CANCELLED", "STALLED")


class Reporter:
    """Follows the ledger and prints what is new in it.

    Args:
        tsumugi: the handle of the demo's app.
    """

    def __init__(self, tsumugi: Tsumugi) -> None:
        """Start with nothing printed."""
        self.tsumugi = tsumugi
        self.executed: dict[str, Counter[str]] = {}
        self._printed: set[str] = set()
        self._skipped: dict[tuple[str, int], int] = {}

    def look(self) -> None:
        """Print what has come to its end since the last look."""
        lines: list[tuple[int, str]] = []
        for schedule in self.tsumugi.list():
            for each in self.tsumugi.occurrences(schedule.name, limit=20):
                if each.id is None:
                    lines += self._not_executed(schedule.name, each)
                elif each.id not in self._printed and (each.state in (*FINISHED, "NOT_EXECUTED")):
                    self._printed.add(each.id)
                    lines.append((each.scheduled_at, self._ended(schedule.name, each)))
        for _, line in sorted(lines):
            print(line, flush=True)

    def summary(self) -> int:
        """Print what became of each schedule; return how many executions were completed."""
        schedules = self.tsumugi.list()
        width = max(len(schedule.name) for schedule in schedules)
        print("\nSummary")
        print(f"  {'schedule':<{width}} {'completed':>9} {'failed':>6}   not executed")
        for schedule in schedules:
            counts = self.executed.get(schedule.name, Counter())
            causes = [f"{count} {cause}" for cause, count in schedule.not_executed.items() if count]
            nothing = "" if counts or causes else "next at " + str(schedule.next_run_local)
            print(
                f"  {schedule.name:<{width}} {counts['COMPLETED']:>9} {counts['FAILED']:>6}   "
                f"{', '.join(causes) or nothing or 'none'}"
            )
        return sum(counts["COMPLETED"] for counts in self.executed.values())

    def _ended(self, name: str, each: OccurrenceView) -> str:
        state, error = each.state, each.error
        scheduled, fired = each.scheduled_at, each.fired_at
        if state == "NOT_EXECUTED":
            return f"{_clock(scheduled)}  {name:<10} not executed (failure): {error}"
        self.executed.setdefault(name, Counter())[state] += 1
        late = f"sent {fired - scheduled} ms after its time" if fired is not None else ""
        tries = f", {each.attempt} attempts" if each.attempt > 1 else ""
        return f"{_clock(scheduled)}  {name:<10} {state:<9} {late}{tries}" + (
            f": {error}" if error else ""
        )

    def _not_executed(self, name: str, each: OccurrenceView) -> list[tuple[int, str]]:
        first, last, count, cause = each.scheduled_at, each.last_at, each.count, each.cause
        new = count - self._skipped.get((name, first), 0)
        self._skipped[name, first] = count
        if new <= 0:
            return []
        times = "" if new == 1 else f" ({new} times)"
        why = {"overlap": "the previous one has not ended", "delay": "beat was late"}.get(
            str(cause), ""
        )
        return [(last, f"{_clock(last)}  {name:<10} not executed ({cause}){times}: {why}")]


def _clock(at: int) -> str:
    moment = datetime.fromtimestamp(at / 1000).astimezone()
    return f"{moment:%H:%M:%S}.{at % 1000:03d}"
