"""Install the guard and the tracker in a process, without touching the user's tasks' code.

Celery's own autoretry wraps `task.run` in the same way: it reaches every pool and base class.
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

from celery import signals

from tsumugi_celery.app import is_defined, state_of
from tsumugi_celery.core.errors import TsumugiError
from tsumugi_celery.engine.heartbeat import WORKER, Heart
from tsumugi_celery.engine.queues import add_queues
from tsumugi_celery.engine.whole_files import write_whole_files
from tsumugi_celery.worker import events, inventory, pools, retry
from tsumugi_celery.worker.guard import header_of, run_guarded
from tsumugi_celery.worker.identity import here
from tsumugi_celery.worker.reconcile import Reconciler
from tsumugi_celery.worker.run_guard import may_belong, run_in_run
from tsumugi_celery.worker.run_reconcile import RunReconciler

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery, Task

    from tsumugi_celery.app import AppState

log = logging.getLogger(__name__)

_MARK = "_tsumugi_wrapped"
_hearts: list[Heart] = []


def install(app: Celery) -> None:
    """Wrap all tasks that the app has by now; those that are wrapped already stay as they are."""
    write_whole_files(app)
    for task in app.tasks.values():
        if getattr(task.run, _MARK, False) is False:
            _wrap(task)
    events.connect()


def connect() -> None:
    """Have Celery call this module when a worker starts; called when the package is imported."""
    signals.celeryd_init.connect(_on_celeryd_init, weak=False, dispatch_uid="tsumugi-celeryd-init")
    signals.celeryd_after_setup.connect(
        _on_after_setup, weak=False, dispatch_uid="tsumugi-after-setup"
    )
    signals.worker_init.connect(_on_worker_init, weak=False, dispatch_uid="tsumugi-worker-init")
    signals.worker_process_init.connect(_on_child, weak=False, dispatch_uid="tsumugi-child")
    signals.worker_shutdown.connect(_on_shutdown, weak=False, dispatch_uid="tsumugi-shutdown")


def _wrap(task: Task) -> None:
    retry.install(task)
    original = task.run

    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        request = task.request
        header = header_of(request)
        if header is None:
            if may_belong(request):
                return run_in_run(task, request, functools.partial(original, *args, **kwargs))
            return original(*args, **kwargs)
        return run_guarded(task, request, header, functools.partial(original, *args, **kwargs))

    setattr(run, _MARK, True)
    task.run = run


def _on_celeryd_init(instance: Any = None, **_kwargs: object) -> None:
    app = instance.app
    install(app)
    if not _concerns(app):
        return
    try:
        add_queues(app, state_of(app).read().bindings.values())
    except TsumugiError as exc:
        log.error("The queues of bindings are not known here: %s", exc)  # noqa: TRY400 - the text says it all
    try:
        state_of(app).ledger.open()
    except TsumugiError as exc:
        log.error("Jobs of schedules wait until the ledger is there: %s", exc)  # noqa: TRY400 - the text says it all


def _concerns(app: Celery) -> bool:
    """Return whether the app shows any sign of this package.

    Every `celery` command imports it, for the sake of `celery tsumugi`. An app that has nothing to
    do with it must not get a database file in its folder (decision 0038).
    """
    if is_defined(app) or any("tsumugi_" in str(key).lower() for key in app.conf):
        return True
    return "tsumugi" in str(app.conf.beat_scheduler) or state_of(app).ledger.exists


def _on_after_setup(instance: Any = None, **_kwargs: object) -> None:
    pools.say_limits(instance.app, instance.pool_cls)


def _on_worker_init(sender: Any = None, **_kwargs: object) -> None:
    state = state_of(sender.app)
    try:
        heart = Heart(
            state.ledger,
            state.namespace,
            WORKER,
            state.settings.heartbeat,
            state.clock,
            sender.hostname,
            functools.partial(inventory.take, sender.app),
            _reconciling(state),
        )
    except TsumugiError as exc:
        log.error("This worker keeps no heartbeat: %s", exc)  # noqa: TRY400 - the text says it all
        return
    here.node_id, here.hostname = heart.id, sender.hostname
    heart.start()
    _hearts.append(heart)


def _reconciling(state: AppState) -> Callable[[str], None]:
    """Return what compares the ledger with this worker after each heartbeat."""
    patience = state.settings.presumed_gone
    jobs, runs = Reconciler(state, patience), RunReconciler(state, patience)

    def look(node_id: str) -> None:
        jobs.look(node_id)
        runs.look(node_id)

    return look


def _on_child(**_kwargs: object) -> None:
    events.forget_parent()


def _on_shutdown(**_kwargs: object) -> None:
    while _hearts:
        _hearts.pop().stop()
