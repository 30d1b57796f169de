"""Many scheduled times as one value: a beat that was down for a year has half a million of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive scheduled times: how many, the first and the last of them in epoch ms."""

    count: int
    first: int
    last: int
