"""Five fields that mean what a Celery crontab means, and whether they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.cron import CronError, parse_cron
from tsumugi_celery.core.cron_field import FIELDS
from tsumugi_celery.definitions.celery_kinds import crontab_fields, sets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The whole range of each field, Sunday as 0.
_FULL = tuple(
    tuple(range(field.low, (7 if index == 4 else field.high + 1)))  # noqa: PLR2004 - the fifth field
    for index, field in enumerate(FIELDS)
)
_ORIGINAL = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")


def cron_text(value: Any) -> tuple[str, bool]:
    """Return a crontab as five fields of cron, and whether that ORs its day fields.

    Celery ANDs the day fields. Cron does so too where one of them begins with a star; else a
    date runs when either matches.
    """
    wanted = sets_of(crontab_fields(value))
    words = [
        _word(getattr(value, f"_orig_{name}", None), numbers, full, index)
        for index, (name, numbers, full) in enumerate(zip(_ORIGINAL, wanted, _FULL, strict=True))
    ]
    text = " ".join(words)
    return text, parse_cron(text).either_day


def _word(original: object, numbers: Sequence[int], full: Sequence[int], index: int) -> str:
    """Return a field: as it was written if cron reads it so, else written anew."""
    if tuple(numbers) == tuple(full):
        return "*"
    if isinstance(original, (int, str)) and _reads(str(original), index) == tuple(numbers):
        return str(original)
    starts = [each for each in numbers if each - 1 not in numbers]
    ends = [each for each in numbers if each + 1 not in numbers]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def _reads(word: str, index: int) -> tuple[int, ...] | None:
    words = ["*"] * 5
    words[index] = word
    try:
        return sets_of(parse_cron(" ".join(words)))[index]
    except CronError:
        return None
