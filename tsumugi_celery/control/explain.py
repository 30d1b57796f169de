"""Why: one sentence on what became of one time of a schedule (section 3 of the contract)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from tsumugi_celery.control.times import readable, timing_of, zone_of
from tsumugi_celery.control.views import Explanation
from tsumugi_celery.control.wording import CAUSES, STATES
from tsumugi_celery.core import states
from tsumugi_celery.core.timing import WallClock
from tsumugi_celery.ledger.schema import occurrence as o
from tsumugi_celery.ledger.schema import stretch as s

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from sqlalchemy import Connection, Row

    from tsumugi_celery.control.source import Source
    from tsumugi_celery.core.timing import Timing


def explain(source: Source, name: str, at: int) -> Explanation:
    """Say what became of the time `at` of a schedule; see `Control.why`."""
    now = source.now()
    with source.read() as connection:
        row = source.row(connection, name, removed=True)
        if row is None:
            text = f"{name} is not registered yet: no beat has started with it"
            return Explanation(name, at, "unregistered", text)
        executed = _executed(connection, row.id, at)
        stretch = _stretch(connection, row.id, at)
    teller = _Teller(row, timing_of(row, source.defined.get(name)), at, now)
    if executed:
        return teller.executed(executed)
    if stretch is not None and (stretch.first_at == at or teller.is_scheduled()):
        return teller.skipped(stretch)
    if at < row.registered_at:
        return teller.say(
            "unregistered", f"is before its registration at {teller.at(row.registered_at)}"
        )
    if not row.active:
        return teller.say("ended", "was not executed: the schedule was removed from the code")
    return _without_record(teller)


def _without_record(teller: _Teller) -> Explanation:
    if not teller.is_scheduled():
        return teller.not_scheduled()
    return teller.coming() if teller.moment > teller.now else teller.not_recorded()


def _executed(connection: Connection, schedule_id: int, at: int) -> Sequence[Row[Any]]:
    query = (
        select(o).where(o.c.schedule_id == schedule_id, o.c.scheduled_at == at).order_by(o.c.manual)
    )
    return connection.execute(query).all()


def _stretch(connection: Connection, schedule_id: int, at: int) -> Row[Any] | None:
    query = (
        select(s, s.c.count.label("times"))
        .where(s.c.schedule_id == schedule_id, s.c.first_at <= at, s.c.last_at >= at)
        .order_by(s.c.first_at.desc())
        .limit(1)
    )
    return connection.execute(query).one_or_none()


class _Teller:
    """Words what is known of one time."""

    def __init__(self, row: Row[Any], timing: Timing | None, at: int, now: int) -> None:
        self.row, self.timing, self.moment, self.now = row, timing, at, now
        self.zone: tzinfo = zone_of(row.time_zone)
        self._asked = timing is None or hasattr(timing, "ask")

    def at(self, ms: int) -> str:
        return readable(ms, self.zone)

    def say(self, outcome: str, rest: str, **more: Any) -> Explanation:
        text = f"{self.row.name}: {self.at(self.moment)} {rest}."
        return Explanation(self.row.name, self.moment, outcome, text, **more)

    def is_scheduled(self) -> bool:
        """Return whether it is one of its times; taken for one where that cannot be known."""
        if self._asked or self.timing is None:
            return True
        return self.timing.next_after(self.moment - 1) == self.moment

    def executed(self, rows: Sequence[Row[Any]]) -> Explanation:
        row = rows[0]
        what = STATES[row.state]
        if row.state == states.NOT_EXECUTED:
            what = f"was not executed: {CAUSES[row.cause]}"
        outcome = (
            "not_executed"
            if row.state == states.NOT_EXECUTED
            else "manual"
            if row.manual
            else "executed"
        )
        how = "was triggered by hand and " if row.manual else ""
        when = f" at {self.at(row.ended_at)}" if row.ended_at else ""
        error = f" ({row.error})" if row.error else ""
        more = {"state": row.state, "cause": row.cause, "occurrence_id": row.id}
        return self.say(outcome, f"{how}{what}{when}{error}; its id is {row.id}", **more)

    def skipped(self, stretch: Row[Any]) -> Explanation:
        words = f"was not executed: {CAUSES[stretch.cause]}"
        if stretch.times > 1:
            words += (
                f"; it is one of {stretch.times} times in a row, "
                f"{self.at(stretch.first_at)} to {self.at(stretch.last_at)}"
            )
        more = {"state": states.NOT_EXECUTED, "cause": stretch.cause}
        return self.say("not_executed", words, **more)

    def not_scheduled(self) -> Explanation:
        if isinstance(self.timing, WallClock):
            for each in self.timing.local_times(self.moment - 1, self.moment):
                if each.status == "repeated":
                    words = "is not a scheduled time: a local time that comes twice runs once"
                    return self.say("not_scheduled", words)
                if each.status == "skipped":
                    words = f"is not a scheduled time: daylight saving skips {each.wall:%H:%M} here"
                    return self.say("not_scheduled", words)
        following = None if self.timing is None else self.timing.next_after(self.moment)
        after = (
            "none follows"
            if following is None
            else f"the next one after it is {self.at(following)}"
        )
        return self.say(
            "not_scheduled", f"is not a scheduled time ({self.row.schedule_text}); {after}"
        )

    def coming(self) -> Explanation:
        if self.row.paused:
            return self.say(
                "coming",
                "is still to come, and will not be executed unless the schedule is resumed first",
            )
        if self.row.next_at is not None and self.moment < self.row.next_at:
            words = "is still to come, but was recorded as missed by a clock that ran ahead"
            return self.say("coming", words)
        return self.say("coming", "is still to come")

    def not_recorded(self) -> Explanation:
        if self.moment > self.row.accounted_until:
            if self.row.paused:
                words = "is not executed: the schedule is paused (counted by a beat, or on resume)"
                return self.say(
                    "not_executed", words, state=states.NOT_EXECUTED, cause=states.PAUSE
                )
            return self.say("pending", "is due, and no beat has decided on it yet: is one running?")
        return self.say(
            "unknown",
            "has no record: it was removed with old history, or the schedule was not defined then",
        )
