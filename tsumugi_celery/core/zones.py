"""Time zones by their IANA names, from the `tzdata` package alone (decision 0011)."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from tsumugi_celery.core.wording import did_you_mean, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Callable

ACCEPTED = "an IANA time zone name such as 'Asia/Tokyo' or 'UTC'"
# In the list of names, but it stands for "nobody has set the zone yet".
NOT_A_PLACE = frozenset({"Factory"})
FIXED_OFFSET = re.compile(r"(?:UTC|GMT|Z)?\s*([+-])(\d{1,2})(?::?(\d{2}))?(?::?\d{2})?", re.ASCII)


class ZoneError(ValueError):
    """A text, or something else, does not name a time zone.

    Attributes:
        got: The value, as a short ``repr``.
        accepted: What would have been right.
        hint: The next step.
    """

    def __init__(self, got: str, hint: str) -> None:
        super().__init__(got, hint)
        self.got = got
        self.accepted = ACCEPTED
        self.hint = hint

    def __str__(self) -> str:
        return f"no time zone: got {self.got}; accepted: {self.accepted} ({self.hint})"


class Zone(ZoneInfo):
    """A ``ZoneInfo`` read from a file that can be pickled and copied all the same.

    A payload callable may well return the moment it was given. Pickled, it becomes an ordinary
    ``ZoneInfo``, so that whoever reads it needs nothing but the standard library.
    """

    def __reduce__(self) -> tuple[Callable[[str], ZoneInfo], tuple[str]]:
        return ZoneInfo, (self.key,)

    def __copy__(self) -> Zone:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Zone:
        return self


def load_zone(name: object) -> ZoneInfo:
    """Return the time zone of an IANA name; the same object for the same name.

    Args:
        name: The name, spelled exactly as in the IANA data. ``str`` of the result gives it back.

    Raises:
        ZoneError: For anything else; the message has the right spelling of a near miss.
    """
    if not isinstance(name, str) or name not in zone_names():
        raise ZoneError(shown(name), _hint(name))
    return _read(str(name))


@cache
def zone_names() -> frozenset[str]:
    """Return all names that are accepted."""
    listed = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    return frozenset(listed.split()) - NOT_A_PLACE


@cache  # bounded by the number of zone names
def _read(name: str) -> ZoneInfo:
    path = resources.files("tzdata").joinpath(f"zoneinfo/{name}")
    with path.open("rb") as file:
        return Zone.from_file(file, key=name)


def _hint(name: object) -> str:
    if not isinstance(name, str):
        return f"give the name as text, not as {type(name).__name__}"
    if not name:
        return "leave it out for UTC, or name a zone"
    if name in NOT_A_PLACE:
        return "this name stands for a zone that was never set"
    offset = FIXED_OFFSET.fullmatch(name.strip())
    return _offset_hint(*offset.groups(default="00")) if offset else _spelling_hint(name)


def _spelling_hint(name: str) -> str:
    same = [known for known in zone_names() if known.casefold() == name.strip().casefold()]
    if same:
        return f"a name must match exactly, case and all; write {same[0]!r}"
    inside = sorted(known for known in zone_names() if known.startswith(f"{name}/"))
    if inside:
        return f"this is a region; name a place in it, such as {inside[0]!r}"
    return did_you_mean(nearest(name, sorted(zone_names()))) or (
        "see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones"
    )


def _offset_hint(sign: str, hours: str, minutes: str) -> str:
    reason = "a fixed offset is not a time zone; name a place, such as 'Asia/Tokyo'"
    # The Etc names count westwards: Etc/GMT-9 is nine hours ahead of UTC.
    turned = f"Etc/GMT{'-' if sign == '+' else '+'}{int(hours)}"
    if minutes == "00" and turned in zone_names():
        return f"{reason}, or {turned!r} for this offset all year"
    return reason
