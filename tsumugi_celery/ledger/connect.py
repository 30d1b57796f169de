"""Connections to the ledger: the one place where databases differ."""

from __future__ import annotations

import os
import sqlite3
import time
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import ArgumentError, DisconnectionError, NoSuchModuleError
from sqlalchemy.pool import QueuePool

from tsumugi_celery.core.errors import LedgerError

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

#: How long SQLite waits for another writer, and the servers for a connection, in seconds.
BUSY_TIMEOUT = 5
CONNECT_TIMEOUT = 3
#: How long a statement or a network read may take before the connection is given up, seconds.
#: Less than `tsumugi_presumed_gone`, so that a worker is back before it is taken for gone.
READ_TIMEOUT = 10
#: A connection that was used this recently is taken to be alive, seconds.
RESTED = 1.0

ALIASES = {"mariadb": "mysql", "postgres": "postgresql"}
SUPPORTED = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


def read_url(text: object) -> URL:
    """Return the database URL with the driver this package is tested with.

    Args:
        text: an SQLAlchemy URL; without a driver, psycopg and PyMySQL are taken.

    Raises:
        LedgerError: not a URL, or a database that is not supported.
    """
    example = "Accepted: sqlite:///file, postgresql://…, mysql://… or mariadb://…"
    if not isinstance(text, (str, URL)):
        msg = f"tsumugi_database_url is {text!r}, which is no URL. {example}."
        raise LedgerError(msg)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as exc:
        msg = (
            f"tsumugi_database_url cannot be read as a database URL. {example}; "
            "see SQLAlchemy's Database URLs."
        )
        raise LedgerError(msg) from exc
    name, _, driver = url.drivername.partition("+")
    backend = ALIASES.get(name, name)
    if backend not in SUPPORTED:
        msg = (
            f"tsumugi_database_url names the database {name!r}, which is not supported. {example}."
        )
        raise LedgerError(msg)
    url = url.set(drivername=f"{backend}+{driver}" if driver else SUPPORTED[backend])
    if backend == "mysql" and "charset" not in url.query:
        url = url.update_query_dict({"charset": "utf8mb4"})
    return url


def make_engine(url: URL, *, autocommit: bool = False) -> Engine:
    """Return an engine for the URL; nothing is connected yet.

    Args:
        url: from `read_url`.
        autocommit: each statement is a transaction, on connections that are always so: switching
            them, asking whether they live and rolling back cost a round trip each (decision 0091).

    Raises:
        LedgerError: the driver is not installed.
    """
    backend = url.get_backend_name()
    options: dict[str, Any] = {"pool_pre_ping": backend != "sqlite", "poolclass": QueuePool}
    if backend == "sqlite":
        if url.database in {None, "", ":memory:"}:
            msg = (
                "tsumugi_database_url names an SQLite database in memory, which other processes "
                "cannot share. Accepted: a file, such as sqlite:///tsumugi.sqlite3."
            )
            raise LedgerError(msg)
        options["connect_args"] = {"timeout": BUSY_TIMEOUT, "check_same_thread": False}
    elif backend == "postgresql":
        options["connect_args"] = {
            "connect_timeout": CONNECT_TIMEOUT,
            "keepalives_idle": READ_TIMEOUT,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": READ_TIMEOUT * 1000,
            "options": f"-c lock_timeout={BUSY_TIMEOUT * 1000}"
            f" -c statement_timeout={READ_TIMEOUT * 1000}"
            " -c idle_in_transaction_session_timeout=60000 -c timezone=UTC",
        }
    else:
        # READ COMMITTED: InnoDB's default takes gap locks, over which two claims deadlock.
        options["isolation_level"] = "READ COMMITTED"
        options["connect_args"] = {
            "connect_timeout": CONNECT_TIMEOUT,
            "read_timeout": READ_TIMEOUT,
            "write_timeout": READ_TIMEOUT,
            "init_command": f"SET innodb_lock_wait_timeout={BUSY_TIMEOUT}",
        }
    if backend != "sqlite":
        options |= {"pool_size": 5, "max_overflow": 10, "pool_timeout": 10}
    if autocommit:
        options |= _autocommit_options()
    try:
        engine = create_engine(url, **options)
    except (ModuleNotFoundError, NoSuchModuleError) as exc:
        extra = {"postgresql": "postgres", "mysql": "mysql"}.get(backend, backend)
        msg = (
            f"The driver of tsumugi_database_url ({url.drivername}) is not installed: {exc}. "
            f"Install it with: pip install 'tsumugi-celery[{extra}]'."
        )
        raise LedgerError(msg) from exc
    if backend == "sqlite":
        _set_up_sqlite(engine, autocommit=autocommit)
    elif engine.dialect.driver == "psycopg":
        _bound_psycopg(engine)
    if autocommit and backend != "sqlite":
        _set_up_autocommit(engine)
    return engine


def shown(url: URL) -> str:
    """Return the URL without its password; a relative SQLite path is shown in full."""
    if url.get_backend_name() == "sqlite" and url.database:
        return f"sqlite:///{Path(url.database).absolute()}"
    return url.render_as_string(hide_password=True)


def file_of(url: URL) -> Path | None:
    """Return the file of an SQLite database, which would be made where it is not there."""
    if url.get_backend_name() != "sqlite" or not url.database or url.database.startswith("file:"):
        return None
    return Path(url.database)


def check_sqlite_folder(url: URL) -> None:
    """Say clearly what SQLite would only call 'unable to open database file'.

    Raises:
        LedgerError: the folder of the file is missing or cannot be written to.
    """
    file = file_of(url)
    if file is None:
        return
    path = file.absolute()
    if not path.parent.is_dir():
        problem = f"its folder {path.parent} does not exist. Make the folder"
    elif path.is_dir():
        problem = "it is a folder. Name a file in it"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        problem = "it cannot be written to by this user. Give the right to write"
    else:
        return
    msg = (
        f"The ledger cannot be kept in {path}: {problem}, "
        "or set tsumugi_database_url to another place."
    )
    raise LedgerError(msg)


def _set_up_sqlite(engine: Engine, *, autocommit: bool) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: DBAPIConnection, _record: object) -> None:
        assert isinstance(connection, sqlite3.Connection)  # noqa: S101 - for the type checker
        # The driver must not open transactions by itself: they begin with IMMEDIATE below.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT * 1000}")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    if autocommit:
        return

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        reads = connection.get_execution_options().get("tsumugi_read")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _bound_psycopg(engine: Engine) -> None:
    # libpq has no time limit for an answer: a server that is frozen keeps its TCP connections
    # alive, so neither keepalives nor tcp_user_timeout end the wait.
    from tsumugi_celery.ledger.bounded_psycopg import BoundedConnection  # noqa: PLC0415

    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: object, _record: object, args: Any, kwargs: Any) -> BoundedConnection:
        return BoundedConnection.connect(*args, **kwargs)


def _autocommit_options() -> dict[str, Any]:
    options: dict[str, Any] = {
        "isolation_level": "AUTOCOMMIT",
        "pool_pre_ping": False,
        "pool_reset_on_return": None,
    }
    if "skip_autocommit_rollback" in signature(DefaultDialect.__init__).parameters:
        options["skip_autocommit_rollback"] = True  # SQLAlchemy 2.0.43 and newer
    return options


def _set_up_autocommit(engine: Engine) -> None:
    """Ask a connection whether it lives only if it was not used just now.

    One that breaks in between fails its statement, as one that breaks during it does.
    """
    dialect = engine.dialect

    @event.listens_for(engine, "checkin")
    def _rest(_connection: object, record: Any) -> None:
        record.info["rests_since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _ask(connection: Any, record: Any, _proxy: object) -> None:
        since = record.info.get("rests_since")
        if since is None or time.monotonic() - since < RESTED:
            return
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as exc:
            if not dialect.is_disconnect(exc, connection, None):
                raise
            raise DisconnectionError from exc

    if dialect.name == "mysql":
        _read_committed(engine)


def _read_committed(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _connect(connection: DBAPIConnection, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        cursor.close()
