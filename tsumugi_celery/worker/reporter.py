"""The reporter: writes reports at once, or later while the ledger is away (protocol step 9)."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from tsumugi_celery.core.reasons import reason
from tsumugi_celery.worker.report import Single

if TYPE_CHECKING:
    from tsumugi_celery.ledger.ledger import Ledger
    from tsumugi_celery.worker.report import Change

log = logging.getLogger(__name__)

#: Seconds between two tries while the ledger is away.
WAIT = 1.0
#: How long an ending process goes on trying, seconds.
LAST_TRIES = 30.0


class Reporter:
    """Takes reports in order; none is dropped while the process lives."""

    def __init__(self) -> None:
        """Start with nothing to report and no thread."""
        self.reset()

    def reset(self) -> None:
        """Forget everything, as a forked child must."""
        self._waiting: deque[tuple[Ledger, Change]] = deque()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None

    def report(self, ledger: Ledger, change: Change) -> None:
        """Write a report now; if the ledger is away, keep it and go on trying from a thread."""
        if not self._waiting:
            try:
                _write(ledger, change)
            except SQLAlchemyError as exc:
                log.warning(
                    "A report waits until the ledger is back: %s",
                    reason(exc),
                    extra={"action": "report.waits"},
                )
            else:
                return
        self._waiting.append((ledger, change))
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="tsumugi-reports", daemon=True
                )
                self._thread.start()

    def flush(self) -> None:
        """Write what waits before the process ends; give up after `LAST_TRIES` seconds."""
        deadline = time.monotonic() + LAST_TRIES
        while self._waiting and time.monotonic() < deadline:
            if not self._write_some():
                time.sleep(WAIT)
        if self._waiting:
            log.error(
                "%d reports were not written; the reaper settles their jobs", len(self._waiting)
            )

    def _run(self) -> None:
        while self._waiting:
            if not self._write_some():
                time.sleep(WAIT)

    def _write_some(self) -> bool:
        # Not the lock of `report`, which must never wait for a ledger that does not answer.
        with self._writing:
            while self._waiting:
                ledger, change = self._waiting[0]
                try:
                    _write(ledger, change)
                except SQLAlchemyError as exc:
                    log.debug("The ledger is still away: %s", reason(exc))
                    return False
                self._waiting.popleft()
        return True


def _write(ledger: Ledger, change: Change) -> None:
    if isinstance(change, Single):
        ledger.once(change)
    else:
        ledger.transact(change)
