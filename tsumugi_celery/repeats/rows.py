"""From what `set` is given to the row of a repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.errors import DefinitionError, Problem
from tsumugi_celery.core.keys import Report
from tsumugi_celery.core.repeat import REPEAT, NotAccepted, check_id
from tsumugi_celery.core.wording import shown
from tsumugi_celery.definitions.fingerprint import fingerprint_of
from tsumugi_celery.definitions.repeat_when import RepeatTimes, read_repeat_times

if TYPE_CHECKING:
    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.repeats.payload import Payloads

#: How many different times of repeats are remembered as read.
_REMEMBERED = 10_000


class Rows:
    """Makes rows of one collection.

    Args:
        namespace: the namespace of the app.
        definition: what the repeats of the collection have in common.
        payloads: checks what they carry.
    """

    def __init__(self, namespace: str, definition: Definition, payloads: Payloads) -> None:
        """Start without having read any times."""
        self._collection = definition.name
        self._payloads = payloads
        self._read: dict[Any, RepeatTimes] = {}
        self._common = {
            "namespace": namespace,
            "collection": definition.name,
            "kind": definition.kind,
            "form": REPEAT,
            "target": definition.target,
            "overlap": definition.overlap,
            # The same for all, whatever their options: a beat that does not know the collection
            # can leave all of them alone by it.
            "fingerprint": fingerprint_of((REPEAT, definition.name)),
        }

    def make(
        self,
        identifier: object,
        payload: object,
        *,
        every: object,
        cron: object,
        time_zone: object,
        now: int,
    ) -> dict[str, Any]:
        """Return the row of a repeat that is set now.

        Raises:
            DefinitionError: naming all that is wrong with it.
        """
        where = f"repeat {shown(identifier)} of {self._collection!r}"
        problems: list[Problem] = []
        name = text = ""
        try:
            name = check_id(identifier)
        except NotAccepted as error:
            problems.append(Problem(where, "id", error.got, error.accepted, error.hint))
        try:
            text = self._payloads.text(payload)
        except NotAccepted as error:
            problems.append(Problem(where, "payload", error.got, error.accepted, error.hint))
        times = self._times(every, cron, time_zone, Report(where, problems))
        if times is None or problems:
            raise DefinitionError(problems)
        when = times.of(self._collection, name)
        first = when.phase_ms if when.phase_ms is not None else now
        return {
            **self._common,
            "name": name,
            "payload": text,
            "every_ms": when.every_ms,
            "cron": when.cron,
            "time_zone": when.zone_name,
            "schedule_text": when.text,
            "timing_fingerprint": times.fingerprint,
            "registered_at": now,
            "first_at": first,
            "next_at": when.timing(first).next_after(now),
            "accounted_until": now,
        }

    def _times(
        self, every: object, cron: object, time_zone: object, report: Report
    ) -> RepeatTimes | None:
        key = (every, cron, time_zone)
        try:
            found = self._read.get(key)
        except TypeError:  # what cannot be hashed is no text and no timedelta either
            return read_repeat_times(every, cron, time_zone, report)
        if found is None:
            found = read_repeat_times(every, cron, time_zone, report)
            if found is not None and len(self._read) < _REMEMBERED:
                self._read[key] = found
        return found
