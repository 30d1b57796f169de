"""Private database servers and brokers, started from the installed binaries."""

from tests.servers.base import Server
from tests.servers.binaries import require_binary
from tests.servers.kinds import Broker, Database

__all__ = ["Broker", "Database", "Server", "require_binary"]
