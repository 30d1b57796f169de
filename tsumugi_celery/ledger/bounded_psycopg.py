"""A psycopg connection that gives up a server which does not answer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")

#: How long the server may send nothing while an answer is awaited, seconds; psycopg's statements
#: are limited to the same time by the server, so only one that is frozen or unreachable gets here.
SILENCE = 12.0
#: psycopg's word to its generators for "nothing was ready within the interval".
_NOTHING = 0


class BoundedConnection(psycopg.Connection[Any]):
    """As its base, with every wait for the server bounded by `SILENCE`."""

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Run one of psycopg's generators to its end.

        Raises:
            psycopg.OperationalError: the server was silent for too long; the connection is closed.
        """
        return super().wait(self._bounded(gen), *args, **kwargs)

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        deadline = time.monotonic() + SILENCE
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready != _NOTHING:
                    deadline = time.monotonic() + SILENCE
                elif time.monotonic() > deadline:
                    self.pgconn.finish()
                    msg = f"the server has not answered for {SILENCE:g} s"
                    raise psycopg.OperationalError(msg)
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # the generator's own return type
