"""What a source holds about one schedule, before it is translated."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS = "beat_schedule"
DJANGO = "django-celery-beat"
REDBEAT = "redbeat"


@dataclass(frozen=True)
class Change:
    """One way in which a translated schedule differs from what it was.

    Attributes:
        kind: one word, the same in every version, such as ``days`` or ``lost``.
        text: the same in a sentence.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Found:
    """One schedule of another beat.

    Attributes:
        name: as it stands there.
        source: ``beat_schedule``, ``django-celery-beat`` or ``redbeat``.
        task: the Celery task's name, or the task itself.
        schedule: what Celery would ask when it is due; None where it cannot be made.
        zone: the IANA name that a crontab is read in, where it is not the app's zone.
        args: positional arguments.
        kwargs: keyword arguments.
        options: of the message, by Celery's names.
        more: keys of this package that stand beside them already.
        last_run_at: when it last ran, aware.
        at_once: whether one that never ran is due at once, and not after its first interval.
        disabled: whether it is switched off there.
        left_out: why it cannot be translated at all; None if it can.
        changes: what the source alone can tell.
    """

    name: str
    source: str
    task: Any = None
    schedule: Any = None
    zone: str | None = None
    args: Any = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    last_run_at: datetime | None = None
    at_once: bool = False
    disabled: bool = False
    left_out: Change | None = None
    changes: tuple[Change, ...] = ()
