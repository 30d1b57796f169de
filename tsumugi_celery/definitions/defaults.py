"""The entry that Celery's own beat adds by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery.backends.base import DisabledBackend
from celery.schedules import crontab

if TYPE_CHECKING:
    from collections.abc import Mapping

CLEANUP = "celery.backend_cleanup"


def default_entries(app: Any, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return Celery's default entries: the daily clean-up of results, where the backend needs it.

    Source: `celery.beat.Scheduler.install_default_entries`.

    Args:
        app: the Celery app.
        given: the user's entries; one of the same name takes the place of the default.
    """
    if not app.conf.result_expires or CLEANUP in (given or {}):
        return {}
    # Celery adds the entry without a result backend too, where there is nothing to clean up.
    if app.backend.supports_autoexpire or isinstance(app.backend, DisabledBackend):
        return {}
    entry = {
        "task": CLEANUP,
        "schedule": crontab("0", "4", "*"),
        "options": {"expires": 12 * 3600},
    }
    return {CLEANUP: entry}
