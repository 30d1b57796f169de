"""Faults put into a beat at known places: a real ledger, a clock of the test's own."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from tests.beat.bench import Bench, FakeClock, job
from tests.servers import Database
from tests.waiting import wait_for
from tsumugi_celery.core import states
from tsumugi_celery.engine.heartbeat import WORKER, Heart, Watch
from tsumugi_celery.ledger.ledger import Ledger


@contextlib.contextmanager
def failing(engine: sa.Engine, beginning: str) -> Iterator[list[str]]:
    """The next statement that begins so fails once, as when the connection breaks."""
    hit: list[str] = []

    def fail(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith(beginning) and not hit:
            hit.append(statement)
            raise OperationalError(statement, {}, Exception("injected"))

    sa.event.listen(engine, "before_cursor_execute", fail)
    yield hit
    sa.event.remove(engine, "before_cursor_execute", fail)


@contextlib.contextmanager
def commit_unheard(engine: sa.Engine, wanted: str) -> Iterator[list[str]]:
    """One commit is done, and its answer lost; only of a transaction with such a statement."""
    hit: list[str] = []
    seen: list[str] = []
    dialect: Any = engine.dialect
    commit = dialect.do_commit

    def note(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    def lose(connection: Any) -> None:
        commit(connection)
        if any(each.startswith(wanted) for each in seen) and not hit:
            hit.append(wanted)
            raise dialect.loaded_dbapi.OperationalError("server closed the connection unexpectedly")
        seen.clear()

    sa.event.listen(engine, "before_cursor_execute", note)
    dialect.do_commit = lose
    yield hit
    dialect.do_commit = commit
    sa.event.remove(engine, "before_cursor_execute", note)


FAULTS = {
    "read": "SELECT min(",
    "claim": "INSERT INTO tsumugi_occurrence",
    "move on": "UPDATE tsumugi_schedule SET next_at",
    "settle": "UPDATE tsumugi_occurrence SET state=CASE",
    "look after others": "SELECT DISTINCT tsumugi_occurrence.claimed_by",
}


def go_on(bench: Bench, seconds: int) -> None:
    """Tick four times a second, as a beat that waits for a ledger does."""
    for _ in range(seconds * 4):
        bench.clock.to(bench.clock.now() + 250)
        bench.tick()


def all_is_right(bench: Bench, since: int) -> None:
    for name in ("one", "two"):
        bench.explained(name, lambda after, until: (until - after) // 1000, since)
        assert {row.state for row in bench.occurrences(name)} == {states.COMPLETED}
    sent = Counter(message.headers["id"] for message in bench.messages())
    known = {row.id for name in ("one", "two") for row in bench.occurrences(name)}
    assert set(sent) == known


@pytest.mark.parametrize("fault", FAULTS)
def test_a_statement_that_fails(tmp_path: Path, database: Database, fault: str):
    """C143: beat lives, nothing is lost, nothing twice."""
    bench = Bench(tmp_path)
    bench.url = database.url
    cycle = bench.start({"one": job(everyMs=1000), "two": job(everyMs=1000)})
    since = bench.clock.now()
    go_on(bench, 3)
    with failing(cycle.ledger.engine, FAULTS[fault]) as hit:
        go_on(bench, 6)
    assert hit
    go_on(bench, 3)
    all_is_right(bench, since)
    bench.stop()


@pytest.mark.parametrize(
    "part", ["INSERT INTO tsumugi_occurrence", "UPDATE tsumugi_occurrence SET state=CASE"]
)
def test_a_commit_whose_answer_is_lost(tmp_path: Path, database: Database, part: str):
    """C143: the ledger took the claim (or its end), and beat was told that it had failed."""
    bench = Bench(tmp_path)
    bench.url = database.url
    cycle = bench.start({"one": job(everyMs=1000), "two": job(everyMs=1000)})
    since = bench.clock.now()
    go_on(bench, 3)
    with commit_unheard(cycle.ledger.engine, part) as hit:
        go_on(bench, 6)
    assert hit
    go_on(bench, 3)
    all_is_right(bench, since)
    bench.stop()


def test_a_second_beat_that_cannot_claim_at_first(tmp_path: Path, database: Database):
    """C122: it sends nothing that it did not claim, and shares the work from then on."""
    schedules = {f"s{number}": job(everyMs=2000) for number in range(20)}
    first, second = Bench(tmp_path), Bench(tmp_path)
    second.url = first.url = database.url
    second.queue, second.clock = first.queue, first.clock
    first.start(schedules)
    cycle = second.start(schedules)
    with failing(cycle.ledger.engine, "INSERT INTO tsumugi_occurrence") as hit:
        for step in range(240):
            first.clock.to(first.clock.now() + 250)
            for beat in (first, second)[:: 1 if step % 16 < 8 else -1]:
                beat.tick()
    assert hit
    sent = Counter(message.headers["id"] for message in first.messages())
    assert set(sent.values()) == {1}
    assert len(sent) == 20 * 30
    for number in range(20):
        assert len(first.occurrences(f"s{number}")) == 30
    first.stop()
    second.stop()


def test_a_claim_that_ends_every_beat_is_given_up(tmp_path: Path):
    """A payload callable that kills its process must not take down one beat after another."""
    schedules = {"one": job(everyMs=60_000), "two": job(everyMs=1000)}
    bench = Bench(tmp_path)
    bench.start(schedules)
    bench.clock.to(bench.clock.now() + 60_000)
    assert bench.cycle is not None
    bench.cycle.claim(10)
    for _ in range(10):
        bench.crash()
        cycle = bench.start(schedules)
        cycle.send = lambda claims: []  # type: ignore[method-assign] # noqa: ARG005 - it dies before
        for _ in range(30):
            bench.clock.to(bench.clock.now() + 500)
            cycle.chores.look_after_others()
    row = bench.occurrences("one")[0]
    assert row.state == states.NOT_EXECUTED
    assert "does its payload callable end its process?" in row.error
    assert bench.row("one").n_failure == 1
    bench.crash()


@pytest.mark.parametrize("kind", ["sqlite_database", "postgres_database"])
def test_nothing_stays_open_between_ticks(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str
):
    """C146: a thousand ticks; no transaction is left open, the pool does not grow."""
    database: Database = request.getfixturevalue(kind)
    bench = Bench(tmp_path)
    bench.url = database.url
    cycle = bench.start({"one": job(everyMs=1000)})
    pool: Any = cycle.ledger.engine.pool
    sizes = set()
    with contextlib.closing(_watcher(database)) as watcher:
        for number in range(1000):
            bench.clock.to(bench.clock.now() + 250)
            cycle.tick()
            wait_for(lambda: pool.checkedout() == 0)  # the heartbeat's thread has its moments
            sizes.add(pool.checkedin())
            if number % 100 == 0 and watcher.dialect_name == "postgresql":
                wait_for(lambda: watcher.idle_in_transaction() == 0)
    assert max(sizes) <= 2
    if kind == "sqlite_database":
        # Nobody reads and nobody writes: another process gets all it wants at once.
        with sa.create_engine(database.url).connect() as other:
            other.exec_driver_sql("PRAGMA busy_timeout=0")
            other.exec_driver_sql("BEGIN EXCLUSIVE")
            other.exec_driver_sql("ROLLBACK")
    bench.stop()


class _watcher:  # noqa: N801 - used as a function
    def __init__(self, database: Database) -> None:
        self.engine = sa.create_engine(database.url)
        self.dialect_name = self.engine.dialect.name

    def idle_in_transaction(self) -> int:
        with self.engine.connect() as connection:
            query = (
                "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
                " AND datname = current_database()"
            )
            return int(connection.execute(sa.text(query)).scalar_one())

    def close(self) -> None:
        self.engine.dispose()


def test_an_outage_does_not_make_workers_look_gone(tmp_path: Path):
    """Time in which nobody could read the ledger is not held against those who could not write."""
    clock = FakeClock(1_800_000_000_000)
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    ledger.open()
    heart = Heart(ledger, "proj", WORKER, 5.0, clock)
    watch = Watch(20.0, clock.monotonic)

    def look_for(seconds: int) -> None:
        for _ in range(seconds):
            clock.to(clock.now() + 1000)
            with ledger.read() as connection:
                watch.look(connection, "proj", clock.now())

    heart.refresh()
    look_for(4)
    clock.to(clock.now() + 300_000)  # nobody reads, nobody writes
    look_for(10)
    assert not watch.is_gone(heart.id)
    heart.refresh()
    look_for(19)
    assert not watch.is_gone(heart.id)
    look_for(3)
    assert watch.is_gone(heart.id)
    heart.refresh()
    look_for(1)
    assert not watch.is_gone(heart.id)
    ledger.close()


@pytest.mark.parametrize("skew", [3_600_000, -3_600_000])
def test_a_wrong_clock_is_said_and_nobody_is_buried_for_it(tmp_path: Path, skew: int, caplog):
    clock, wrong = FakeClock(1_800_000_000_000), FakeClock(1_800_000_000_000 + skew)
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    ledger.open()
    heart = Heart(ledger, "proj", WORKER, 5.0, wrong, "other-machine")
    watch = Watch(20.0, clock.monotonic)
    for second in range(60):
        if second % 5 == 0:
            heart.refresh()
        with ledger.read() as connection:
            watch.look(connection, "proj", clock.now())
        clock.to(clock.now() + 1000)
        wrong.to(wrong.now() + 1000)
        assert not watch.is_gone(heart.id)
    assert watch.skews[heart.id] == skew
    said = [one for one in caplog.records if getattr(one, "action", "") == "clock.skew"]
    assert len(said) == 1
    assert f"{skew / 1000:+.1f} s off" in said[0].getMessage()
    ledger.close()
