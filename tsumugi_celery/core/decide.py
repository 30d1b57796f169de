"""What to do with a schedule that is due: the rules of section 3, as one pure function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tsumugi_celery.core import states
from tsumugi_celery.core.timing import WallClock

if TYPE_CHECKING:
    from collections.abc import Collection

    from tsumugi_celery.core.timing import Stretch, Timing


@dataclass(frozen=True, slots=True)
class Skipped:
    """Scheduled times that are not executed, and why.

    Attributes:
        cause: one of `states.CAUSES`.
        first: the first of them, epoch ms.
        last: the last of them, epoch ms.
        count: how many there are.
    """

    cause: str
    first: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of the times up to now.

    Attributes:
        execute_at: the scheduled time to execute, epoch ms; None for none.
        skipped: the times that are not executed.
        next_at: the next scheduled time, epoch ms; None when nothing follows.
    """

    execute_at: int | None
    skipped: tuple[Skipped, ...]
    next_at: int | None


def decide(
    timing: Timing,
    *,
    next_at: int,
    accounted_until: int,
    now: int,
    paused: bool,
    blocked: bool,
) -> Decision:
    """Decide on all scheduled times up to `now`.

    The oldest missed time is executed once and the rest are counted (delay); while paused, or
    while the previous execution is unfinished under 'skip', it is counted instead.

    Args:
        timing: the times of the schedule.
        next_at: the time recorded as next, epoch ms; see `first_open`.
        accounted_until: every time up to here has been dealt with, epoch ms.
        now: the present, epoch ms.
        paused: whether the schedule is paused.
        blocked: whether 'skip' forbids an execution now.
    """
    first = first_open(timing, next_at=next_at, accounted_until=accounted_until)
    if first is None or first > now:
        return Decision(None, (), first)
    following = timing.next_after(now)
    if paused:
        passed = timing.stretch(first - 1, now)
        return Decision(None, _as_skipped(states.PAUSE, passed), following)
    late = _as_skipped(states.DELAY, timing.stretch(first, now))
    if blocked:
        return Decision(None, (Skipped(states.OVERLAP, first, first, 1), *late), following)
    return Decision(first, late, following)


def first_open(timing: Timing, *, next_at: int | None, accounted_until: int) -> int | None:
    """Return the first scheduled time that has not been dealt with, epoch ms.

    It is `next_at` unless zone data moved it (decision 0040) or it could not be computed.

    Args:
        timing: the times of the schedule.
        next_at: the time recorded as next, epoch ms.
        accounted_until: every time up to here has been dealt with, epoch ms.
    """
    first = timing.next_after(accounted_until)
    if first is None or next_at is None or first >= next_at or not isinstance(timing, WallClock):
        return first
    # The zone data changed. A time nearer to the one dealt with last is that one, moved.
    return timing.next_after((accounted_until + next_at) // 2)


def leave_out(timing: Timing, skipped: Skipped, taken: Collection[int]) -> list[Skipped]:
    """Split a stretch around times that have a row already, so that each is explained once.

    Args:
        timing: the times of the schedule.
        skipped: the times that are not executed.
        taken: times that a clock which ran ahead has executed, epoch ms.
    """
    inside = sorted(at for at in taken if skipped.first <= at <= skipped.last)
    if not inside:
        return [skipped]
    parts: list[Skipped] = []
    after = skipped.first - 1
    for until in (*inside, skipped.last + 1):
        parts += _as_skipped(skipped.cause, timing.stretch(after, until - 1))
        after = until
    return parts


def _as_skipped(cause: str, passed: Stretch | None) -> tuple[Skipped, ...]:
    if passed is None:
        return ()
    return (Skipped(cause, passed.first, passed.last, passed.count),)
