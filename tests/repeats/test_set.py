"""Setting, reading, pausing and ending repeats, on each database."""

from datetime import timedelta

import pytest
from sqlalchemy import Column, MetaData, String, Table, create_engine, insert, select
from sqlalchemy.orm import Session

from tests.beat.bench import iso, ms
from tsumugi_celery import DefinitionError, LedgerError
from tsumugi_celery.core import states


@pytest.fixture
def shared(make_world, database_url):
    """A world whose ledger is on each database in turn."""
    return make_world(url=database_url)


def test_the_life_of_a_repeat_on_every_database(shared):
    """All that is written, in one go: each database is started once for it."""
    probes = shared.tsumugi.repeats("probes", binding="proj.probe")
    probes.set("user:42", {"user_id": 42}, cron="0 20 * * *", time_zone="Europe/Berlin")
    view = probes.get("user:42")
    assert view is not None
    assert view.payload == {"user_id": 42}
    assert (view.cron, view.time_zone) == ("0 20 * * *", "Europe/Berlin")
    assert iso(view.next_run_at or 0) == "2026-05-01T18:00:00Z"

    # Unchanged times keep the next time, though the payload is another.
    shared.clock.to(ms("2026-05-02T07:00:00Z"))
    probes.set("user:42", {"user_id": 43}, cron="0 20 * * *", time_zone="Europe/Berlin")
    view = probes.get("user:42")
    assert iso(view.next_run_at) == "2026-05-01T18:00:00Z"
    assert view.payload == {"user_id": 43}
    assert iso(view.set_at) == "2026-05-01T12:00:00Z"

    # Changed times are computed anew.
    probes.set("user:42", {"user_id": 43}, cron="@daily", time_zone="UTC")
    view = probes.get("user:42")
    assert iso(view.next_run_at) == "2026-05-03T00:00:00Z"
    assert (view.cron, iso(view.set_at)) == ("0 0 * * *", "2026-05-02T07:00:00Z")

    # Paused it rests, also when its times are changed; resumed it runs from now on.
    assert probes.pause("user:42")
    assert probes.get("user:42").next_run_at is None
    probes.set("user:42", {}, cron="@hourly", time_zone="UTC")
    paused = probes.get("user:42")
    assert (paused.paused, paused.next_run_at, paused.cron) == (True, None, "0 * * * *")
    assert probes.resume("user:42")
    assert iso(probes.get("user:42").next_run_at) == "2026-05-02T08:00:00Z"

    # Ended, and set again.
    assert probes.cancel("user:42") is True
    assert probes.cancel("user:42") is False
    assert probes.get("user:42") is None
    assert not probes.pause("user:42")
    assert not probes.resume("user:42")
    assert probes.count() == 0
    probes.set("user:42", [], every=timedelta(hours=1))
    assert probes.get("user:42").next_run_at > shared.clock.now()

    # Ids are compared byte by byte, and listed in that order.
    ids = [
        "a",
        "A",
        "ä",
        "a ",
        "a:1",
        "a:10",
        "a:2",
        "b",
        "日本",
        "\U0001f600",
        "x" * 1024,
        "é" * 512,
    ]
    many = ({"id": each, "payload": {"of": each}, "every": "1h"} for each in ids)
    assert probes.set_many(many, batch=5) == len(ids)
    expected = sorted([*ids, "user:42"], key=lambda each: each.encode())
    assert [view.id for view in probes.list()] == expected
    assert [view.id for view in probes.list(prefix="a:")] == ["a:1", "a:10", "a:2"]
    assert probes.count(prefix="a:") == 3
    walked, after = [], None
    while page := probes.list(after=after, limit=4):
        walked += [view.id for view in page]
        after = page[-1].id
    assert walked == expected

    _again_and_together(shared, probes, ids)
    _transactions(shared, probes)
    _runs(shared, probes)


def _again_and_together(shared, probes, ids):
    # One batch twice over is the same as once.
    before = {view.id: view.next_run_at for view in probes.list()}
    shared.clock.to(shared.clock.now() + 10_000)
    probes.set_many([{"id": each, "payload": {"of": each}, "every": "1h"} for each in ids])
    assert {view.id: view.next_run_at for view in probes.list()} == before


def _transactions(shared, probes):
    """A user's row and their repeat commit or roll back together."""
    engine = create_engine(shared.ledger.url)
    users = Table("users", MetaData(), Column("name", String(20), primary_key=True))
    users.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(users).values(name="kept"))
        probes.set("user:kept", {}, every="1d", connection=connection)
        assert probes.get("user:kept", connection=connection) is not None
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(insert(users).values(name="lost"))
        probes.set("user:lost", {}, every="1d", connection=connection)
        probes.cancel("user:kept", connection=connection)
        transaction.rollback()
    with Session(engine) as session, session.begin():
        session.execute(insert(users).values(name="orm"))
        probes.set_many([{"id": "user:orm", "payload": {}, "every": "1d"}], connection=session)
    with engine.connect() as connection:
        names = set(connection.execute(select(users.c.name)).scalars())
    assert names == {"kept", "orm"}
    assert {view.id for view in probes.list(prefix="user:")} == {"user:42", "user:kept", "user:orm"}
    engine.dispose()


def _runs(shared, probes):
    """On this database too a beat claims, holds and lets go."""
    shared.clock.to(ms("2026-05-03T12:00:00Z"))
    for view in probes.list():
        probes.cancel(view.id)
    probes.set("one", {"n": 1}, cron="* * * * *", time_zone="UTC")
    shared.start()
    shared.at("2026-05-03T12:01:00Z", finish=False)
    shared.at("2026-05-03T12:02:00Z", finish=False)
    assert probes.get("one").waits_for_run
    shared.finish()
    shared.at("2026-05-03T12:02:05Z")
    shared.at("2026-05-03T12:03:00Z")
    assert shared.times("one") == ["2026-05-03T12:01:00Z", "2026-05-03T12:03:00Z"]


def test_a_set_during_a_run_is_not_lost(world):
    probes = world.tsumugi.repeats("probes", binding="proj.probe")
    probes.set("one", {"n": 1}, cron="* * * * *", time_zone="UTC")
    world.start()
    world.run_until("2026-05-01T12:01:01Z", finish=False)
    probes.set("one", {"n": 2}, cron="*/5 * * * *", time_zone="UTC")
    world.finish()
    world.run_until("2026-05-01T12:05:01Z", step=30_000)
    first, second = world.occurrences("one")
    assert '"n": 1' in first.body.replace('\\"', '"')
    assert '"n": 2' in second.body.replace('\\"', '"')
    assert iso(second.scheduled_at) == "2026-05-01T12:05:00Z"


def test_a_set_while_it_waits_for_its_run_is_not_lost(world):
    probes = world.tsumugi.repeats("probes", binding="proj.probe")
    probes.set("one", {}, cron="* * * * *", time_zone="UTC")
    world.start()
    world.run_until("2026-05-01T12:02:01Z", finish=False)
    assert probes.get("one").waits_for_run
    probes.set("one", {}, cron="*/10 * * * *", time_zone="UTC")
    world.finish()
    world.run_until("2026-05-01T12:10:01Z", step=30_000)
    assert world.times("one") == ["2026-05-01T12:01:00Z", "2026-05-01T12:10:00Z"]


def test_a_cancel_during_a_run_lets_it_finish_and_ends_the_repeat(world):
    probes = world.tsumugi.repeats("probes", binding="proj.probe")
    probes.set("one", {}, cron="* * * * *", time_zone="UTC")
    world.start()
    world.run_until("2026-05-01T12:01:01Z", finish=False)
    assert probes.cancel("one")
    assert world.occurrences("one")[0].state == states.QUEUED
    world.finish()
    world.run_until("2026-05-01T12:05:01Z", step=30_000)
    (only,) = world.occurrences("one")
    assert only.state == states.COMPLETED


def test_a_connection_of_another_database_is_told_so(world, tmp_path):
    probes = world.tsumugi.repeats("probes", binding="proj.probe")
    engine = create_engine(f"sqlite:///{tmp_path / 'other.sqlite3'}")
    with (
        engine.begin() as connection,
        pytest.raises(LedgerError, match="tsumugi_database_url"),
    ):
        probes.set("one", {}, every="1h", connection=connection)


@pytest.fixture
def probes(world):
    return world.tsumugi.repeats("probes", binding="proj.probe")


@pytest.mark.parametrize("bad", ["", "x" * 1025, "é" * 513, "a\0b", "\ud800", None, 7, b"x"])
def test_bad_ids_are_refused_and_name_nobody(probes, bad):
    with pytest.raises(DefinitionError, match=r"id: got .*1 to 1024 bytes"):
        probes.set(bad, {}, every="30s")
    assert probes.get(bad) is None
    assert probes.cancel(bad) is False
    assert probes.pause(bad) is False


@pytest.mark.parametrize(
    "bad",
    [
        {1: "x"}, {"a": {None: 1}}, [{"deep": [{2: 3}]}], {"a": {1, 2}}, {"a": b"x"}, object(),
        float("nan"), float("inf"), {"a": timedelta(1)}, {"a": "\ud800"}, {"\udfff": 1},
    ],
)  # fmt: skip
def test_payloads_that_are_not_json_are_refused(probes, bad):
    with pytest.raises(DefinitionError, match=r"payload: got .*JSON"):
        probes.set("one", bad, every="30s")


def test_a_payload_that_contains_itself_is_refused(probes):
    knot: list[object] = []
    knot.append(knot)
    with pytest.raises(DefinitionError, match="payload"):
        probes.set("one", knot, every="30s")


@pytest.mark.parametrize("bad", [[1, 2], None, "text", 5])
def test_a_payload_that_does_not_fit_the_task_is_refused(probes, bad):
    with pytest.raises(DefinitionError, match=r"arguments that fit proj\.probe"):
        probes.set("one", bad, every="30s")


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ({}, "neither every nor cron"),
        ({"every": "30s", "cron": "* * * * *", "time_zone": "UTC"}, "every and cron"),
        ({"every": "0s"}, "one second is the least"),
        ({"every": "soon"}, "a number and its unit"),
        ({"every": 30}, "every: got 30"),
        ({"every": ["30s"]}, "every: got"),
        ({"every": "30s", "time_zone": "UTC"}, "it belongs to cron"),
        ({"cron": "0 20 * * *"}, "time_zone: got nothing"),
        ({"cron": "0 20 * * *", "time_zone": ""}, "time_zone: got ''"),
        ({"cron": "0 20 * * *", "time_zone": "+09:00"}, "time_zone"),
        ({"cron": "0 20 * * *", "time_zone": "europe/berlin"}, "Europe/Berlin"),
        ({"cron": "@yearly", "time_zone": "UTC"}, "cron: got '@yearly'"),
        ({"cron": "0 0 31 2 *", "time_zone": "UTC"}, "an expression that occurs"),
        ({"cron": "61 * * * *", "time_zone": "UTC"}, "cron"),
    ],
)
def test_bad_times_are_refused(probes, times, told):
    """C251a: cron without a zone, among others."""
    with pytest.raises(DefinitionError) as caught:
        probes.set("one", {}, **times)
    assert told in str(caught.value)
    assert "repeat 'one' of 'probes'" in str(caught.value)
    assert probes.get("one") is None


def test_all_that_is_wrong_is_told_at_once(probes):
    with pytest.raises(DefinitionError) as caught:
        probes.set("", {1: 2}, every="0s", cron="x")
    assert [each.key for each in caught.value.problems] == [
        "id", "payload", "every", "every", "cron", "time_zone",
    ]  # fmt: skip


@pytest.mark.parametrize("item", [{}, {"id": "a"}, {"id": "a", "payload": {}, "evry": "1s"}, 7])
def test_a_bad_item_of_many_is_refused(probes, item):
    with pytest.raises(DefinitionError, match="a dict with id, payload"):
        probes.set_many([item])


@pytest.mark.parametrize("limit", [0, -1, True, 10_001, "5"])
def test_bad_limits_and_parts_are_refused(probes, limit):
    with pytest.raises(DefinitionError, match="limit"):
        probes.list(limit=limit)
    with pytest.raises(DefinitionError, match="prefix"):
        probes.list(prefix="a\0")


def test_collections_are_checked_when_they_are_made(world):
    with pytest.raises(DefinitionError, match="name"):
        world.tsumugi.repeats("no blanks", binding="proj.probe")
    with pytest.raises(DefinitionError, match="maxAtempts"):
        world.tsumugi.repeats("probes", binding="proj.probe", maxAtempts=3)
    with pytest.raises(DefinitionError, match="never overlaps itself"):
        world.tsumugi.repeats("probes", binding="proj.probe", overlap="skip")
    world.tsumugi.repeats("probes", binding="proj.probe", max_attempts=3)
    world.tsumugi.repeats("probes", binding="proj.probe", max_attempts=3)
    with pytest.raises(DefinitionError, match="defined twice"):
        world.tsumugi.repeats("probes", binding="proj.probe", max_attempts=4)


def test_an_unknown_binding_is_told_by_the_check(world):
    world.tsumugi.repeats("probes", binding="proj.prob")
    with pytest.raises(DefinitionError, match=r"binding: got 'proj\.prob'.*'proj\.probe'"):
        world.tsumugi.check()
