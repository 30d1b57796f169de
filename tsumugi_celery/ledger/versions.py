"""The version of the tables: made in an empty database, else compared, never guessed."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError, OperationalError

from tsumugi_celery.core.errors import LedgerError
from tsumugi_celery.ledger import schema

if TYPE_CHECKING:
    from tsumugi_celery.ledger.ledger import Ledger

VERSION_TABLE = "tsumugi_version"
#: The newest migration; a test compares it with the folder of migrations.
HEAD = "0001"
_MIGRATIONS = Path(__file__).parent / "migrations"
#: A number of this package, for PostgreSQL's advisory locks.
_ADVISORY_LOCK = 0x7473756D


def open_database(ledger: Ledger) -> None:
    """Make the tables in an empty database, or check their version.

    Raises:
        LedgerError: away, not a database, of another version, or of another program.
    """
    try:
        with ledger.read() as connection:
            found, strangers = _look(connection)
        if found is None and strangers:
            # Another process may be in the midst of making them, which is no transaction on MySQL.
            with ledger.engine.connect() as connection, _exclusively(connection):
                found, strangers = _look(connection)
    except DBAPIError as exc:
        msg = (
            f"The ledger {ledger} cannot be opened: {_one_line(exc.orig)}. Check that the database "
            "runs and that tsumugi_database_url names it."
        )
        raise LedgerError(msg) from exc
    if found is None and strangers:
        msg = (
            f"The database {ledger} has the tables {', '.join(strangers)} but no {VERSION_TABLE}: "
            "they were not made by this package. Set tsumugi_database_url to another database."
        )
        raise LedgerError(msg)
    if found is None:
        upgrade(ledger)
    elif found != HEAD:
        raise LedgerError(_mismatch(ledger, found))


def _look(connection: Connection) -> tuple[str | None, list[str]]:
    """Return the version, and without one the tables that have our names all the same."""
    found = current(connection)
    return found, _ours(connection) if found is None else []


def current(connection: Connection) -> str | None:
    """Return the version of the tables, or None where there are none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one_or_none()  # noqa: S608


def upgrade(ledger: Ledger) -> tuple[str | None, str]:
    """Apply the migrations that are missing.

    Returns:
        The version before (None for an empty database) and the version now.

    Raises:
        LedgerError: the tables are of a newer version, or a migration failed.
    """
    # Alembic tells of every plugin it loads; beat's log is for the schedules.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    # Imported here: at 0.2 s it would slow every start for the sake of the first.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    try:
        with (
            ledger.in_use(),
            ledger.engine.connect() as connection,
            _exclusively(connection),
        ):
            before = current(connection)
            if before is not None and before > HEAD:
                raise LedgerError(_mismatch(ledger, before))
            connection.rollback()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except OperationalError as exc:
        msg = (
            f"The tables of the ledger {ledger} could not be brought to version {HEAD}: "
            f"{_one_line(exc.orig)}."
        )
        raise LedgerError(msg) from exc
    return before, HEAD


class _exclusively:  # noqa: N801 - reads as a statement
    """Let one process at a time migrate; the others wait, then find the work done."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.dialect = connection.dialect.name

    def __enter__(self) -> None:
        if self.dialect == "postgresql":
            self.connection.execute(text("SET lock_timeout = 60000"))
            self.connection.execute(text(f"SELECT pg_advisory_lock({_ADVISORY_LOCK})"))
        elif self.dialect in {"mysql", "mariadb"}:
            self.connection.execute(text(f"SELECT GET_LOCK('{VERSION_TABLE}', 60)"))
        self.connection.commit()

    def __exit__(self, *_exc: object) -> None:
        self.connection.rollback()
        if self.dialect == "postgresql":
            self.connection.execute(text(f"SELECT pg_advisory_unlock({_ADVISORY_LOCK})"))
        elif self.dialect in {"mysql", "mariadb"}:
            self.connection.execute(text(f"SELECT RELEASE_LOCK('{VERSION_TABLE}')"))
        self.connection.commit()


def _one_line(error: object) -> str:
    return " ".join(str(error).split()).rstrip(".?")


def _ours(connection: Connection) -> list[str]:
    return sorted(set(inspect(connection).get_table_names()) & set(schema.metadata.tables))


def _mismatch(ledger: Ledger, found: str) -> str:
    if found > HEAD:
        return (
            f"The tables of the ledger {ledger} are of version {found}; this tsumugi-celery knows "
            f"versions up to {HEAD}. Install the tsumugi-celery that made them, or a newer one."
        )
    return (
        f"The tables of the ledger {ledger} are of version {found}; this tsumugi-celery needs "
        f"version {HEAD}. Back up the database, then run: celery -A <your app> tsumugi migrate"
    )
