"""A private PostgreSQL."""

import signal
from pathlib import Path

import psycopg

from tests.servers.base import Server
from tests.servers.binaries import require_binary

# fsync matters when the machine loses power. What a killed server wrote, the kernel still has.
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 32MB
fsync = off
full_page_writes = off
"""


class PostgreSQL(Server):
    """The installed PostgreSQL of the highest version; user postgres, no password."""

    name = "postgresql"
    stop_signal = signal.SIGINT  # "fast": ends the sessions of clients that are still there
    users_instead_of_root = ("postgres", "nobody")

    def __init__(self) -> None:
        self.binary = require_binary("postgres", places=("/usr/lib/postgresql/*/bin",))
        super().__init__()
        self.data = self.folder / "data"

    @property
    def url(self) -> str:
        return self.database_url("postgres")

    def database_url(self, name: str) -> str:
        """The SQLAlchemy URL of one database."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{name}"

    def prepare(self) -> None:
        initdb = str(Path(self.binary).with_name("initdb"))
        plain = (
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )
        self.run(initdb, f"--pgdata={self.data}", *plain)
        with (self.data / "postgresql.conf").open("a") as config:
            config.write(SETTINGS)

    def command(self) -> list[str]:
        return [self.binary, "-D", str(self.data), "-p", str(self.port)]

    def answers(self) -> bool:
        self.execute("SELECT 1")
        return True

    def create_database(self, name: str) -> str:
        """Create an empty database and return its SQLAlchemy URL."""
        self.execute(f'CREATE DATABASE "{name}"')
        return self.database_url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, ending the sessions that still use it."""
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def execute(self, statement: str) -> None:
        """Run one statement outside a transaction."""
        where = f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres connect_timeout=5"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(statement.encode())
