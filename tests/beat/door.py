"""A door in front of a server: closed, it refuses connections, as a server that is down does."""

import contextlib
import socket
import threading
from urllib.parse import urlsplit, urlunsplit

from tests.servers.ports import free_port


class Door:
    """A port of its own that leads to a server while it is open.

    Args:
        url: of the server.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 0)
        self.port = free_port()
        user = parts.netloc.rpartition("@")[0]
        place = f"{user}@127.0.0.1:{self.port}" if user else f"127.0.0.1:{self.port}"
        self.url = urlunsplit(parts._replace(netloc=place))
        self._listener: socket.socket | None = None
        self._pairs: list[socket.socket] = []

    def open(self) -> None:
        """Accept connections and pass them on."""
        listener = self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def close(self) -> None:
        """Break all connections and refuse new ones."""
        listener, self._listener = self._listener, None
        for one in [*self._pairs, *([listener] if listener else [])]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._pairs = []

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = listener.accept()
                there = socket.create_connection(self._target)
                self._pairs += [here, there]
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
