"""Free ports on the loopback address."""

import random
import socket

# Below the range from which the kernel takes ports for outgoing connections (32768 and up), so that
# no connection takes the port between the look and the server's start.
RANGE = range(15_000, 32_000)


def free_port() -> int:
    """A port nobody listens on now."""
    for port in random.sample(RANGE, 200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError(f"no free port found in {RANGE}")
