"""Run what is due in this process, without a broker: for tests and one-shot jobs.

The protocol is the one of every beat and worker. Only the message goes from hand to hand: the
sender calls the task, under its guard, before the claim is settled, as a quick worker would.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from socket import gethostname
from typing import TYPE_CHECKING, Any, cast

from billiard.einfo import ExceptionInfo
from celery.app.trace import build_tracer
from celery.exceptions import Ignore, Reject
from sqlalchemy import select

from tsumugi_celery.control.times import zone_of
from tsumugi_celery.core.errors import DispatchError
from tsumugi_celery.engine.clock import Clock
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.engine.message import HEADER
from tsumugi_celery.ledger import occurrences
from tsumugi_celery.ledger.schedules import CHUNK
from tsumugi_celery.ledger.schema import occurrence, schedule
from tsumugi_celery.worker.identity import here
from tsumugi_celery.worker.install import install

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from tsumugi_celery.app import AppState
    from tsumugi_celery.engine.broker import Sender
    from tsumugi_celery.engine.message import Outgoing

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Ran:
    """What became of one time that was due.

    Attributes:
        name: of the schedule, or the id of the repeat.
        occurrence_id: the task id.
        scheduled_at: when it was due, aware, in the zone of its schedule.
        state: COMPLETED, FAILED, SCHEDULED (its next attempt waits), or NOT_EXECUTED.
        result: what the task returned.
        error: what it raised, or why it could not be called; None where nothing went wrong.
    """

    name: str
    occurrence_id: str
    scheduled_at: datetime
    state: str
    result: Any = None
    error: BaseException | str | None = None


def run_due(state: AppState, now: int | None = None) -> list[Ran]:
    """Run what is due; see `Tsumugi.run_due`.

    Args:
        state: of the app.
        now: the present to pretend, epoch ms; None for the real one.

    Raises:
        DefinitionError: the definitions are wrong.
        LedgerError: the ledger cannot be used.
    """
    with _at(state, now):
        definitions = state.check()
        # The tasks of a Run find each other through the broker; Runs are left to a beat.
        runs = {name for name, each in definitions.schedules.items() if each.kind == "flow"}
        install(state.app)
        cycle = Cycle(
            state.app,
            state.ledger,
            definitions.schedules,
            state.namespace,
            state.settings,
            state.clock,
            repeats=definitions.repeats,
            stopped=state.stopped | runs,
        )
        caller = _Caller(state)
        cycle.dispatcher.sender = cast("Sender", caller)
        cycle.start()
        try:
            with _as_worker(cycle.heart.id):
                _run_all(cycle)
        finally:
            cycle.stop()
        with state.ledger.read() as connection:
            zones = _zones(connection, caller.results)
            return [
                caller.told(row, zones)
                for identifier in caller.results
                if (row := occurrences.get(connection, identifier)) is not None
            ]


def _run_all(cycle: Cycle) -> None:
    cycle.chores.release()
    cycle.chores.let_go()
    cycle.claim_all()
    while len(cycle.resolver):
        cycle.woken.wait(cycle.resolver.next_deadline())
        cycle.woken.clear()
        cycle.collect()
    cycle.chores.release()


class _Caller:
    """Takes the place of `engine.broker.Sender`: calls the tasks in place of sending them."""

    def __init__(self, state: AppState) -> None:
        self._app = state.app
        self.results: dict[str, tuple[Outgoing, Any, BaseException | str | None]] = {}

    def send(self, messages: Sequence[Outgoing]) -> list[Exception | None]:
        """Call the task of each message; return why it could not be called."""
        return [self._call(each) for each in messages]

    def close(self) -> None:
        """Close nothing: there is no connection."""

    def told(self, row: Row[Any], zones: Mapping[str, str | None]) -> Ran:
        """Return what became of one message."""
        each, result, error = self.results[row.id]
        moment = _EPOCH + timedelta(milliseconds=row.scheduled_at)
        name = str(_header(each).get("schedule"))
        zone = zone_of(zones.get(row.id))
        return Ran(name, row.id, moment.astimezone(zone), row.state, result, error or row.error)

    def _call(self, each: Outgoing) -> Exception | None:
        task = self._app.tasks.get(each.target)
        if task is None:
            missing = DispatchError(f"this process has no task named {each.target!r}")
            self.results[each.occurrence_id] = each, None, missing
            return missing
        headers = {**each.options["headers"], HEADER: {**_header(each), "here": True}}
        request = {
            **headers,
            "id": each.occurrence_id,
            "root_id": each.occurrence_id,
            "task": each.target,
            "args": each.args,
            "kwargs": each.kwargs,
            "headers": headers,
            "retries": 0,
            "is_eager": True,
            "hostname": here.hostname,
            "delivery_info": {"is_eager": True},
        }
        trace = build_tracer(task.name, task, eager=True, propagate=False, app=self._app)
        traced = trace(each.occurrence_id, each.args, each.kwargs, request)
        value = traced.retval
        value = value.exception if isinstance(value, ExceptionInfo) else value
        failed = isinstance(value, BaseException)
        ignored = isinstance(value, (Ignore, Reject))
        self.results[each.occurrence_id] = (
            each,
            None if failed else value,
            value if failed and not ignored else None,
        )
        return None


def _header(each: Outgoing) -> Mapping[str, Any]:
    found: Mapping[str, Any] = each.options["headers"][HEADER]
    return found


def _zones(connection: Connection, identifiers: Iterable[str]) -> dict[str, str | None]:
    query = select(occurrence.c.id, schedule.c.time_zone).join(
        schedule, schedule.c.id == occurrence.c.schedule_id
    )
    found: dict[str, str | None] = {}
    names = sorted(identifiers)
    for start in range(0, len(names), CHUNK):
        part = query.where(occurrence.c.id.in_(names[start : start + CHUNK]))
        found |= {row.id: row.time_zone for row in connection.execute(part)}
    return found


@contextmanager
def _at(state: AppState, now: int | None) -> Iterator[None]:
    """Pretend that it is another time."""
    if now is None:
        yield
        return
    real, state.clock = state.clock, _Pinned(now)
    try:
        yield
    finally:
        state.clock = real


class _Pinned(Clock):
    """A wall clock that stands still."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now


@contextmanager
def _as_worker(node_id: str) -> Iterator[None]:
    """Be the worker that the guard writes down: what runs here ends with this process."""
    before = here.node_id, here.hostname
    here.node_id, here.hostname = node_id, gethostname()
    try:
        yield
    finally:
        here.node_id, here.hostname = before
