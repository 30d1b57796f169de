"""What repeats need to know of the app they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from celery import Celery

    from tsumugi_celery.engine.clock import Clock
    from tsumugi_celery.ledger.ledger import Ledger


class State(Protocol):
    """A part of `tsumugi_celery.app.AppState`."""

    clock: Clock
    stopped: set[str]

    @property
    def app(self) -> Celery:
        """The Celery app."""

    @property
    def namespace(self) -> str:
        """The namespace."""

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
