"""Checks of a canvas before anything of it is sent, each with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsumugi_celery.core.errors import DispatchError
from tsumugi_celery.core.wording import did_you_mean, nearest
from tsumugi_celery.flows.shape import has_chord, leaves

if TYPE_CHECKING:
    from collections.abc import Collection

    from celery import Celery

CHORD_BACKENDS = "result_backend = 'redis://…' or 'db+sqlite:///results.sqlite3', for example"


def check_names(app: Celery, flow: str, root: dict[str, Any], remote: Collection[str]) -> None:
    """Check that the tasks of a canvas exist.

    Raises:
        DispatchError: a task is neither registered here nor named by a declared binding.
    """
    names = {node["task"] for node in leaves(root, errbacks=True)}
    missing = sorted(names - set(app.tasks) - set(remote))
    if missing:
        known = [name for name in app.tasks if not name.startswith("celery.")]
        guess = did_you_mean(nearest(missing[0], known))
        raise DispatchError(
            f"the canvas of flow {flow!r} has tasks that are not registered: "
            f"{', '.join(map(repr, missing))}; accepted: registered tasks, and tasks that a "
            f"binding declares{'; ' + guess if guess else ''}"
        )


def check_backend(app: Celery, flow: str, root: dict[str, Any]) -> None:
    """Check that the app's settings can carry the canvas.

    Raises:
        DispatchError: the result backend cannot do chords, or no messages tell what is in a Run.
    """
    if app.conf.task_protocol == 1:
        raise DispatchError(
            f"flow {flow!r} cannot be started with task_protocol = 1, whose messages do not say "
            "which Run they belong to; accepted: task_protocol = 2, Celery's default"
        )
    if app.conf.task_always_eager:
        raise DispatchError(
            f"flow {flow!r} cannot be started with task_always_eager, which runs its tasks here "
            "and now, without messages to follow; in tests start a worker in the same process: "
            "celery.contrib.testing.worker.start_worker(app)"
        )
    if not has_chord(root):
        return
    try:
        app.backend.ensure_chords_allowed()
    except NotImplementedError as exc:
        url = app.conf.result_backend or "disabled://"
        raise DispatchError(
            f"the canvas of flow {flow!r} has a chord (or a group that something follows), which "
            f"the result backend {str(url).partition(':')[0]!r} cannot do; set {CHORD_BACKENDS}"
        ) from exc
