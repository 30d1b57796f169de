"""The ledger: an engine that survives forks, and transactions that are tried again."""

from __future__ import annotations

import os
import threading
import uuid
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from tsumugi_celery.ledger import connect, schema, versions
from tsumugi_celery.ledger.forks import Gate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

T = TypeVar("T")

#: SQLSTATEs and MySQL numbers of a transaction that lost against another and may be repeated.
_LOST = {"40001", "40P01", "55P03"}
_LOST_MYSQL = {1205, 1213, 1020}
#: How often a transaction that lost is repeated before the error is passed on.
REPEATS = 5


class Ledger:
    """One database, for this process and for the children it forks.

    Args:
        url: an SQLAlchemy database URL.
    """

    def __init__(self, url: object) -> None:
        """Read the URL; nothing is connected yet."""
        self.url = connect.read_url(url)
        # Each job asks whether it is there.
        self._file = connect.file_of(self.url)
        self._engines: dict[bool, Engine] = {}
        self._pid = 0
        self._id: str | None = None
        self._inherited: list[Engine] = []
        self._lock = threading.Lock()
        self._gate = Gate(self) if self.dialect == "sqlite" else None
        os.register_at_fork(after_in_child=self._new_lock)

    def __str__(self) -> str:
        """Return the URL without its password."""
        return connect.shown(self.url)

    def _new_lock(self) -> None:
        # The lock may have been held by a thread that does not exist in the child.
        self._lock = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether there may be a ledger; False only where its SQLite file is not there (yet)."""
        return self._file is None or self._file.exists()

    @property
    def dialect(self) -> str:
        """The name of the database: sqlite, postgresql or mysql (also for MariaDB)."""
        return self.url.get_backend_name()

    @property
    def engine(self) -> Engine:
        """The engine of this process: a forked child must not use its parent's connections."""
        return self._engine_of(autocommit=False)

    def _engine_of(self, *, autocommit: bool) -> Engine:
        engine = self._engines.get(autocommit)
        if engine is None or self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    # Kept, since collecting the parent's connections would close them.
                    self._inherited += self._engines.values()
                    self._engines = {}
                    self._pid = os.getpid()
                engine = self._engines.get(autocommit)
                if engine is None:
                    engine = connect.make_engine(self.url, autocommit=autocommit)
                    self._engines[autocommit] = engine
        return engine

    def close(self) -> None:
        """Give back all connections; the next use opens new ones."""
        engines, self._engines = self._engines, {}
        if self._pid == os.getpid():
            for engine in engines.values():
                engine.dispose()
        else:
            self._inherited += engines.values()

    def open(self) -> None:
        """Make the tables in an empty database, or check that their version is this package's.

        Raises:
            LedgerError: the database cannot be used, with the next step.
        """
        connect.check_sqlite_folder(self.url)
        versions.open_database(self)

    @property
    def id(self) -> str:
        """The random id of this ledger, made once and kept in it."""
        if self._id is None:
            self._id = self.transact(_ledger_id)
        return self._id

    def in_use(self) -> AbstractContextManager[None]:
        """Keep forks away while a connection of the engine is in use."""
        return nullcontext() if self._gate is None else self._gate.inside()

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Open a transaction that writes."""
        with self.in_use(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads; on SQLite it waits for no writer."""
        with (
            self.in_use(),
            self.engine.connect().execution_options(tsumugi_read=True) as connection,
        ):
            yield connection

    @contextmanager
    def autocommit(self) -> Iterator[Connection]:
        """Open a connection on which each statement is a transaction: one round trip each."""
        with self.in_use(), self._engine_of(autocommit=True).connect() as connection:
            yield connection

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction; repeat it when it loses against another one.

        Args:
            work: gets the connection; may run more than once, so it changes nothing but the ledger.

        Raises:
            DBAPIError: the database is away, or the transaction lost again and again.
        """
        return self._repeated(self.begin, work)

    def once(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which makes one statement; repeat it when it loses against another one.

        Raises:
            DBAPIError: the database is away, or the statement lost again and again.
        """
        return self._repeated(self.autocommit, work)

    def _repeated(
        self,
        opened: Callable[[], AbstractContextManager[Connection]],
        work: Callable[[Connection], T],
    ) -> T:
        for remaining in range(REPEATS, -1, -1):
            try:
                with opened() as connection:
                    return work(connection)
            except DBAPIError as exc:
                if not (remaining and lost(exc)):
                    raise
        raise AssertionError  # pragma: no cover - the last pass returns or raises


def lost(error: DBAPIError) -> bool:
    """Return whether the database ended the transaction in favour of another one."""
    original = error.orig
    if getattr(original, "sqlstate", None) in _LOST:
        return True
    args: tuple[object, ...] = getattr(original, "args", ())
    return bool(args) and args[0] in _LOST_MYSQL


def _ledger_id(connection: Connection) -> str:
    query = select(schema.meta.c.value).where(schema.meta.c.key == "ledger_id")
    found = connection.execute(query).scalar_one_or_none()
    if found is not None:
        return str(found)
    made = uuid.uuid4().hex
    try:
        with connection.begin_nested():
            connection.execute(insert(schema.meta).values(key="ledger_id", value=made))
    except IntegrityError:
        return str(connection.execute(query).scalar_one())
    return made
