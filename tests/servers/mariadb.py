"""A private MariaDB."""

import contextlib
import getpass

import pymysql

from tests.servers.base import Server
from tests.servers.binaries import require_binary


class MariaDB(Server):
    """The installed MariaDB; user root, no password."""

    name = "mariadb"

    def __init__(self) -> None:
        self.binary = require_binary("mariadbd", places=("/usr/sbin", "/usr/libexec"))
        self.installer = require_binary("mariadb-install-db", "mysql_install_db")
        super().__init__()
        self.data = self.folder / "data"

    @property
    def url(self) -> str:
        return self.database_url("mysql")

    def database_url(self, name: str) -> str:
        """The SQLAlchemy URL of one database."""
        return f"mysql+pymysql://root@127.0.0.1:{self.port}/{name}?charset=utf8mb4"

    def prepare(self) -> None:
        self.run(
            self.installer,
            "--no-defaults",
            f"--user={getpass.getuser()}",
            f"--datadir={self.data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )

    def command(self) -> list[str]:
        return [
            self.binary,
            "--no-defaults",
            f"--user={getpass.getuser()}",  # it refuses to run as root unless told so
            f"--datadir={self.data}",
            f"--socket={self.folder / 'server.sock'}",
            f"--pid-file={self.folder / 'server.pid'}",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--skip-name-resolve",
            "--character-set-server=utf8mb4",
            "--max-connections=200",
            "--innodb-buffer-pool-size=32M",
            "--innodb-log-file-size=16M",
            # Written at each commit, flushed once a second: a killed server loses nothing.
            "--innodb-flush-log-at-trx-commit=2",
        ]

    def answers(self) -> bool:
        self.execute("SELECT 1")
        return True

    def create_database(self, name: str) -> str:
        """Create an empty database and return its SQLAlchemy URL."""
        self.execute(f"CREATE DATABASE `{name}`")
        return self.database_url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, ending the sessions that still use it: their locks hold up the drop."""
        sessions = f"SELECT id FROM information_schema.processlist WHERE db = '{name}'"
        for (session,) in self.execute(sessions):
            with contextlib.suppress(pymysql.err.OperationalError):  # it has just ended by itself
                self.execute(f"KILL {session}")
        self.execute(f"DROP DATABASE IF EXISTS `{name}`")

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run one statement and return its rows."""
        connection = pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", connect_timeout=5, autocommit=True
        )
        with connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())
