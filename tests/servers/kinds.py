"""What a test of all databases, or of all brokers, is given."""

from dataclasses import dataclass, field
from typing import Any

from tests.servers.base import Server


@dataclass(frozen=True)
class Database:
    """A fresh, empty database.

    Attributes:
        kind: "sqlite", "postgresql" or "mariadb".
        url: for SQLAlchemy.
        server: what a test may kill or freeze; SQLite has none.
    """

    kind: str
    url: str
    server: Server | None = None


@dataclass(frozen=True)
class Broker:
    """A fresh, empty broker.

    Attributes:
        kind: "filesystem", "redis" or "rabbitmq".
        url: for Celery's `broker_url`.
        transport_options: for Celery's `broker_transport_options`.
        server: what a test may kill or freeze; the file system has none.
    """

    kind: str
    url: str
    transport_options: dict[str, Any] = field(default_factory=dict)
    server: Server | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The Celery settings that lead to this broker."""
        return {"broker_url": self.url, "broker_transport_options": self.transport_options}
