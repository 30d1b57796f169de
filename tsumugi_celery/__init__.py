"""A replacement for Celery beat: every scheduled time runs at most once, and a ledger says why."""

from tsumugi_celery.beat import Scheduler
from tsumugi_celery.core.errors import (
    DefinitionError,
    DispatchError,
    LedgerError,
    TsumugiError,
    UnknownSchedule,
)
from tsumugi_celery.core.upcoming import upcoming
from tsumugi_celery.handle import Tsumugi, define_tsumugi
from tsumugi_celery.worker.install import connect as _connect

__all__ = [
    "DefinitionError",
    "DispatchError",
    "LedgerError",
    "Scheduler",
    "Tsumugi",
    "TsumugiError",
    "UnknownSchedule",
    "define_tsumugi",
    "upcoming",
]

# Workers that import the package get the guard and the tracker, whatever else they define.
_connect()
