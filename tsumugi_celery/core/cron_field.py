"""One field of a cron expression: checked strictly, then expanded to its values (decision 0010)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tsumugi_celery.core.wording import shown

PART = re.compile(r"(?:(?P<star>\*)|(?P<low>[0-9]+)(?:-(?P<high>[0-9]+))?)(?:/(?P<step>[0-9]+))?")
# Longer numbers can only be a mistake, and Python refuses to read very long ones.
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five places: its name, its lowest and highest number, how many values it has."""

    name: str
    low: int
    high: int
    width: int

    @property
    def accepted(self) -> str:
        """What a message says is accepted here."""
        return f"{self.low}-{self.high}, as numbers, '*', ',', '-' and '/'"


FIELDS = (
    Field("minute", 0, 59, 60),
    Field("hour", 0, 23, 24),
    Field("day of month", 1, 31, 31),
    Field("month", 1, 12, 12),
    Field("day of week", 0, 7, 7),  # 0 and 7 are both Sunday
)


class CronError(ValueError):
    """A text is not a cron expression as this package reads them.

    Attributes:
        field: The field at fault (``"minute"``), or ``"expression"`` for the whole.
        got: The value found, as a short ``repr``.
        accepted: What would have been right.
        hint: The next step.
    """

    def __init__(self, field: str, got: str, accepted: str, hint: str) -> None:
        super().__init__(field, got, accepted, hint)
        self.field = field
        self.got = got
        self.accepted = accepted
        self.hint = hint

    def __str__(self) -> str:
        return f"cron, {self.field}: got {self.got}; accepted: {self.accepted} ({self.hint})"


def read_field(field: Field, word: str) -> tuple[int, ...]:
    """Return the values a field stands for, in ascending order.

    Raises:
        CronError: Names the field, the value got and what is accepted.
    """
    found: set[int] = set()
    for part in word.split(","):
        found.update(_part(field, part, word))
    return tuple(sorted(found))


def _part(field: Field, part: str, word: str) -> range:
    match = PART.fullmatch(part)
    if match is None:
        raise CronError(field.name, shown(word), field.accepted, _part_hint(part))
    numbers = [match["low"], match["high"], match["step"]]
    if any(number is not None and len(number) > DIGITS for number in numbers):
        hint = f"a number has at most {DIGITS} digits"
        raise CronError(field.name, shown(word), field.accepted, hint)
    low = field.low if match["star"] else int(match["low"])
    high = field.high if match["star"] else int(match["high"] or low)
    for number in (low, high):
        if not field.low <= number <= field.high:
            hint = f"{number} is outside {field.low}-{field.high}"
            raise CronError(field.name, shown(word), field.accepted, hint)
    if low > high:
        hint = f"a range goes upwards; write {low}-{field.high},{field.low}-{high}"
        raise CronError(field.name, shown(word), field.accepted, hint)
    return range(low, high + 1, _step(field, match, word))


def _step(field: Field, match: re.Match[str], word: str) -> int:
    if match["step"] is None:
        return 1
    if not match["star"] and match["high"] is None:
        meant = f"{match['low']}-{field.high}/{match['step']}"
        hint = f"a step needs '*' or a range in front; write {meant}"
        raise CronError(field.name, shown(word), field.accepted, hint)
    step = int(match["step"])
    if not 1 <= step <= field.width:
        hint = f"the step {step} is not between 1 and {field.width}"
        raise CronError(field.name, shown(word), field.accepted, hint)
    return step


def _part_hint(part: str) -> str:
    if not part:
        return "a comma with nothing beside it"
    if re.fullmatch(r"[A-Za-z-]+", part):
        return "names are not read; write numbers"
    strange = sorted({letter for letter in part if letter not in "0123456789*,-/"})
    if strange:
        return f"{shown(''.join(strange))} has no meaning here"
    return f"{shown(part)} is incomplete"
