"""Waiting for something to become true, with a useful error when it does not."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Logged(Protocol):
    """Something that can say the end of its log: a server or a process of a project."""

    @property
    def name(self) -> str: ...

    def tail(self, lines: int = ...) -> str: ...


def wait_for(
    predicate: Callable[[], T],
    timeout: float = 20,
    *,
    what: str = "",
    logs: Sequence[Logged] = (),
    interval: float = 0.02,
) -> T:
    """Call `predicate` until it returns something true, and return that.

    Args:
        predicate: asked every `interval` seconds; what it raises ends the wait.
        timeout: seconds until the wait fails.
        what: words for the error message.
        logs: servers or processes whose log tails belong in the error message.
        interval: seconds between two calls.

    Raises:
        AssertionError: not true in time; with the last value and the log tails.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            break
        time.sleep(interval)
    tails = "".join(f"\n--- {one.name}\n{one.tail()}" for one in logs)
    name = what or getattr(predicate, "__name__", repr(predicate))
    raise AssertionError(f"not within {timeout} s: {name}; last value {value!r}{tails}")
