"""One process that sends a burst: a scheduler with N entries, or a bare loop. Started by burst.py.

    python benchmarks/bursting.py '{"kind": "tsumugi", "n": 1000, "broker": "redis://…", …}'

Prints "ready" when all is set up. Every other scheduler than ours has its entries due by then: it
waits for a line of input and prints the moment at which it begins. Runs until it is terminated.
"""

import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from typing import Any

from celery import Celery, signals
from celery.beat import Scheduler, Service
from celery.schedules import schedule

TASK = "proj.noop"
HOUR_AGO = datetime.now(timezone.utc) - timedelta(hours=1)
HALF_AN_HOUR = timedelta(minutes=30)


def say(word: str) -> None:
    print(word, time.time(), flush=True)


def begin() -> None:
    say("ready")
    sys.stdin.readline()
    say("begins")


def make_app(broker: str) -> Celery:
    app = Celery("proj", broker=broker)

    @app.task(name=TASK, ignore_result=True, shared=False)
    def noop() -> None:
        """Nothing: what is measured is how it is sent."""

    app.conf.timezone = "UTC"
    app.finalize()
    return app


def bare(app: Celery, n: int, *, batch: bool = False) -> None:
    task = app.tasks[TASK]
    with app.producer_or_acquire() as producer:
        begin()
        with producer.batch(max_size=100) if batch else nullcontext():
            for _ in range(n):
                task.apply_async(args=[], kwargs={}, producer=producer)


def tsumugi(app: Celery, n: int, ledger: str) -> None:
    import tsumugi_celery  # noqa: F401, PLC0415 - as a project would

    app.conf.tsumugi_database_url = ledger
    app.conf.tsumugi_poll_interval = 0.3
    app.conf.beat_schedule = {
        f"s{i:05}": {"binding": TASK, "payload": {}, "everyMs": 3_600_000} for i in range(n)
    }
    # Runs first, alone, as in a beat that has been there for a while.
    app.conf.beat_schedule["warm"] = {"binding": TASK, "payload": {}, "everyMs": 7_200_000}
    service = Service(app, scheduler_cls="tsumugi_celery:Scheduler")
    assert service.scheduler
    say("ready")
    service.start()


def own(app: Celery, n: int, folder: str) -> Any:
    app.conf.beat_schedule = {
        f"s{i:05}": {"task": TASK, "schedule": schedule(HALF_AN_HOUR)} for i in range(n)
    }
    made = Service(
        app, scheduler_cls="celery.beat:PersistentScheduler", schedule_filename=f"{folder}/own"
    ).scheduler
    for entry in made.schedule.values():
        entry.last_run_at = HOUR_AGO
    return made


def redbeat(app: Celery, n: int, _folder: str) -> Any:
    from redbeat import RedBeatScheduler, RedBeatSchedulerEntry  # noqa: PLC0415

    app.conf.redbeat_lock_key = None
    app.conf.beat_schedule = {
        f"s{i:05}": {"task": TASK, "schedule": schedule(HALF_AN_HOUR)} for i in range(n)
    }
    made = RedBeatScheduler(app=app)
    for name in app.conf.beat_schedule:
        key = RedBeatSchedulerEntry.generate_key(app, name)
        RedBeatSchedulerEntry.from_key(key, app).reschedule(HOUR_AGO)
    return made


def django(app: Celery, n: int, folder: str) -> Any:
    import django as framework  # noqa: PLC0415
    from django.conf import settings  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    settings.configure(
        INSTALLED_APPS=["django_celery_beat"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/dj"}},
        USE_TZ=True,
        TIME_ZONE="UTC",
    )
    framework.setup()
    call_command("migrate", verbosity=0)
    from django_celery_beat.models import IntervalSchedule, PeriodicTask  # noqa: PLC0415
    from django_celery_beat.schedulers import DatabaseScheduler  # noqa: PLC0415

    every = IntervalSchedule.objects.create(every=30, period="minutes")
    PeriodicTask.objects.bulk_create(
        PeriodicTask(name=f"s{i:05}", task=TASK, interval=every, last_run_at=HOUR_AGO)
        for i in range(n)
    )
    return DatabaseScheduler(app=app)


def sqlalchemy(app: Celery, n: int, folder: str) -> Any:
    from sqlalchemy_celery_beat.models import IntervalSchedule, PeriodicTask  # noqa: PLC0415
    from sqlalchemy_celery_beat.schedulers import DatabaseScheduler  # noqa: PLC0415
    from sqlalchemy_celery_beat.session import SessionManager  # noqa: PLC0415

    app.conf.beat_dburi = url = f"sqlite:///{folder}/sqla"
    manager = SessionManager()
    engine, make_session = manager.create_session(url)
    manager.prepare_models(engine)
    with make_session() as session:
        every = IntervalSchedule(every=30, period="minutes")
        session.add(every)
        session.flush()
        session.add_all(
            PeriodicTask(name=f"s{i:05}", task=TASK, schedule_model=every, last_run_at=HOUR_AGO)
            for i in range(n)
        )
        session.commit()
    return DatabaseScheduler(app=app)


PEERS: dict[str, Callable[[Celery, int, str], Scheduler]] = {
    "celery": own,
    "redbeat": redbeat,
    "django-celery-beat": django,
    "sqlalchemy-celery-beat": sqlalchemy,
}


def main() -> None:
    given = json.loads(sys.argv[1])
    kind, n = given["kind"], given["n"]
    app = make_app(given["broker"])
    if given.get("confirm"):
        app.conf.broker_transport_options = {"confirm_publish": True}
    if kind.startswith("bare"):
        bare(app, n, batch=kind == "bare batch")
    elif kind == "tsumugi":
        tsumugi(app, n, given["ledger"])
    else:
        scheduler = PEERS[kind](app, n, given["folder"])
        sent: list[int] = []
        signals.after_task_publish.connect(lambda **_: sent.append(1), weak=False)
        begin()
        while len(sent) < n:
            scheduler.tick()
    time.sleep(600)


if __name__ == "__main__":
    main()
