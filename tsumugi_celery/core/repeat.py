"""Repeats that the data owns: how often, at which phase, and what to do when one is due.

Source: section 6 of the contract. A repeat has one next time and owes no other: it moves on after
it ran, so there is nothing to count for a night in which it could not (decision 0080).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from tsumugi_celery.core.cron import parse_cron
from tsumugi_celery.core.shifts import LAST_MS
from tsumugi_celery.core.timing import Interval, Timing, wall_clock
from tsumugi_celery.core.upcoming import MAX_EVERY_MS, MIN_EVERY_MS
from tsumugi_celery.core.wording import shown
from tsumugi_celery.core.zones import load_zone

if TYPE_CHECKING:
    from tsumugi_celery.core.timing import WallClock

#: The next time of a repeat whose run is unfinished: later than every time there is.
HELD = LAST_MS
#: The forms of definitions under the rules of repeats: `tsumugi.schedule` and `tsumugi.repeats`.
HANDLER = "handler"
REPEAT = "repeat"
REPEAT_FORMS = (HANDLER, REPEAT)
#: The most bytes of UTF-8 that an id may have.
MAX_ID = 1024

_EVERY = re.compile(r"([0-9]{1,12})(s|m|h|d)", re.ASCII)
_UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_MILLISECOND = timedelta(milliseconds=1)


class NotAccepted(ValueError):  # noqa: N818 - the name says what happened
    """A value of a repeat cannot be taken.

    Attributes:
        got: the value, shortened.
        accepted: what would have been right.
        hint: the next step, where there is a good guess.
    """

    def __init__(self, got: str, accepted: str, hint: str = "") -> None:
        self.got, self.accepted, self.hint = got, accepted, hint
        super().__init__(f"got {got}; accepted: {accepted}" + (f" ({hint})" if hint else ""))


def parse_every(value: object) -> int:
    """Return an interval in milliseconds.

    Args:
        value: a whole number and a unit, such as ``"30s"``, ``"15m"``, ``"1h"``, ``"1d"``, or a
            timedelta of whole milliseconds.

    Raises:
        NotAccepted: anything else, less than a second or more than a hundred years.
    """
    accepted = "a text such as '30s', '15m', '1h' or '1d', or a timedelta; at least one second"
    if isinstance(value, timedelta):
        every, rest = divmod(value, _MILLISECOND)
        hint = "it is not a whole number of milliseconds" if rest else ""
    elif isinstance(value, str) and (found := _EVERY.fullmatch(value)) is not None:
        every, hint = int(found[1]) * _UNITS[found[2]], ""
    else:
        every, hint = 0, "a number and its unit: s, m, h or d"
    if not hint and every < MIN_EVERY_MS:
        hint = "one second is the least"
    if not hint and every > MAX_EVERY_MS:
        hint = "a hundred years are the most"
    if hint:
        raise NotAccepted(shown(value), accepted, hint)
    return every


def check_id(value: object) -> str:
    """Return the id of a repeat if it is one.

    Raises:
        NotAccepted: no text, empty, over 1024 bytes of UTF-8, with NUL or half a surrogate pair.
    """
    accepted = f"a text of 1 to {MAX_ID} bytes of UTF-8, without NUL"
    if not isinstance(value, str):
        raise NotAccepted(shown(value), accepted, "an id is text; write str(id)")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise NotAccepted(shown(value), accepted, "it holds half of a surrogate pair") from None
    if not 1 <= size <= MAX_ID:
        raise NotAccepted(shown(value), accepted, f"it has {size} bytes")
    if "\0" in value:
        raise NotAccepted(shown(value), accepted, "it holds a NUL character")
    return value


def phase_of(collection: str, identifier: str, every_ms: int) -> int:
    """Return the phase of an id: its first time since the epoch, epoch ms.

    The same in every process and version, and spread evenly over the interval.

    Args:
        collection: of the repeat; empty for a handler of the code.
        identifier: the id of the repeat, or the name of the handler.
        every_ms: the interval.
    """
    # A NUL is in neither name, so no two pairs run together.
    digest = blake2b(f"{collection}\0{identifier}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % every_ms


@lru_cache(maxsize=8192)
def repeat_clock(cron: str, time_zone: str) -> WallClock:
    """Return the times of five fields in a zone under the rule of repeats.

    Raises:
        ValueError: the fields or the zone are wrong.
    """
    return wall_clock(parse_cron(cron), load_zone(time_zone), "repeat")


def repeat_timing(cron: str | None, time_zone: str | None, every_ms: int | None, at: int) -> Timing:
    """Return the times of a repeat as its row tells them.

    Args:
        cron: five fields, or None.
        time_zone: beside cron.
        every_ms: the interval, or None.
        at: the phase, epoch ms.

    Raises:
        ValueError: the fields or the zone are wrong, or there is neither cron nor interval.
    """
    if cron is not None:
        return repeat_clock(cron, str(time_zone))
    if every_ms is None:
        raise ValueError("the repeat has neither cron nor interval")
    return Interval(at, every_ms)


@dataclass(frozen=True, slots=True)
class RepeatDecision:
    """What becomes of a repeat that is due.

    Attributes:
        execute_at: the scheduled time to execute, epoch ms; None for none.
        next_at: the next time, epoch ms; HELD until the run that is unfinished has ended.
    """

    execute_at: int | None
    next_at: int | None


def decide_repeat(
    timing: Timing,
    *,
    next_at: int,
    accounted_until: int,
    now: int,
    unfinished: bool,
    ended_at: int | None,
) -> RepeatDecision:
    """Decide on a repeat whose next time has come.

    It never overlaps itself, and its next time is the first after both its own and the end of the
    run. While the run is shorter than the interval the two are the same.

    Args:
        timing: its times.
        next_at: the time recorded as next, epoch ms.
        accounted_until: every time up to here has been dealt with, epoch ms.
        now: the present, epoch ms.
        unfinished: whether the run before has not ended.
        ended_at: when it ended, epoch ms; None where there was none.
    """
    if unfinished:
        return RepeatDecision(None, HELD)
    at = timing.next_after(max(next_at - 1, accounted_until, ended_at or 0))
    if at is None or at > now:
        return RepeatDecision(None, at)
    return RepeatDecision(at, timing.next_after(max(at, now)))


def prefix_end(prefix: str) -> str | None:
    """Return the first text after all that begin with `prefix`, by code points; None: no end."""
    for index in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[index]) + 1
        if code <= 0x10FFFF:  # noqa: PLR2004 - the last code point
            # Half a surrogate pair is no text: go on behind them.
            return prefix[:index] + chr(0xE000 if 0xD800 <= code < 0xE000 else code)  # noqa: PLR2004
    return None
