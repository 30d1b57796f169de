"""Resolve: call payload callables, each bounded in time, none holding up another (protocol step 2).

A thread cannot be ended from outside, so one whose time is up is left behind. It holds its
schedule's place: until it returns, further calls of the same callable fail at once, and a callable
that always hangs costs one thread, not one an occurrence.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.errors import TsumugiError
from tsumugi_celery.engine.runs import arguments_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery

    from tsumugi_celery.engine.claim import Claim

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
#: How many callables may run at the same time.
THREADS = 16


class PayloadTimeout(TsumugiError):  # noqa: N818 - the name says what happened
    """The payload callable did not return in time."""


@dataclass(slots=True)
class _Call:
    claim: Claim
    started: float | None = None
    arguments: Arguments | None = None
    error: Exception | None = None
    done: bool = False


class Resolver:
    """Calls payload callables in threads of their own.

    Args:
        app: the Celery app.
        timeout: how long one may take, in seconds.
        monotonic: a clock in seconds.
        wake: called from the thread when one has returned.
    """

    def __init__(
        self,
        app: Celery,
        timeout: float,
        monotonic: Callable[[], float],
        wake: Callable[[], None],
    ) -> None:
        """Start without any thread."""
        self._app = app
        self.timeout = timeout
        self._monotonic = monotonic
        self._wake = wake
        self._waiting: list[_Call] = []
        self._running: list[_Call] = []
        self._stuck: dict[str, _Call] = {}

    def __len__(self) -> int:
        """Return how many claims are still being resolved."""
        return len(self._waiting) + len(self._running)

    def submit(self, claim: Claim) -> None:
        """Begin to resolve the payload of a claim."""
        self._waiting.append(_Call(claim))
        self._start_some()

    def collect(self) -> list[tuple[Claim, Arguments | None, Exception | None]]:
        """Return the claims that are resolved, or have failed, since the last call."""
        now = self._monotonic()
        finished: list[tuple[Claim, Arguments | None, Exception | None]] = []
        still: list[_Call] = []
        for call in self._running:
            if call.done:
                finished.append((call.claim, call.arguments, call.error))
            elif call.started is not None and now - call.started >= self.timeout:
                self._stuck[call.claim.definition.name] = call
                finished.append((call.claim, None, self._timed_out()))
            else:
                still.append(call)
        self._running = still
        self._stuck = {name: call for name, call in self._stuck.items() if not call.done}
        self._start_some()
        return finished + self._refuse_stuck()

    def abandon(self) -> list[Claim]:
        """Forget all that is not resolved yet; return the claims."""
        claims = [call.claim for call in (*self._running, *self._waiting)]
        self._running, self._waiting = [], []
        return claims

    def in_hand(self) -> set[str]:
        """Return the ids of the claims that are being resolved."""
        return {call.claim.occurrence_id for call in (*self._running, *self._waiting)}

    def next_deadline(self) -> float | None:
        """Return in how many seconds the first running callable is out of time, or None."""
        started = [call.started for call in self._running if call.started is not None]
        return max(0.0, min(started) + self.timeout - self._monotonic()) if started else None

    def _start_some(self) -> None:
        waiting: list[_Call] = []
        for call in self._waiting:
            if len(self._running) >= THREADS or call.claim.definition.name in self._stuck:
                waiting.append(call)
                continue
            call.started = self._monotonic()
            self._running.append(call)
            name = f"tsumugi-payload-{call.claim.definition.name}"
            threading.Thread(target=self._run, args=(call,), name=name, daemon=True).start()
        self._waiting = waiting

    def _refuse_stuck(self) -> list[tuple[Claim, Arguments | None, Exception | None]]:
        refused = [call for call in self._waiting if call.claim.definition.name in self._stuck]
        self._waiting = [call for call in self._waiting if call not in refused]
        return [(call.claim, None, self._still_busy()) for call in refused]

    def _run(self, call: _Call) -> None:
        claim = call.claim
        try:
            call.arguments = arguments_of(self._app, claim)
        except Exception as exc:  # noqa: BLE001 - what user code raises becomes the occurrence's reason
            call.error = exc
        except BaseException as exc:  # noqa: BLE001 - SystemExit in user code must not look like a hang
            call.error = TsumugiError(f"the payload callable raised {type(exc).__name__}")
        call.done = True
        self._wake()

    def _timed_out(self) -> PayloadTimeout:
        return PayloadTimeout(
            f"the payload callable took longer than {self.timeout:g} s (tsumugi_payload_timeout) "
            "and was given up"
        )

    def _still_busy(self) -> PayloadTimeout:
        return PayloadTimeout(
            "the payload callable was not called: an earlier call of it, given up after "
            f"{self.timeout:g} s (tsumugi_payload_timeout), still has not returned"
        )
