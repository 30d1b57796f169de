"""Five-field cron expressions: checked strictly, then expanded (decision 0010)."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from functools import lru_cache

from tsumugi_celery.core.cron_field import FIELDS, CronError, read_field
from tsumugi_celery.core.wording import shown

__all__ = ["CronError", "CronFields", "expand_alias", "parse_cron"]

BLANKS = re.compile(r"[ \t]+")
MAX_LENGTH = 1024

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
}


@dataclass(frozen=True, slots=True)
class CronFields:
    """An expression as the values it stands for, each in ascending order.

    Attributes:
        minutes: 0-59.
        hours: 0-23.
        days: Days of the month, 1-31.
        months: 1-12.
        weekdays: 0-6, Sunday is 0.
        either_day: Whether a date runs when either of the day fields matches; else both must.
        text: The expression as it was written.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    either_day: bool
    text: str


def expand_alias(text: object) -> object:
    """Return the five fields of ``@hourly``, ``@daily``, ``@weekly`` or ``@monthly``.

    Only data-owned repeats know these words. Anything else is returned as it is.
    """
    return ALIASES.get(text, text) if isinstance(text, str) else text


def parse_cron(text: object) -> CronFields:
    """Read a cron expression: five fields of numbers, ``*``, ``,``, ``-`` and ``/``.

    Args:
        text: The expression; runs of spaces and tabs separate the fields.

    Raises:
        CronError: Names the field, the value got and what is accepted. Also raised for an
            expression that never occurs, such as 31 February.
    """
    if not isinstance(text, str):
        hint = f"give the expression as text, not as {type(text).__name__}"
        raise CronError("expression", shown(text), "text of five fields", hint)
    return _parse(str(text))


@lru_cache(maxsize=4096)
def _parse(text: str) -> CronFields:
    words = BLANKS.split(text.strip(" \t"))
    if len(words) != len(FIELDS) or len(text) > MAX_LENGTH:
        raise CronError(
            "expression",
            shown(text),
            "five fields: minute, hour, day of month, month, day of week",
            _whole_hint(text, words),
        )
    values = [read_field(field, word) for field, word in zip(FIELDS, words, strict=True)]
    fields = CronFields(
        minutes=values[0],
        hours=values[1],
        days=values[2],
        months=values[3],
        weekdays=tuple(sorted({weekday % 7 for weekday in values[4]})),
        # Vixie cron's rule: a day field whose text starts with a star is unrestricted.
        either_day=not (words[2].startswith("*") or words[4].startswith("*")),
        text=text,
    )
    if not occurs(fields):
        hint = "none of its months has such a day"
        raise CronError("expression", shown(text), "an expression that occurs", hint)
    return fields


def occurs(fields: CronFields) -> bool:
    """Return whether any date of the calendar matches.

    Every month of the year, a February of 29 days included, begins on each day of the week in
    some year. So whatever weekdays are asked for, a month that has one of the days has them.
    """
    leap_year = 2000
    longest = max(monthrange(leap_year, month)[1] for month in fields.months)
    return fields.either_day or min(fields.days) <= longest


def _whole_hint(text: str, words: list[str]) -> str:
    if len(text) > MAX_LENGTH:
        return f"it is longer than {MAX_LENGTH} characters"
    if text.strip().startswith("@"):
        known = ALIASES.get(text.strip())
        return f"write {known!r}" if known else "words such as @daily are not read here"
    count = len(words) if text.strip(" \t") else 0
    extra = "; seconds and years are not read" if count > len(FIELDS) else ""
    return f"it has {count} field{'' if count == 1 else 's'}{extra}"
