"""The scheduler that Celery's beat is given: settings, hooks, the banner, limits of its sleep."""

import time

import pytest
from celery import Celery

from tests.beat.bench import job, ms, plain
from tests.beat.door import Door
from tsumugi_celery import Scheduler, define_tsumugi
from tsumugi_celery.app import state_of
from tsumugi_celery.core import states
from tsumugi_celery.worker.install import install


@pytest.fixture
def app(tmp_path):
    made = Celery("proj", broker="memory://", set_as_current=False)
    made.conf.update(
        tsumugi_database_url=f"sqlite:///{tmp_path / 'ledger.sqlite3'}",
        result_expires=None,
        task_default_queue=str(tmp_path),
    )

    @made.task(name="proj.work", typing=False, shared=False)
    def work(*args, **kwargs):
        """Stand for any task."""

    return made


def test_the_banner_makes_no_database(app, tmp_path):
    scheduler = Scheduler(app, lazy=True)
    assert str(tmp_path / "ledger.sqlite3") in scheduler.info
    scheduler.close()
    assert list(tmp_path.iterdir()) == []


def test_the_banner_of_a_wrong_url_is_a_line_of_text(app):
    app.conf.tsumugi_database_url = "nonsense"
    assert "cannot be read" in Scheduler(app, lazy=True).info


def test_max_interval_bounds_the_sleep(app):
    app.conf.tsumugi_poll_interval = 60
    scheduler = Scheduler(app, max_interval=0.3)
    assert 0 <= scheduler.tick() <= 0.3
    scheduler.close()
    scheduler.close()  # Celery closes twice


@pytest.mark.parametrize(
    ("schedules", "settings", "named"),
    [
        ({"bad name!": job(everyMs=1000), "two": job(everyMs=1)}, {}, ["bad name!", "everyMs"]),
        ({"one": job(everyMs=1000)}, {"tsumugi_pol_interval": 3}, ["tsumugi_pol_interval"]),
        ({"one": {**job(everyMs=1000), "binding": "proj.wrok"}}, {}, ["proj.wrok", "proj.work"]),
        ({"one": job(everyMs=1000)}, {"tsumugi_database_url": "oracle://x/y"}, ["oracle"]),
        ({"one": {**job(everyMs=1000), **plain(5)}}, {}, ["one"]),
    ],
)
def test_a_wrong_configuration_ends_beat_with_its_text(app, caplog, schedules, settings, named):
    app.conf.update(settings)
    app.conf.beat_schedule = schedules
    with pytest.raises(SystemExit) as caught:
        Scheduler(app)
    assert caught.value.code == 1
    (line,) = [one.getMessage() for one in caplog.records if one.levelname == "CRITICAL"]
    assert all(word in line for word in named)


def test_namespaced_settings(tmp_path):
    """Django's way: everything in the settings module carries CELERY_."""
    url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    app = Celery("proj", set_as_current=False)
    settings = {
        "CELERY_BROKER_URL": "memory://",
        "CELERY_TSUMUGI_DATABASE_URL": url,
        "CELERY_TSUMUGI_POLL_INTERVAL": 0.25,
        "CELERY_TSUMUGI_NAMESPACE": "shop",
        "CELERY_TSUMUGI_BINDINGS": {"Mail": {"task": "proj.mail"}},
        "CELERY_RESULT_EXPIRES": None,
        "CELERY_BEAT_SCHEDULE": {"one": {"binding": "Mail", "payload": {}, "everyMs": 1000}},
    }
    app.config_from_object(settings, namespace="CELERY")
    state = state_of(app)
    assert str(tmp_path) in str(state.ledger)
    assert state.settings.poll_interval == 0.25
    assert state.namespace == "shop"
    assert state.read().schedules["one"].task == "proj.mail"
    scheduler = Scheduler(app)
    scheduler.tick()
    scheduler.close()
    app.conf.CELERY_TSUMUGI_NONSENSE = 1


def test_an_unknown_namespaced_setting_is_refused(tmp_path):
    from tsumugi_celery import DefinitionError

    app = Celery("proj", set_as_current=False)
    app.config_from_object({"CELERY_TSUMUGI_POL_INTERVAL": 1}, namespace="CELERY")
    with pytest.raises(DefinitionError, match=r"(?i)tsumugi_pol_interval"):
        _ = state_of(app).settings


def test_periodic_tasks_added_by_hooks(app):
    """C240: added by the hooks they run; those added later run from the next start."""

    @app.on_after_configure.connect
    def configured(sender, **_kwargs):
        sender.add_periodic_task(10.0, sender.signature("proj.work"), name="configured")

    @app.on_after_finalize.connect
    def finalized(sender, **_kwargs):
        sender.add_periodic_task(10.0, sender.signature("proj.work"), name="finalized")

    scheduler = Scheduler(app)
    assert scheduler.cycle is not None
    assert {"configured", "finalized"} <= set(scheduler.cycle.plans)
    app.add_periodic_task(10.0, app.signature("proj.work"), name="late")
    scheduler.tick()
    assert "late" not in scheduler.cycle.plans
    scheduler.close()
    again = Scheduler(app)
    assert again.cycle is not None
    assert {"configured", "finalized", "late"} <= set(again.cycle.plans)
    again.close()


def test_defined_and_configured_schedules_side_by_side(app):
    app.conf.beat_schedule = {"plain": plain(30)}
    define_tsumugi(app, schedules={"own": job(everyMs=30_000)})
    scheduler = Scheduler(app)
    assert scheduler.cycle is not None
    assert set(scheduler.cycle.plans) == {"plain", "own"}
    scheduler.close()


def test_always_eager_runs_in_beat_and_is_told_truly(make_bench):
    """C238: three seconds of work each second, in the process of beat."""
    bench = make_bench(task_always_eager=True)
    ran = []

    def new_app():
        app = type(bench).new_app(bench)

        @app.task(name="proj.eager", shared=False)
        def eager():
            ran.append(bench.clock.now())
            bench.clock.to(bench.clock.now() + 3000)

        @app.task(name="proj.fails", shared=False)
        def fails():
            raise ValueError("eagerly")

        return app

    bench.new_app = new_app
    schedules = {
        "one": {"binding": "proj.eager", "payload": {}, "everyMs": 1000},
        "bad": {"binding": "proj.fails", "payload": {}, "everyMs": 60_000},
    }
    bench.start(schedules)
    install(bench.app)
    bench.run_until("2026-05-01T12:00:10Z", finish=False)
    assert {row.state for row in bench.occurrences()} == {states.COMPLETED}
    assert len(ran) == len(bench.times())
    assert set(bench.not_executed()) == {"delay"}
    bench.explained("one", lambda since, until: (until - since) // 1000, ms("2026-05-01T12:00:00Z"))
    bench.at("2026-05-01T12:01:05Z", finish=False)
    (bad,) = bench.occurrences("bad")
    assert bad.state == states.FAILED
    assert "eagerly" in bad.error


@pytest.mark.parametrize("kind", ["redis", "rabbitmq"])
def test_a_broker_that_refuses_at_fire_time(make_bench, request, kind):
    """C137: the reason is in the ledger, beat goes on, the next time works."""
    door = Door(request.getfixturevalue(f"{kind}_broker").url)
    bench = make_bench(broker_url=door.url, tsumugi_publish_timeout=3)
    bench.start({"one": job(everyMs=60_000), "two": job(everyMs=60_000, payload=lambda _: {})})
    bench.run_until("2026-05-01T12:02:00Z")
    for name in ("one", "two"):
        assert bench.not_executed(name) == {"failure": 2}
        assert "refused" in bench.row(name).last_error.lower()
        assert bench.times(name) == []
    door.open()
    bench.run_until("2026-05-01T12:03:00Z")
    for name in ("one", "two"):
        assert bench.times(name) == ["2026-05-01T12:03:00Z"]
        assert bench.row(name).last_error is None
    assert len(bench.messages()) == 2
    door.close()  # under an open connection this time
    bench.run_until("2026-05-01T12:04:00Z")
    door.open()
    bench.run_until("2026-05-01T12:05:00Z")
    for name in ("one", "two"):
        assert bench.not_executed(name) == {"failure": 3}
        assert bench.times(name)[-1] == "2026-05-01T12:05:00Z"
    bench.stop()
    door.close()


@pytest.mark.parametrize("kind", ["redis", "rabbitmq"])
def test_a_connection_that_broke_while_nothing_was_due(make_bench, request, kind):
    """It is replaced, and the time in hand is not lost."""
    door = Door(request.getfixturevalue(f"{kind}_broker").url)
    door.open()
    bench = make_bench(broker_url=door.url, tsumugi_publish_timeout=3)
    bench.start({"one": job(everyMs=60_000)})
    bench.run_until("2026-05-01T12:01:00Z")
    door.close()
    door.open()
    bench.run_until("2026-05-01T12:02:00Z")
    assert bench.times() == ["2026-05-01T12:01:00Z", "2026-05-01T12:02:00Z"]
    assert bench.not_executed() == {}
    assert len({message.headers["id"] for message in bench.messages()}) == 2
    bench.stop()
    door.close()


def test_a_result_backend_that_is_down(make_bench):
    """C139: sent or recorded as failed, not both, and nobody else is touched."""
    bench = make_bench(
        result_backend="redis://127.0.0.1:1/0",
        result_backend_transport_options={"retry_policy": {"timeout": 1.0}},
        redis_retry_on_timeout=False,
    )
    bench.start({"one": job(everyMs=60_000), "two": job(everyMs=60_000, options={"queue": "q2"})})
    began = time.monotonic()
    bench.run_until("2026-05-01T12:01:00Z")
    assert time.monotonic() - began < 30
    sent = {message.headers["id"] for message in bench.messages()}
    for name in ("one", "two"):
        (row,) = bench.occurrences(name)
        if row.state == states.NOT_EXECUTED:
            assert row.id not in sent
            assert row.error
        else:
            assert bench.not_executed(name) == {}
