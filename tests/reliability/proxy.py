"""A TCP proxy whose line a test can cut, and an address that takes calls and never answers."""

import contextlib
import socket
import threading
from collections.abc import Iterator


class Proxy:
    """Forwards one loopback port to another until it is cut.

    Args:
        target: the port that is really meant.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.whole = True
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all connections; new ones are ended at once."""
        self.whole = False
        open_now, self._open = self._open, []
        for one in open_now:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Forward new connections again."""
        self.whole = True

    def close(self) -> None:
        """Break everything for good."""
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                if not self.whole:
                    caller.close()
                    continue
                callee = socket.create_connection(("127.0.0.1", self.target))
                self._open += [caller, callee]
                for ends in ((caller, callee), (callee, caller)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """A port where connections succeed (the kernel takes them) and no byte ever comes back."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield listener.getsockname()[1]
