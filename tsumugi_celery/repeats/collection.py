"""Repeats that the data owns: `tsumugi.repeats(name, binding=…)`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from tsumugi_celery.core.errors import DefinitionError, LedgerAway, LedgerError, Problem
from tsumugi_celery.core.options import whole
from tsumugi_celery.core.reasons import reason
from tsumugi_celery.core.repeat import NotAccepted, check_id
from tsumugi_celery.core.wording import shown
from tsumugi_celery.definitions.tasks import find_task
from tsumugi_celery.ledger import repeat_changes, repeats
from tsumugi_celery.repeats.payload import Payloads
from tsumugi_celery.repeats.rows import Rows
from tsumugi_celery.repeats.views import RepeatView, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import timedelta

    from sqlalchemy import Connection

    from tsumugi_celery.definitions.model import Definition
    from tsumugi_celery.repeats.state import State

T = TypeVar("T")

MAX_LIMIT = 10_000


class Repeats:
    """The repeats of one collection: rows of the ledger, a million of them if need be.

    Every method takes `connection`: an SQLAlchemy connection or session of the database that the
    ledger is in. Its work is then part of the caller's transaction: a user's row and their repeat
    are committed together or not at all. Without it each call is a transaction of its own.

    Every method may raise LedgerError when the ledger cannot be used, and LedgerAway (one of them)
    when it does not answer.

    Args:
        state: what is known of the app.
        definition: what the repeats of the collection have in common.
    """

    def __init__(self, state: State, definition: Definition) -> None:
        """Hold both; nothing is connected."""
        self._state = state
        # The state refers to its app weakly; who holds the repeats holds the app.
        self._app = state.app
        self._definition = definition
        self._rows: Rows | None = None
        self._opened = False

    @property
    def name(self) -> str:
        """The name of the collection."""
        return self._definition.name

    def set(
        self,
        id: str,  # noqa: A002 - the word that the contract uses
        payload: Any,
        *,
        every: str | timedelta | None = None,
        cron: str | None = None,
        time_zone: str | None = None,
        connection: Connection | Session | None = None,
    ) -> None:
        """Add a repeat, or replace payload and times of one that exists.

        One whose times are unchanged keeps its next time, and a paused one stays paused. A run
        that is under way goes on with what it was started with.

        Args:
            id: 1 to 1024 bytes of text.
            payload: JSON. A dict becomes keyword arguments, a list positional ones, anything else
                one positional argument.
            every: `"30s"`, `"15m"`, `"1h"`, `"1d"`, or a timedelta; one second or more.
            cron: five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`.
            time_zone: the IANA name of the zone that `cron` is read in; required beside it.
            connection: the caller's transaction.

        Raises:
            DefinitionError: naming all that is wrong.
        """
        times = {"every": every, "cron": cron, "time_zone": time_zone}
        row = self._maker().make(id, payload, **times, now=self._state.clock.now())
        self._write(connection, lambda open_: repeats.upsert(open_, [row]))

    def set_many(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        batch: int = 1000,
        connection: Connection | Session | None = None,
    ) -> int:
        """Set many repeats, each batch in one statement and transaction.

        Args:
            items: mappings with the arguments of `set`: id, payload, and every, or cron and
                time_zone. Read as it goes, so it may be a generator over a table.
            batch: how many are written together.
            connection: the caller's transaction, which then takes all batches.

        Returns:
            How many were set.

        Raises:
            DefinitionError: an item is wrong; the batches before its own are written.
        """
        if not whole(batch, 1, 100_000):
            raise _refused(self.name, "batch", batch, "an integer from 1 to 100000")
        maker, total = self._maker(), 0
        rows: dict[str, dict[str, Any]] = {}
        for item in items:
            row = maker.make(**_arguments(self.name, item), now=self._state.clock.now())
            # One statement must not change a row twice; the last one wins, as with `set`.
            rows[row["name"]] = row
            total += 1
            if len(rows) >= batch:
                self._write_batch(connection, rows)
        self._write_batch(connection, rows)
        return total

    def get(self, id: str, *, connection: Connection | Session | None = None) -> RepeatView | None:  # noqa: A002
        """Return a repeat; None where none has this id."""
        if not _is_id(id):
            return None
        row = self._read(
            connection, lambda open_: repeats.find(open_, self._namespace, self.name, id)
        )
        return None if row is None else view_of(row)

    def list(
        self,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int = 100,
        connection: Connection | Session | None = None,
    ) -> list[RepeatView]:
        """Return repeats in the order of their ids' bytes.

        Args:
            prefix: only ids that begin so.
            after: only ids behind this one: the last of the page before.
            limit: how many at the most, up to 10 000.
            connection: the caller's transaction.

        Raises:
            DefinitionError: the limit is none, or no id can be so.
        """
        if not whole(limit, 1, MAX_LIMIT):
            raise _refused(self.name, "limit", limit, f"an integer from 1 to {MAX_LIMIT}")
        self._check_part("prefix", prefix)
        self._check_part("after", after or "")
        rows = self._read(
            connection,
            lambda open_: repeats.page(
                open_, self._namespace, self.name, prefix=prefix, after=after, limit=limit
            ),
        )
        return [view_of(row) for row in rows]

    def count(self, *, prefix: str = "", connection: Connection | Session | None = None) -> int:
        """Return how many repeats there are.

        Raises:
            DefinitionError: no id can begin with the prefix.
        """
        self._check_part("prefix", prefix)
        return self._read(
            connection,
            lambda open_: repeats.count(open_, self._namespace, self.name, prefix=prefix),
        )

    def cancel(self, id: str, *, connection: Connection | Session | None = None) -> bool:  # noqa: A002
        """End a repeat; a run under way finishes. Return whether there was one."""
        return _is_id(id) and self._write(
            connection, lambda open_: repeat_changes.cancel(open_, self._namespace, self.name, id)
        )

    def pause(self, id: str, *, connection: Connection | Session | None = None) -> bool:  # noqa: A002
        """Let a repeat rest; a run under way finishes. Return whether there is one."""
        now = self._state.clock.now()
        return _is_id(id) and self._write(
            connection,
            lambda open_: repeat_changes.pause(open_, self._namespace, self.name, id, now=now),
        )

    def resume(self, id: str, *, connection: Connection | Session | None = None) -> bool:  # noqa: A002
        """Let a repeat run again, from its first time after now. Return whether there is one."""
        now = self._state.clock.now()
        return _is_id(id) and self._write(
            connection,
            lambda open_: repeat_changes.resume(open_, self._namespace, self.name, id, now=now),
        )

    @property
    def _namespace(self) -> str:
        return self._state.namespace

    def _check_part(self, key: str, value: object) -> None:
        try:
            check_id(value or "any")
        except NotAccepted as error:
            raise _refused(self.name, key, value, error.accepted) from None

    def _maker(self) -> Rows:
        if self._rows is None:
            task = str(self._definition.task)
            found = find_task(self._state.app, task)
            payloads = Payloads(task, found.header if found is not None else None)
            made = Rows(self._namespace, self._definition, payloads)
            if found is None:
                return made  # its module may yet be imported, and then payloads are checked
            self._rows = made
        return self._rows

    def _write_batch(
        self, connection: Connection | Session | None, rows: dict[str, dict[str, Any]]
    ) -> None:
        batch = [rows[name] for name in sorted(rows)]  # in order, so that nobody deadlocks
        rows.clear()
        if batch:
            self._write(connection, lambda open_: repeats.upsert(open_, batch))

    def _write(self, given: Connection | Session | None, work: Callable[[Connection], T]) -> T:
        with _said():
            if given is not None:
                return work(_connection(given))
            self._open()
            return self._state.ledger.transact(work)

    def _read(self, given: Connection | Session | None, work: Callable[[Connection], T]) -> T:
        with _said():
            if given is not None:
                return work(_connection(given))
            self._open()
            with self._state.ledger.read() as connection:
                return work(connection)

    def _open(self) -> None:
        if not self._opened:
            self._state.ledger.open()
            self._opened = True


def _is_id(value: object) -> bool:
    try:
        check_id(value)
    except NotAccepted:
        return False
    return True


def _connection(given: Connection | Session) -> Connection:
    return given.connection() if isinstance(given, Session) else given


def _arguments(collection: str, item: Any) -> dict[str, Any]:
    accepted = "a dict with id, payload, and every, or cron and time_zone"
    try:
        given = dict(item)
        identifier, payload = given.pop("id"), given.pop("payload")
    except (TypeError, ValueError, KeyError):
        raise _refused(collection, "item", item, accepted) from None
    times = {key: given.pop(key, None) for key in ("every", "cron", "time_zone")}
    if given:
        raise _refused(collection, str(next(iter(given))), item, accepted)
    return {"identifier": identifier, "payload": payload, **times}


def _refused(collection: str, key: str, got: object, accepted: str) -> DefinitionError:
    return DefinitionError([Problem(f"repeats {collection!r}", key, shown(got), accepted)])


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except (OperationalError, ProgrammingError) as exc:
        text = str(exc.orig).lower()
        if "tsumugi_" in text and any(word in text for word in ("no such", "exist", "relation")):
            raise LedgerError(
                "the database of this connection has no ledger; give a connection of the database "
                "that tsumugi_database_url names, after: celery -A <your app> tsumugi migrate"
            ) from exc
        raise LedgerAway(f"the ledger does not answer: {reason(exc.orig or exc)}") from exc
    except DBAPIError as exc:
        raise LedgerAway(f"the ledger does not answer: {reason(exc.orig or exc)}") from exc
