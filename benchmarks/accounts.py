"""Accounts: is each scheduled time of each schedule in the ledger exactly once, and why."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from tsumugi_celery.ledger.schema import attempt, occurrence, schedule, stretch

#: The most problems that are kept, so that one cause does not print thousands of lines.
MOST_PROBLEMS = 40


@dataclass
class Account:
    """What was counted, and all that is wrong with it."""

    schedules: int = 0
    times: int = 0
    states: Counter[str] = field(default_factory=Counter)
    not_executed: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    problems: list[str] = field(default_factory=list)

    def wrong(self, text: str) -> None:
        """Note something that must not be."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)

    def text(self, killed: Mapping[str, int]) -> str:
        """The account in words."""
        lines = [
            "  killed with -9: " + _listed(killed),
            f"  {self.schedules} schedules, {self.times} scheduled times, each recorded"
            + (" exactly once" if not self.problems else ": SEE THE PROBLEMS"),
            "  occurrences: " + _listed(self.states),
            "  counted as not executed: " + _listed(self.not_executed),
            f"  {self.attempts} attempts started, by the tasks' own record",
            *(f"  PROBLEM: {each}" for each in self.problems),
        ]
        return "\n".join(lines)


def account_for(connection: sa.Connection, executions: Iterable[str]) -> Account:
    """Compare the ledger with the grid of each schedule, and with what the tasks wrote down.

    Args:
        connection: to the ledger; nothing may be under way.
        executions: lines of "<occurrence id> <attempt>", one for each attempt that started.
    """
    result = Account()
    rows = connection.execute(sa.select(occurrence)).all()
    stretches = connection.execute(sa.select(stretch)).all()
    # Celery's own clean-up at 4 o'clock has no interval, and is not what is looked at.
    for each in connection.execute(sa.select(schedule).where(schedule.c.every_ms > 0)).all():
        _account_for_times(
            result,
            each,
            [row for row in rows if row.schedule_id == each.id],
            [row for row in stretches if row.schedule_id == each.id],
        )
    known = sa.select(attempt.c.occurrence_id, attempt.c.attempt)
    ended = {(row.occurrence_id, row.attempt) for row in connection.execute(known)}
    _account_for_attempts(result, {row.id: row for row in rows}, ended, list(executions))
    return result


def _account_for_times(result: Account, each: Any, rows: list[Any], stretches: list[Any]) -> None:
    result.schedules += 1
    found: Counter[int] = Counter()
    for row in rows:
        result.states[row.state] += 1
        found[row.scheduled_at] += 1
    causes: Counter[str] = Counter()
    for part in stretches:
        times = range(part.first_at, part.last_at + 1, each.every_ms)
        if len(times) != part.count:
            result.wrong(f"{each.name}: a stretch of {len(times)} times counts {part.count}")
        found.update(times)
        causes[part.cause] += part.count
    result.not_executed.update(causes)
    counted = {"overlap": each.n_overlap, "delay": each.n_delay, "pause": each.n_pause}
    if counted != {cause: causes[cause] for cause in counted}:
        result.wrong(f"{each.name}: counters {counted}, stretches {dict(causes)}")
    expected = range(each.first_at, each.accounted_until + 1, each.every_ms)
    result.times += len(expected)
    for time in sorted(set(found) | set(expected)):
        wanted = 1 if time in expected else 0
        if found[time] != wanted:
            result.wrong(f"{each.name} at {time}: {found[time]} records instead of {wanted}")


def _account_for_attempts(
    result: Account, rows: Mapping[str, Any], ended: set[tuple[Any, ...]], executions: list[str]
) -> None:
    started = Counter((line.split()[0], int(line.split()[1])) for line in executions)
    result.attempts = sum(started.values())
    for (identifier, number), count in started.items():
        row = rows.get(identifier)
        if count > 1:
            result.wrong(f"{identifier}: attempt {number} started {count} times")
        if row is None:
            result.wrong(f"{identifier}: executed without a record")
        elif number > row.attempt:
            result.wrong(f"{identifier}: attempt {number} started, {row.attempt} recorded")
        elif number < row.attempt and (identifier, number) not in ended:
            result.wrong(f"{identifier}: attempt {number} of {row.attempt} has no record")
    for identifier, row in rows.items():
        if row.state == "COMPLETED" and not started[identifier, row.attempt]:
            result.wrong(f"{identifier}: COMPLETED, but attempt {row.attempt} never started")
        if row.state == "NOT_EXECUTED" and any(key[0] == identifier for key in started):
            result.wrong(f"{identifier}: executed, but recorded as not executed ({row.error})")
        if row.state in {"CLAIMED", "SCHEDULED", "QUEUED", "RUNNING"}:
            result.wrong(
                f"{identifier}: still {row.state} (wait {row.wait}, attempt {row.attempt})"
            )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {counts[name]}" for name in sorted(counts)) or "none"
