"""Heartbeat: a thread that refreshes this process's row, and a watch over the rows of others.

Whether a node is gone is judged by the watcher's own monotonic clock: a row that has not changed
for so long. No clock of another machine is trusted (protocol step 8).
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from tsumugi_celery.core.reasons import reason
from tsumugi_celery.ledger import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection, Row

    from tsumugi_celery.engine.clock import Clock
    from tsumugi_celery.ledger.ledger import Ledger

log = logging.getLogger(__name__)

BEAT = "beat"
WORKER = "worker"
#: How far the clock of another process may be off before that is said, ms.
SKEW = 5000
#: Any other process, for as long as it triggers a schedule.
CONTROL = "control"


class Heart:
    """The row of this process, refreshed by a thread until it is stopped.

    Args:
        ledger: where the row is kept.
        namespace: the namespace of the app.
        role: 'beat' or 'worker'.
        interval: seconds between refreshes.
        clock: the time.
        hostname: the node's name; the machine's by default.
        info: gives what the row should tell of this process besides.
        after: called by the thread after each refresh that was written.
    """

    def __init__(  # noqa: PLR0917 - the parts it joins
        self,
        ledger: Ledger,
        namespace: str,
        role: str,
        interval: float,
        clock: Clock,
        hostname: str | None = None,
        info: Callable[[], Mapping[str, Any]] | None = None,
        after: Callable[[str], None] | None = None,
    ) -> None:
        """Choose a random id; nothing is written yet."""
        self.id = uuid.uuid4().hex
        self._ledger = ledger
        self._namespace = namespace
        self._role = role
        self._interval = interval
        self._clock = clock
        self._hostname = hostname or socket.gethostname()
        self._info = info
        self._after = after
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._failing = False

    def start(self) -> None:
        """Write the row, if the ledger is there, and refresh it from a thread from now on."""
        self.refresh()
        self._thread = threading.Thread(
            target=self._run, name=f"tsumugi-{self._role}-heartbeat", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread and note the end, so that nobody has to wait for it."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(self._interval + 1)
        if not self._ledger.exists:
            return
        try:
            with self._ledger.autocommit() as connection:
                nodes.stop(connection, self.id, at=self._clock.now())
        except SQLAlchemyError as exc:
            log.warning("The end of this %s could not be noted: %s", self._role, reason(exc))

    def refresh(self) -> None:
        """Refresh the row once; a ledger that is away is said once, a missing file is not made."""
        if not self._ledger.exists:
            return
        try:
            self._ledger.transact(self._refresh)
        except SQLAlchemyError as exc:
            if not self._failing:
                log.warning(
                    "The heartbeat of this %s cannot be written: %s",
                    self._role,
                    reason(exc),
                    extra={"action": "away"},
                )
            self._failing = True
        else:
            self._failing = False

    def _refresh(self, connection: Connection) -> None:
        now = self._clock.now()
        info = json.dumps(self._info() if self._info is not None else {})
        if not nodes.refresh(connection, self.id, at=now, info=info):
            nodes.register(
                connection,
                id=self.id,
                namespace=self._namespace,
                role=self._role,
                hostname=self._hostname,
                pid=os.getpid(),
                started_at=now,
                seen_at=now,
                info=info,
            )

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            self.refresh()
            if self._after is not None and not self._failing and self._ledger.exists:
                try:
                    self._after(self.id)
                except SQLAlchemyError as exc:
                    log.debug("The ledger went away between two statements: %s", reason(exc))


@dataclass(slots=True)
class _Seen:
    beats: int
    since: float


class Watch:
    """Judges which nodes are gone.

    Args:
        presumed_gone: seconds without a heartbeat after which a worker is taken for gone.
        monotonic: a clock in seconds.
    """

    def __init__(self, presumed_gone: float, monotonic: Callable[[], float]) -> None:
        """Start without having seen anyone."""
        self._after = {WORKER: presumed_gone}
        self._sooner = presumed_gone / 2
        self._longest_gap = presumed_gone / 4
        self._monotonic = monotonic
        self._seen: dict[str, _Seen] = {}
        self._looked: float | None = None
        self._gap = 0.0
        #: By node: how far its clock was ahead of this one at its last heartbeat, ms.
        self.skews: dict[str, int] = {}
        self._said: set[str] = set()
        self.gone: frozenset[str] = frozenset()
        self.live_workers: dict[str, dict[str, Any]] = {}
        self.known_workers = False
        self._roles: dict[str, str] = {}

    def look(self, connection: Connection, namespace: str, now: int | None = None) -> None:
        """Read the rows of all nodes and judge them.

        Args:
            connection: any connection.
            namespace: the namespace of the app.
            now: epoch ms by this machine, to compare the clocks of others with; None: not compared.
        """
        rows = nodes.of_namespace(connection, namespace)
        self._forgive_gap()
        gone = set()
        self.live_workers = {}
        self.known_workers = any(row.role == WORKER for row in rows)
        for row in rows:
            if now is not None:
                self._compare_clock(row, now)
            if row.stopped_at is not None or self._silent(row.id, row.beats, row.role):
                gone.add(row.id)
            elif row.role == WORKER:
                self.live_workers[row.id] = json.loads(row.info or "{}")
        self._roles = {row.id: row.role for row in rows}
        self.gone = frozenset(gone)

    def is_gone(self, node_id: str) -> bool:
        """Return whether a node that holds work is gone; one without a row is, in time."""
        if node_id in self.gone:
            return True
        return node_id not in self._roles and self._silent(node_id, -1, BEAT)

    def _compare_clock(self, row: Row[Any], now: int) -> None:
        seen = self._seen.get(row.id)
        if seen is None or seen.beats == row.beats or self._gap > self._longest_gap:
            return  # only a heartbeat that has just come tells the time over there
        self.skews[row.id] = row.seen_at - now
        if abs(row.seen_at - now) > SKEW and row.id not in self._said:
            self._said.add(row.id)
            log.warning(
                "The clock of %s %s (process %s) is %+.1f s off this one: its due times, expiry "
                "and retries are by its own. Keep the clocks of beats and workers in step.",
                row.role,
                row.hostname,
                row.pid,
                (row.seen_at - now) / 1000,
                extra={"action": "clock.skew"},
            )

    def _forgive_gap(self) -> None:
        """Do not count the time in which this process could not look: nobody could write either."""
        now = self._monotonic()
        self._gap = now - self._looked if self._looked is not None else 0.0
        self._looked = now
        if self._gap > self._longest_gap:
            for seen in self._seen.values():
                seen.since += self._gap

    def _silent(self, node_id: str, beats: int, role: str) -> bool:
        now = self._monotonic()
        seen = self._seen.get(node_id)
        if seen is None or seen.beats != beats:
            self._seen[node_id] = _Seen(beats, now)
            return False
        return now - seen.since >= self._after.get(role, self._sooner)
