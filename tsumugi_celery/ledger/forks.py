"""Forks: no SQLite connection is carried into a child.

SQLite keeps the locks of its files in the memory of the process. A child that inherits them sees
locks that nobody will release, or file numbers that something else has closed ("locking protocol").
So all connections are closed before a fork, and whoever wants one meanwhile waits for its end
(decision 0037). The servers' connections are only never used by the child.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How long a fork waits for the transactions of other threads, seconds; they are all short.
PATIENCE = 10.0


class Closable(Protocol):
    """What can give back its connections."""

    def close(self) -> None:
        """Give back all connections; the next use opens new ones."""


class Gate:
    """Knows which threads use a connection, and keeps them and forks apart.

    Args:
        ledger: closed before a fork.
    """

    def __init__(self, ledger: Closable) -> None:
        """Be open, with nobody inside."""
        self._ledger = weakref.ref(ledger)
        self.renew()
        _gates.add(self)

    def renew(self) -> None:
        """Begin anew in a child: the threads that were inside do not exist there."""
        self._changed = threading.Condition()
        self._inside: Counter[int] = Counter()
        self._forking = False

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be inside while a connection is in use; a thread that is inside may enter again."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._forking or me in self._inside, PATIENCE)
            self._inside[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                if not self._inside[me]:
                    del self._inside[me]
                    self._changed.notify_all()

    def before_fork(self) -> None:
        """Let nobody enter, wait until all have left, and close the connections."""
        with self._changed:
            self._forking = True
            alone = self._changed.wait_for(lambda: not self._inside, self._patience())
        ledger = self._ledger()
        if alone and ledger is not None:
            ledger.close()

    def after_fork(self) -> None:
        """Let them enter again, in the parent."""
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def _patience(self) -> float:
        # A thread that forks in the middle of its own transaction would wait for itself.
        return 0.0 if threading.get_ident() in self._inside else PATIENCE


_gates: weakref.WeakSet[Gate] = weakref.WeakSet()


def _before() -> None:
    for gate in list(_gates):
        gate.before_fork()


def _in_parent() -> None:
    for gate in list(_gates):
        gate.after_fork()


def _in_child() -> None:
    for gate in list(_gates):
        gate.renew()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
