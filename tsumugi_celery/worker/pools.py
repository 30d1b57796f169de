"""Pools: which of them can end an attempt that takes too long, said when a worker starts.

Source: `celery.concurrency`. Only prefork has processes to interrupt and to kill; gevent raises a
timeout inside of the greenlet once it waits for something; the others cannot interrupt a thread.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tsumugi_celery.app import state_of
from tsumugi_celery.core.errors import TsumugiError

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger(__name__)

PREFORK, GEVENT = "prefork", "gevent"


def say_limits(app: Celery, pool: object) -> None:
    """Warn when this worker's pool cannot keep the `timeoutMs` of a schedule.

    Args:
        app: the Celery app.
        pool: the class of the pool.
    """
    name = str(getattr(pool, "__module__", pool)).rpartition(".")[2]
    if name in {PREFORK, "processes"}:
        return
    try:
        schedules = state_of(app).read().schedules
    except TsumugiError as exc:
        log.warning("The time limits of schedules are not known here: %s", exc)
        return
    limited = sorted(
        each.name for each in schedules.values() if each.options.timeout_ms is not None
    )
    if not limited:
        return
    if name == GEVENT:
        words = "keeps only the hard limit, and only while the task waits for something"
    else:
        words = "cannot end a running task"
    log.warning(
        "The pool %r %s: `timeoutMs` of %s%s is not kept here. Start a worker with --pool=prefork "
        "for their queues.",
        name,
        words,
        ", ".join(limited[:5]),
        "" if len(limited) <= 5 else f" and {len(limited) - 5} more",  # noqa: PLR2004 - as many as one line takes
        extra={"action": "worker.no_time_limits"},
    )
