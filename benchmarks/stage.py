"""What the measurements stand on: private servers, child processes, and the depth of a queue."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import kombu
import redis

from tests.servers.base import Server
from tests.servers.mariadb import MariaDB
from tests.servers.postgresql import PostgreSQL
from tests.servers.rabbitmq import RabbitMQ
from tests.servers.redis_server import Redis

ROOT = Path(__file__).parents[1]
KINDS: dict[str, Callable[[], Any]] = {
    "redis": Redis,
    "rabbitmq": RabbitMQ,
    "postgresql": PostgreSQL,
    "mariadb": MariaDB,
}


class Stage:
    """Servers that are started when they are first needed, and a folder for files."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tsumugi-bench-", dir="/var/tmp")
        self._servers: dict[str, Any] = {}
        self._missing: set[str] = set()
        self._count = 0

    def close(self) -> None:
        for server in self._servers.values():
            server.close()
        self._folder.cleanup()

    def has(self, kind: str) -> bool:
        """Whether the server's program is installed; it is started."""
        if kind == "sqlite" or kind in self._servers:
            return True
        if kind in self._missing:
            return False
        try:
            server: Server = KINDS[kind]()
        except BaseException as exc:  # a skip of pytest's is no Exception
            if isinstance(exc, KeyboardInterrupt):
                raise
            print(f"{kind} is not installed: its measurements are left out", flush=True)
            self._missing.add(kind)
            return False
        server.start()
        self._servers[kind] = server
        return True

    def server(self, kind: str) -> Any:
        self.has(kind)
        return self._servers[kind]

    def stop(self, kind: str) -> None:
        """End a server that is not needed any more: it would take its share of the cores."""
        server = self._servers.pop(kind, None)
        if server is not None:
            server.close()

    def folder(self) -> Path:
        self._count += 1
        made = Path(self._folder.name) / str(self._count)
        made.mkdir()
        return made

    def database(self, kind: str) -> str:
        """The URL of an empty database."""
        if kind == "sqlite":
            return f"sqlite:///{self.folder() / 'ledger.sqlite3'}"
        self._count += 1
        return str(self.server(kind).create_database(f"bench{self._count}"))

    def broker(self, kind: str) -> str:
        """The URL of an empty broker."""
        server = self.server(kind)
        if kind == "redis":
            return str(server.database_url(server.new_database()))
        return str(server.vhost_url(server.new_vhost()))


@contextmanager
def python(*words: str, **env: str) -> Iterator["subprocess.Popen[str]"]:
    """A child process that is ended afterwards."""
    child = subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if not os.environ.get("BENCH_LOUD") else None,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
    )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextmanager
def depth_of(url: str, queue: str = "celery") -> Iterator[Callable[[], int]]:
    """What tells how many messages are in a queue."""
    if url.startswith("redis"):
        client = redis.Redis.from_url(url)
        yield lambda: int(client.llen(queue))
        client.close()
        return
    with kombu.Connection(url) as connection:

        def depth() -> int:
            with suppress(Exception):
                return int(
                    connection.default_channel.queue_declare(queue, passive=True).message_count
                )
            connection.close()
            return 0

        yield depth


def drain(url: str, queue: str = "celery") -> None:
    """Take all messages from a queue."""
    with kombu.Connection(url) as connection:
        connection.default_channel.queue_purge(queue)


def wait_until(moment: float) -> None:
    """Sleep until a moment of the wall clock."""
    while (left := moment - time.time()) > 0:
        time.sleep(left)
