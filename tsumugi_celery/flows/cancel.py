"""Ending the tasks of a Run that was broken off by hand, or at its deadline."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tsumugi_celery.core.reasons import reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celery import Celery

log = logging.getLogger(__name__)

#: How long connecting to the broker may take, seconds.
TIMEOUT = 4.0


def terminate(app: Celery, task_ids: Sequence[str], timeout: float = TIMEOUT) -> None:
    """Ask the workers to end running tasks, where their pool can.

    The Run has ended in any case, so a broker that is away is only said.

    Args:
        app: the Celery app.
        task_ids: what is running.
        timeout: how long connecting to the broker may take, seconds.
    """
    if not task_ids:
        return
    try:
        with app.connection_for_write(connect_timeout=timeout) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=timeout)
            app.control.revoke(list(task_ids), connection=connection, terminate=True)
    except Exception as exc:  # noqa: BLE001 - whatever the transport raises, the Run has ended
        log.warning(
            "%d running tasks could not be revoked and run to their end: %s",
            len(task_ids),
            reason(exc),
            extra={"action": "run.not_revoked"},
        )
