"""A private Redis."""

import redis

from tests.servers.base import Server
from tests.servers.binaries import require_binary

DATABASES = 1024


class Redis(Server):
    """The installed Redis (or Valkey); its data outlives a kill, as a broker's should."""

    name = "redis"

    def __init__(self) -> None:
        self.binary = require_binary("redis-server", "valkey-server")
        super().__init__()
        self._last_database = 0

    @property
    def url(self) -> str:
        return self.database_url(0)

    def database_url(self, number: int) -> str:
        """The URL of one numbered database."""
        return f"redis://127.0.0.1:{self.port}/{number}"

    def prepare(self) -> None:
        """Redis needs nothing."""

    def command(self) -> list[str]:
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "databases": str(DATABASES),
            "save": "",
            "appendonly": "yes",
        }
        return [
            self.binary,
            *(word for key, value in options.items() for word in (f"--{key}", value)),
        ]

    def answers(self) -> bool:
        return self.client(0).ping() is True

    def new_database(self) -> int:
        """The number of an empty database that no test has used yet."""
        self._last_database += 1
        if self._last_database == DATABASES:
            raise RuntimeError(f"all {DATABASES} databases are used; raise DATABASES in {__file__}")
        return self._last_database

    def client(self, number: int) -> "redis.Redis":
        """A client of one numbered database."""
        return redis.Redis.from_url(self.database_url(number), socket_timeout=5)
