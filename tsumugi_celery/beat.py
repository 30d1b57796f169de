"""The scheduler that `celery beat -S tsumugi_celery.Scheduler` runs."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import celery.beat

from tsumugi_celery.app import state_of
from tsumugi_celery.core.errors import TsumugiError
from tsumugi_celery.engine.cycle import Cycle
from tsumugi_celery.engine.queues import add_queues
from tsumugi_celery.worker.install import install

if TYPE_CHECKING:
    from types import FrameType

    from celery import Celery
    from typing_extensions import Self

log = logging.getLogger(__name__)

_STOPPING = (signal.SIGTERM, signal.SIGINT)


class Scheduler(celery.beat.Scheduler):
    """Beat over the ledger, in place of Celery's heap and shelve file.

    Args:
        app: the Celery app.
        lazy: made for the banner only: no definition is read and nothing is connected.
        kwargs: what Celery gives its schedulers besides; `max_interval` is honoured.
    """

    def __init__(self, app: Celery, *, lazy: bool = False, **kwargs: Any) -> None:
        """Start the cycle, unless lazy.

        Raises:
            SystemExit: the definitions are wrong or the ledger cannot be used; the text says why.
        """
        self.cycle: Cycle | None = None
        super().__init__(app, lazy=lazy, **kwargs)

    def setup_schedule(self) -> None:
        """Read and check the definitions, and register them in the ledger."""
        state = state_of(self.app)
        try:
            definitions = state.check()
            install(self.app)
            add_queues(self.app, definitions.bindings.values())
            cycle = Cycle(
                self.app,
                state.ledger,
                definitions.schedules,
                state.namespace,
                state.settings,
                state.clock,
                repeats=definitions.repeats,
                stopped=state.stopped,
            )
            cycle.start()
        except TsumugiError as exc:
            # Celery would bury the text under a traceback.
            log.critical("beat does not start: %s", exc)
            raise SystemExit(1) from exc
        self.cycle = cycle
        # A full collection walks over Celery and all definitions: 0.05 to 0.2 s in which a schedule
        # is late. What is there by now stays as long as beat does (decision 0092).
        gc.collect()
        gc.freeze()

    def tick(self, *_args: object, **_kwargs: object) -> float:
        """Do what is due; return the seconds until the next time to look."""
        if self.cycle is None:
            return float(self.max_interval)
        with _Deferred(self.cycle) as deferred:
            delay = self.cycle.tick()
            while len(self.cycle.resolver) and delay > 0 and not deferred.received:
                # Payload callables are running: whichever returns first is sent at once.
                self.cycle.woken.wait(delay)
                delay = self.cycle.tick()
        return min(delay, float(self.max_interval))

    def close(self) -> None:
        """Finish the batch, leave no claim behind, and close the connections."""
        if _in_hub():
            # A signal under gevent: nothing may wait here. Celery closes again on its way out.
            return
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            gc.unfreeze()
            cycle.stop()
        super().close()

    @property
    def info(self) -> str:
        """The line of beat's banner that says where the ledger is."""
        try:
            return f"    . ledger -> {state_of(self.app).ledger}"
        except TsumugiError as exc:
            return f"    . ledger -> {exc}"


def _in_hub() -> bool:
    """Return whether this is gevent's event loop, which runs signal handlers and must not wait."""
    gevent = sys.modules.get("gevent")
    return gevent is not None and isinstance(gevent.getcurrent(), gevent.hub.Hub)


class _Deferred:
    """Hold back the signals that end beat until the batch in hand is settled.

    Celery's handlers raise wherever the program happens to be: between a publish and its record,
    for example.
    """

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._handlers: dict[signal.Signals, Any] = {}
        self.received: list[signal.Signals] = []

    def __enter__(self) -> Self:
        # Elsewhere than in the main thread (`worker -B` with threads) no handler interrupts us.
        if threading.current_thread() is threading.main_thread():
            for number in _STOPPING:
                self._handlers[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_exc: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for number in self.received[:1]:
            signal.raise_signal(number)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.received.append(signal.Signals(number))
        self._cycle.stopping = True
        self._cycle.woken.set()
