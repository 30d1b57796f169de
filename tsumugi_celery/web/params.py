"""Parameters of a request: each is checked, and one that is not known is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import request

from tsumugi_celery.core.repeat import MAX_ID
from tsumugi_celery.core.shifts import LAST_MS
from tsumugi_celery.core.wording import did_you_mean, nearest, shown
from tsumugi_celery.web.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The latest time that is accepted, epoch ms: within the year 9999 in every zone.
LATEST = LAST_MS - 1
LONGEST = 200


class Params:
    """The query of the present request.

    Args:
        known: the parameters that are accepted.

    Raises:
        BadRequest: another one is there.
    """

    def __init__(self, *known: str) -> None:
        """Refuse what is not known."""
        for name in request.args:
            if name not in known:
                guess = did_you_mean(nearest(name, known))
                accepted = ", ".join(known) or "none"
                hint = f" ({guess})" if guess else ""
                raise BadRequest(f"unknown parameter {shown(name)}; accepted: {accepted}{hint}")

    def text(self, name: str) -> str | None:
        """Return a text; None where it is left out or empty."""
        value = self._one(name)
        if value is not None and (len(value) > LONGEST or "\x00" in value):
            raise _wrong(name, value, f"a text of at most {LONGEST} characters")
        return value or None

    def part_of_id(self, name: str) -> str:
        """Return an id of a repeat, or the beginning of one; empty where it is left out."""
        value = self._one(name) or ""
        if len(value) > MAX_ID or "\x00" in value:
            raise _wrong(name, value, f"a text of at most {MAX_ID} characters, without NUL")
        return value

    def id(self, name: str) -> str:
        """Return an id of a repeat, which must be given.

        Raises:
            BadRequest: it is left out, empty or too long.
        """
        value = self.part_of_id(name)
        if not value:
            raise BadRequest(f"{name}: missing; accepted: the id of a repeat")
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return an integer within bounds."""
        value = self._one(name)
        return default if value is None else _integer(name, value, least, most)

    def moment(self, name: str) -> int | None:
        """Return a time, epoch ms; None where it is left out."""
        value = self._one(name)
        return None if value is None else _integer(name, value, 0, LATEST)

    def flag(self, name: str) -> bool | None:
        """Return true or false; None where it is left out."""
        value = self._one(name)
        if value is None:
            return None
        if value not in {"true", "false"}:
            raise _wrong(name, value, "true or false")
        return value == "true"

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        """Return one of the choices; None where it is left out."""
        value = self._one(name)
        if value is not None and value not in choices:
            raise _wrong(name, value, ", ".join(choices))
        return value

    def choices(self, name: str, choices: Sequence[str]) -> list[str]:
        """Return some of the choices: the parameter repeated, or joined by commas."""
        values = [one for given in request.args.getlist(name) for one in given.split(",")]
        for value in values:
            if value not in choices:
                raise _wrong(name, value, ", ".join(choices))
        return values

    @staticmethod
    def _one(name: str) -> str | None:
        values = request.args.getlist(name)
        if len(values) > 1:
            raise BadRequest(f"{name}: given {len(values)} times; accepted: once")
        return values[0] if values else None


def _integer(name: str, value: str, least: int, most: int) -> int:
    accepted = f"an integer from {least} to {most}"
    # int() takes blanks, underscores and the digits of every script.
    if not (value.isascii() and value.isdigit() and len(value) < 20):  # noqa: PLR2004 - epoch ms has 15
        raise _wrong(name, value, accepted)
    number = int(value)
    if not least <= number <= most:
        raise _wrong(name, value, accepted)
    return number


def _wrong(name: str, value: str, accepted: str) -> BadRequest:
    return BadRequest(f"{name}: got {shown(value)}; accepted: {accepted}")
