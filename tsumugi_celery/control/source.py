"""What the service works on: the ledger of an app, and what this process defines for it."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tsumugi_celery.core.errors import DefinitionError, LedgerAway, RemovedSchedule, UnknownSchedule
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.ledger import schedules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from celery import Celery
    from sqlalchemy import Connection, Row

    from tsumugi_celery.definitions.model import Binding, Definition, Definitions
    from tsumugi_celery.engine.clock import Clock
    from tsumugi_celery.engine.settings import Settings
    from tsumugi_celery.ledger.ledger import Ledger

T = TypeVar("T")
#: The most bytes that a name or id may have.
LONGEST_KEY = 1024


class State(Protocol):
    """What is known of an app; `tsumugi_celery.app.AppState` is one."""

    clock: Clock

    @property
    def app(self) -> Celery:
        """The Celery app."""

    @property
    def settings(self) -> Settings:
        """The settings."""

    @property
    def namespace(self) -> str:
        """The namespace."""

    @property
    def ledger(self) -> Ledger:
        """The ledger."""

    def read(self) -> Definitions:
        """Read all definitions."""


class Source:
    """The ledger and the definitions, ready to be asked.

    Args:
        state: what is known of the app.
    """

    def __init__(self, state: State) -> None:
        """Remember the state; nothing is read or connected."""
        self.state = state
        self._opened = False
        self._unregistered: tuple[object, tuple[str, ...]] = (None, ())

    @property
    def app(self) -> Celery:
        """The Celery app."""
        return self.state.app

    @property
    def namespace(self) -> str:
        """The namespace of the app."""
        return self.state.namespace

    def now(self) -> int:
        """Return the present, epoch ms."""
        return self.state.clock.now()

    @cached_property
    def definitions(self) -> Definitions:
        """What this process defines, with its task modules imported.

        Raises:
            DefinitionError: the definitions are wrong.
        """
        self.app.loader.import_default_modules()
        self.app.finalize()
        return self.state.read()

    @property
    def defined(self) -> Mapping[str, Definition]:
        """The schedules of this process; none where its definitions are wrong.

        The ledger can be looked at all the same; a trigger says what is wrong.
        """
        try:
            return self.definitions.schedules
        except DefinitionError:
            return {}

    @property
    def repeats(self) -> Mapping[str, Definition]:
        """The collections of repeats of this process; none where its definitions are wrong."""
        try:
            return self.definitions.repeats
        except DefinitionError:
            return {}

    @property
    def bindings(self) -> dict[str, Binding]:
        """The bindings of this process: declared, or a task's own."""
        try:
            definitions = self.definitions
        except DefinitionError:
            return {}
        used = [each.binding for each in definitions.schedules.values()]
        return {each.name: each for each in used if each is not None} | definitions.bindings

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            LedgerError: the ledger cannot be used.
            LedgerAway: it does not answer.
        """
        with _said(), self._open().read() as connection:
            yield connection

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction that writes; it may run more than once.

        Raises:
            LedgerError: the ledger cannot be used.
            LedgerAway: it does not answer.
        """
        with _said():
            return self._open().transact(work)

    def unknown(self, connection: Connection, name: str) -> UnknownSchedule:
        """Return the error that names what is spelled alike, or says that it was removed."""
        found = schedules.find(connection, self.namespace, name) if is_key(name) else None
        if found is not None and not found.active:
            return RemovedSchedule(name)
        known = schedules.active_names(connection, self.namespace)
        return UnknownSchedule(name, sorted(known | set(self.defined)))

    def row(
        self, connection: Connection, name: str, *, lock: bool = False, removed: bool = False
    ) -> Row[Any] | None:
        """Return the row of a schedule; None for one that is defined here but not registered yet.

        Args:
            connection: any connection.
            name: of the schedule.
            lock: lock the row.
            removed: also one that was removed from the code, whose history stays.

        Raises:
            UnknownSchedule: neither, or it was removed from the code.
        """
        found = None
        if is_key(name):
            found = schedules.find(connection, self.namespace, name, lock=lock)
        if found is not None and (found.active or removed):
            return found
        if found is None and name in self.defined:
            return None
        raise self.unknown(connection, name)

    def unregistered(self, connection: Connection, seen: object) -> tuple[str, ...]:
        """Return the names defined here that have no row in the ledger, in order.

        All names are read only where rows came or went since the last call.

        Args:
            connection: any connection.
            seen: a value that changes when rows come or go.
        """
        before, names = self._unregistered
        defined = self.defined
        now = (seen, len(defined))
        if before != now:
            known = schedules.names(connection, self.namespace)
            names = tuple(sorted(name for name in defined if name not in known))
            self._unregistered = (now, names)
        return names

    def _open(self) -> Ledger:
        ledger = self.state.ledger
        if not self._opened:
            ledger.open()
            self._opened = True
        return ledger


def is_key(text: object) -> bool:
    """Return whether a value can be in the ledger at all: databases refuse some, each its own."""
    if not isinstance(text, str):
        return False
    try:
        return "\x00" not in text and len(text.encode()) <= LONGEST_KEY
    except UnicodeEncodeError:
        return False


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except DBAPIError as exc:
        # Not the whole error: it quotes the statement with its values, payloads too.
        cause = exc.orig if exc.orig is not None else exc
        raise LedgerAway(f"the ledger does not answer: {reason(cause)}") from exc
    except SQLAlchemyError as exc:
        raise LedgerAway(f"the ledger does not answer: {reason(exc)}") from exc
