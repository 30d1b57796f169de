"""What becomes of the coming times when a definition is changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Two times that are nearer than this may be one that was moved, ms.
NEAR = 24 * 3_600_000


@dataclass(frozen=True)
class Changed:
    """The coming times of one schedule under two definitions, epoch ms.

    Attributes:
        kept: how many are the same.
        added: those that only the new definition has.
        dropped: those that only the old one has.
        moved: pairs of an old time and the new one that takes its place.
    """

    kept: int
    added: tuple[int, ...]
    dropped: tuple[int, ...]
    moved: tuple[tuple[int, int], ...]


def compare(old: Sequence[int], new: Sequence[int]) -> Changed:
    """Compare times; where each old one has one new one less than a day away, it was moved.

    Args:
        old: ascending, epoch ms.
        new: ascending, epoch ms.
    """
    gone = sorted(set(old) - set(new))
    come = sorted(set(new) - set(old))
    kept = len(set(old) & set(new))
    pairs = tuple(zip(gone, come, strict=False))
    if len(gone) == len(come) and all(abs(a - b) < NEAR for a, b in pairs):
        return Changed(kept, (), (), pairs)
    return Changed(kept, tuple(come), tuple(gone), ())
