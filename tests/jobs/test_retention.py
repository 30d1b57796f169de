"""History is swept by age; what the list shows stays; nothing runs again (case C207 besides)."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from celery import Celery
from sqlalchemy import event, func, insert, select, update

from tests.jobs.bench import MINUTE, START
from tests.servers.kinds import Database
from tsumugi_celery.core.ages import DAY_MS, HOUR_MS, Retention
from tsumugi_celery.core.errors import DefinitionError
from tsumugi_celery.engine import retention
from tsumugi_celery.engine.settings import read_settings
from tsumugi_celery.ledger import nodes
from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import attempt, node, occurrence, schedule, stretch

JOB = {"binding": "work", "payload": {}, "everyMs": MINUTE}
NAMESPACE = "mine"
AGES = Retention(HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS, None, 4 * HOUR_MS)
#: state -> the age at which it goes, hours.
GOES = {"COMPLETED": 1, "FAILED": 2, "CANCELLED": 3, "NOT_EXECUTED": 4}


@pytest.fixture
def ledger(database: Database):
    made = Ledger(database.url)
    made.open()
    yield made
    made.close()


def add(ledger, number, state, ended_at, **values):
    row = {
        "id": f"o{number}",
        "schedule_id": 1,
        "namespace": NAMESPACE,
        "scheduled_at": number,
        "kind": "job",
        "state": state,
        "target": "t",
        "guarantee": "at-least-once",
        "ended_at": ended_at,
    }
    with ledger.begin() as connection:
        connection.execute(insert(occurrence).values(**row | values))
        connection.execute(
            insert(attempt).values(occurrence_id=row["id"], attempt=1, state="FAILED")
        )


def sweep(ledger, now=START, limit=retention.BATCH, ages=AGES):
    return ledger.transact(
        lambda connection: retention.sweep(connection, NAMESPACE, ages, now=now, limit=limit)
    )


def left(ledger, table=occurrence, column=occurrence.c.id):
    with ledger.read() as connection:
        return set(connection.execute(select(column).select_from(table)).scalars())


def test_each_outcome_goes_at_its_age_with_its_attempts(ledger):
    stay = set()
    for number, (state, hours) in enumerate(GOES.items()):
        add(ledger, 2 * number, state, START - hours * HOUR_MS - 1)
        add(ledger, 2 * number + 1, state, START - hours * HOUR_MS)
        stay.add(f"o{2 * number + 1}")
    add(ledger, 100, "STALLED", 1)
    add(ledger, 101, "RUNNING", None)
    add(ledger, 102, "SCHEDULED", None)
    add(ledger, 103, "COMPLETED", 1, namespace="another")
    add(ledger, 104, "QUEUED", None, untracked=True, fired_at=START - HOUR_MS - 1)
    add(ledger, 105, "QUEUED", None, untracked=True, fired_at=START)
    add(ledger, 106, "QUEUED", None, fired_at=1)
    stay |= {"o100", "o101", "o102", "o103", "o105", "o106"}
    assert sweep(ledger) == 5
    assert left(ledger) == stay == left(ledger, attempt, attempt.c.occurrence_id)
    assert sweep(ledger) == 0


def test_a_sweep_takes_no_more_than_its_share_oldest_first(ledger):
    for number in range(7):
        add(ledger, number, "COMPLETED", number)
    assert sweep(ledger, limit=3) == 3
    assert left(ledger) == {"o3", "o4", "o5", "o6"}
    assert [sweep(ledger, limit=3) for _ in range(3)] == [3, 1, 0]


def test_for_ever_is_for_ever(ledger):
    for number, state in enumerate(GOES):
        add(ledger, number, state, 1)
    assert sweep(ledger, ages=Retention(None, None, None, None, None)) == 0


def test_stretches_go_but_not_one_that_still_grows(ledger):
    row = {
        "namespace": NAMESPACE,
        "kind": "job",
        "form": "tsumugi",
        "target": "t",
        "schedule_text": "",
        "overlap": "skip",
        "fingerprint": "",
        "timing_fingerprint": "",
        "registered_at": 0,
        "first_at": 0,
        "accounted_until": 0,
        "stretch_first": 20,
        "stretch_cause": "overlap",
        "n_overlap": 6,
    }
    with ledger.begin() as connection:
        (key,) = connection.execute(insert(schedule).values(name="s", **row)).inserted_primary_key
        for first, cause in [(10, "overlap"), (20, "overlap"), (20, "delay")]:
            values = {"first_at": first, "last_at": first, "count": 3, "recorded_at": first}
            connection.execute(insert(stretch).values(schedule_id=key, cause=cause, **values))
    assert sweep(ledger) == 2
    with ledger.read() as connection:
        kept = connection.execute(select(stretch.c.first_at, stretch.c.cause)).all()
        counted = connection.execute(select(schedule.c.n_overlap)).scalar()
    assert [tuple(each) for each in kept] == [(20, "overlap")]
    assert counted == 6


def test_nodes_that_are_gone_are_forgotten_but_not_the_worker_seen_last(ledger):
    old = START - DAY_MS - 1
    seen = {"a": old - 5, "b": old, "c": START, "d": old - 9}
    with ledger.begin() as connection:
        for name, at in seen.items():
            role = "beat" if name == "d" else "worker"
            values = {"namespace": NAMESPACE, "role": role, "hostname": "h", "pid": 1}
            nodes.register(connection, id=name, started_at=0, seen_at=at, info="{}", **values)
    assert sweep(ledger) == 3
    assert left(ledger, node, node.c.id) == {"c"}
    assert sweep(ledger, now=START + 9 * DAY_MS) == 0


def test_beat_sweeps_and_nothing_runs_again(bench):
    ages = {"completed": 3600, "failed": timedelta(hours=1), "not_executed": 3600}
    beat = bench({"a": JOB}, tsumugi_retention=ages)
    beat.pass_time(MINUTE)
    first = beat.rows("a")[0]
    beat.set(first.id, state="COMPLETED", ended_at=beat.clock.at)
    beat.pass_time(MINUTE)
    beat.pass_time(MINUTE)
    before = beat.cycle.plans
    for _ in range(3):
        beat.pass_time(HOUR_MS)
    assert first.id not in {row.id for row in beat.rows("a")}
    row = seen(beat)
    assert (row.last_run_at, row.last_job_id) == (START + 2 * MINUTE, f"bench.a-{START + 120000}")
    assert row.n_overlap >= 2
    # Beat starts again, and again with the clock set back: the swept time has no row any more,
    # but it is dealt with all the same.
    messages = len(beat.messages())
    beat.cycle.register()
    beat.clock.set(START + MINUTE + 1 - beat.clock.at)
    for _ in range(3):
        beat.pass_time(10)
    assert beat.messages() == []
    assert messages == 2
    assert before is beat.cycle.plans


def seen(beat):
    with beat.ledger.read() as connection:
        return connection.execute(select(schedule).where(schedule.c.name == "a")).one()


def test_a_tick_looks_at_nothing_that_has_ended(bench):
    """Case C207: no statement of a tick reads all history, nor even all of a schedule's."""
    beat = bench({"a": JOB, "k": {**JOB, "concurrencyKey": "k", "everyMs": 2 * MINUTE}})
    beat.pass_time(MINUTE)
    with beat.ledger.begin() as connection:
        key = connection.execute(select(schedule.c.id).where(schedule.c.name == "a")).scalar()
        rows = [
            {
                "id": f"old-{number}",
                "schedule_id": key,
                "namespace": "bench",
                "scheduled_at": number,
                "kind": "job",
                "state": "COMPLETED",
                "target": "work",
                "guarantee": "at-least-once",
                "ended_at": START,
            }
            for number in range(20_000)
        ]
        connection.execute(insert(occurrence), rows)
    statements = set()

    @event.listens_for(beat.ledger.engine, "before_cursor_execute")
    def note(_connection, _cursor, statement, _parameters, _context, _many):
        statements.add(statement)

    for _ in range(3):
        beat.pass_time(MINUTE)
    event.remove(beat.ledger.engine, "before_cursor_execute", note)
    looked = [each for each in statements if "tsumugi_occurrence" in each]
    assert len(looked) > 8
    with beat.ledger.read() as connection:
        for statement in looked:
            if statement.lstrip().startswith(("INSERT", "SAVEPOINT")):
                continue
            count = statement.count("?")
            plan = connection.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {statement}", tuple([0] * count)
            ).all()
            steps = " / ".join(str(step[3]) for step in plan)
            assert "SCAN tsumugi_occurrence" not in steps, f"{statement}\n{steps}"
    with beat.ledger.begin() as connection:
        connection.execute(update(schedule).values(active=False))
        total = connection.execute(select(func.count()).select_from(occurrence)).scalar()
    assert total >= 20_000


def settings(value):
    app = Celery("ages", set_as_current=False)
    app.conf.update(tsumugi_retention=value)
    return read_settings(app).retention


def test_what_is_kept_by_default():
    assert settings(None) == Retention(7 * DAY_MS, 30 * DAY_MS, 30 * DAY_MS, None, 30 * DAY_MS)
    assert settings({}) == settings(None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3600, HOUR_MS),
        (7200.5, 2 * HOUR_MS + 500),
        (timedelta(days=1), DAY_MS),
        (timedelta(days=36600), 36600 * DAY_MS),
        (None, None),
    ],
)
def test_ages_are_seconds_timedeltas_or_none(value, expected):
    read = settings({"stalled": value, "not_executed": value})
    assert (read.stalled, read.not_executed) == (expected, expected)
    assert read.completed == 7 * DAY_MS


BAD = [0, -1, 1, 7, 3599, True, "7d", "3600", math.nan, math.inf, [], 10**30, timedelta(minutes=59)]


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize("key", ["completed", "failed", "cancelled", "stalled", "not_executed"])
def test_a_bad_age_is_refused(key, value):
    with pytest.raises(DefinitionError) as caught:
        settings({key: value})
    (problem,) = caught.value.problems
    assert problem.key == f"tsumugi_retention.{key}"
    assert "timedelta" in problem.accepted


@pytest.mark.parametrize(
    "value", [7, "7d", [], True, timedelta(days=1), {"complete": 3600}, {1: 2}]
)
def test_a_bad_retention_is_refused(value):
    with pytest.raises(DefinitionError) as caught:
        settings(value)
    assert caught.value.problems[0].key.startswith("tsumugi_retention")
