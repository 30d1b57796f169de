"""From a schedule of another beat to a definition of this package, and how the two differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from celery.schedules import crontab, schedule

from tsumugi_celery.control.times import readable, to_ms
from tsumugi_celery.core.errors import DefinitionError
from tsumugi_celery.core.zones import ZoneError, load_zone
from tsumugi_celery.definitions.celery_kinds import behaves_as, same_everywhere
from tsumugi_celery.definitions.defaults import CLEANUP
from tsumugi_celery.definitions.read import read_definitions
from tsumugi_celery.importing.found import Change, Found
from tsumugi_celery.importing.literal import Source, UnwritableError
from tsumugi_celery.importing.shape import Shape, shape_of
from tsumugi_celery.importing.times import AROUND_MS, CeleryTimes, times_here, turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

    from tsumugi_celery.definitions.model import Definition

#: How many times are compared.
COUNT = 10
#: How many changes of the clock are told.
MOST_TURNS = 2


@dataclass(frozen=True)
class Translated:
    """What became of one schedule.

    Attributes:
        found: as it was.
        keys: of the definition, each as Python source; None if there is none.
        changes: how the two differ; the first one says why there is no definition.
        before: its next times by Celery's own beat, epoch ms.
        after: its next times here, epoch ms.
        zone: what its times are shown in.
    """

    found: Found
    keys: dict[str, str] | None
    changes: tuple[Change, ...]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    zone: str | None = None


class Translator:
    """Translates the schedules for one app.

    Args:
        app: the Celery app, its tasks imported.
        now_ms: the present, epoch ms.
        always_cron: write cron also where that ORs day fields that Celery ANDs.
        with_disabled: write schedules that are switched off, too.
        bindings: what the definitions may name.
    """

    def __init__(
        self,
        app: Any,
        now_ms: int,
        *,
        always_cron: bool = False,
        with_disabled: bool = False,
        bindings: Any = None,
    ) -> None:
        """Remember what all of them have in common."""
        self.app = app
        self.now_ms = now_ms
        self.always_cron = always_cron
        self.with_disabled = with_disabled
        self.bindings = bindings
        self.source = Source()

    def all(self, found: Iterable[Found]) -> list[Translated]:
        """Translate schedules; of two with one name the first is kept."""
        done: dict[str, Translated] = {}
        for each in found:
            if each.name not in done:
                done[each.name] = self.one(each)
            else:
                text = f"{done[each.name].found.source} has one of this name, which is written"
                left = _left(each, Change("doubled", text))
                done[f"{each.name} ({each.source})"] = left
        return [*done.values()]

    def one(self, found: Found) -> Translated:
        """Translate one schedule; what cannot be translated says why."""
        why = found.left_out
        if why is None and found.name == CLEANUP:
            text = "Celery's own clean-up: it appears here by itself where the backend needs it"
            why = Change("built-in", text)
        if why is None:
            try:
                return self._translated(found)
            except ZoneError as exc:
                why = Change("broken", f"its zone: {exc}")
            except UnwritableError as exc:
                why = Change("kept", f"{exc}: keep it in beat_schedule, where it works")
            except DefinitionError as exc:
                why = Change("refused", "; ".join(map(str, exc.problems)))
        return _left(found, why)

    def _translated(self, found: Found) -> Translated:
        zone = self._zone(found)
        shape = shape_of(found, zone, self.app, always_cron=self.always_cron)
        keys = shape.write(self.source)
        definition = self._read(found.name, shape)
        times = CeleryTimes(found.schedule, self.app, zone)
        before, trouble = self._before(found, times)
        after = tuple(islice(times_here(definition, self.now_ms), COUNT))
        changes = [*found.changes, *shape.changes, *trouble, *self._phase(found, before, after)]
        if behaves_as(type(found.schedule), crontab) and isinstance(zone, ZoneInfo):
            changes += self._daylight(times, definition, zone)
        name = getattr(zone, "key", None)
        translated = Translated(found, keys, tuple(changes), before, after, name)
        return self._disabled(translated) if found.disabled else translated

    def _zone(self, found: Found) -> tzinfo:
        if found.zone is not None:
            return load_zone(found.zone)
        own = getattr(found.schedule, "__dict__", {}).get("tz")
        return same_everywhere(own or self.app.timezone)

    def _read(self, name: str, shape: Shape) -> Definition:
        """Return what this package makes of it: nothing is printed that it would refuse."""
        return read_definitions(self.app, {name: shape.mapping}, bindings=self.bindings).schedules[
            name
        ]

    def _before(
        self, found: Found, times: CeleryTimes
    ) -> tuple[tuple[int, ...], tuple[Change, ...]]:
        if found.last_run_at is not None:
            last = to_ms(found.last_run_at)
        elif found.at_once:
            # Redbeat sends a schedule that never ran at once.
            rest = islice(times.after(self.now_ms, self.now_ms), COUNT - 1)
            return (self.now_ms, *rest), ()
        else:
            last = self.now_ms
        try:
            return tuple(islice(times.after(last, self.now_ms), COUNT)), ()
        except Exception as exc:  # noqa: BLE001 - a schedule of the user's may raise anything
            return (), (Change("broken", f"its times before are unknown: {exc!r}"),)

    def _phase(self, found: Found, before: Sequence[int], after: Sequence[int]) -> Iterable[Change]:
        if behaves_as(type(found.schedule), schedule) and not found.schedule.relative:
            yield Change(
                "drift",
                "it counted from its last run, so every delay moved it, and a restart could; here "
                "it keeps registration + k intervals",
            )
        elif before[:1] == (self.now_ms,) and after[:1] != before[:1]:
            yield Change("overdue", "it is overdue there and would run at once; here it waits")

    def _daylight(
        self, times: CeleryTimes, definition: Definition, zone: ZoneInfo
    ) -> Iterable[Change]:
        told = 0
        for turn in turns(zone, self.now_ms):
            start, end = turn - AROUND_MS, turn + AROUND_MS
            before = _until(times.after(start, start), end)
            after = _until(times_here(definition, start), end)
            if before != after and told < MOST_TURNS:
                told += 1
                yield Change(
                    "daylight",
                    f"the clock is changed at {readable(turn, zone)}: there it runs "
                    f"{_listed(set(before) - set(after), zone)}, where here it runs "
                    f"{_listed(set(after) - set(before), zone)}",
                )

    def _disabled(self, each: Translated) -> Translated:
        if self.with_disabled:
            text = "it is switched off there: pause it before the first beat starts"
            return replace(each, changes=(Change("disabled", text), *each.changes))
        text = "it is switched off there; --with-disabled writes it, to be paused"
        return replace(each, keys=None, changes=(Change("disabled", text), *each.changes))


def _left(found: Found, why: Change) -> Translated:
    return Translated(found, None, (why, *found.changes))


def _until(times: Iterable[int], end: int) -> list[int]:
    found = []
    for at in times:
        if at > end:
            break
        found.append(at)
    return found


def _listed(times: set[int], zone: ZoneInfo) -> str:
    shown = [readable(at, zone) for at in sorted(times)]
    more = f" and {len(shown) - 3} times more" if len(shown) > 3 else ""  # noqa: PLR2004 - enough to see
    return f"at {', '.join(shown[:3])}{more}" if shown else "not at all"
