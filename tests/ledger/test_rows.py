"""Claims, inserts and moves: what two at once may do to one row."""

import threading
from typing import Any

from sqlalchemy import func, select, update

from tests.ledger.making import (
    NOW,
    a_schedule,
    add_occurrence,
    add_schedule,
    an_occurrence,
    the_occurrence,
)
from tsumugi_celery.core import states
from tsumugi_celery.core.decide import Skipped
from tsumugi_celery.ledger import (
    attempts,
    bindings,
    claiming,
    nodes,
    occurrences,
    schedules,
    stretches,
)
from tsumugi_celery.ledger.ledger import Ledger
from tsumugi_celery.ledger.schema import occurrence, schedule, stretch


def test_due_schedules_come_longest_due_first_and_no_more_than_asked_for(ledger: Ledger):
    rows = [a_schedule(f"s{n}", next_at=NOW - n) for n in range(5)]
    rows += [a_schedule("later", next_at=NOW + 1), a_schedule("never", next_at=None)]
    rows += [a_schedule("stranger", namespace="other")]
    with ledger.begin() as connection:
        schedules.insert_all(connection, rows)
        found = schedules.due(connection, "proj", now=NOW, limit=3)
        assert [row.name for row in found] == ["s4", "s3", "s2"]
        assert schedules.next_due(connection, "proj") == NOW - 4


def test_definitions_of_another_beat_are_left_to_it(ledger: Ledger):
    add_schedule(ledger, "mine")
    add_schedule(ledger, "theirs", fingerprint="x" * 32, next_at=NOW - 5)
    with ledger.begin() as connection:
        found = schedules.due(connection, "proj", now=NOW, limit=9, foreign={"x" * 32})
        assert [row.name for row in found] == ["mine"]
        assert schedules.next_due(connection, "proj", foreign={"x" * 32}) == NOW


def test_two_claims_at_once_share_the_rows_without_waiting(ledger: Ledger):
    """Where rows can be locked one by one, the second takes what the first has left."""
    if ledger.dialect == "sqlite":
        return  # one writer at a time; the next test covers it
    with ledger.begin() as connection:
        schedules.insert_all(connection, [a_schedule(f"s{n}", next_at=NOW - n) for n in range(4)])
    with ledger.begin() as first:
        mine = schedules.due(first, "proj", now=NOW, limit=2)
        with ledger.begin() as second:
            theirs = schedules.due(second, "proj", now=NOW, limit=4)
    names = sorted(row.name for row in [*mine, *theirs])
    assert len(names) == len(set(names))
    assert {row.name for row in mine} == {"s3", "s2"}


def test_claims_of_many_at_once_take_each_time_once(ledger: Ledger):
    """C122 at the level of rows: four claimants, one occurrence for each scheduled time."""
    with ledger.begin() as connection:
        schedules.insert_all(connection, [a_schedule(f"s{n}") for n in range(20)])
    taken: list[str] = []
    failed: list[BaseException] = []

    def claim(connection: Any) -> set[str]:
        rows = schedules.due(connection, "proj", now=NOW, limit=3)
        values = [an_occurrence(f"{row.name}-{NOW}", row.id) for row in rows]
        inserted = claiming.insert_or_lose(connection, values)
        schedules.update_all(connection, [{"id": row.id, "next_at": NOW + 1000} for row in rows])
        return inserted

    def work() -> None:
        try:
            while mine := ledger.transact(claim):
                taken.extend(mine)
        except BaseException as exc:  # noqa: BLE001 - told by the assertion below
            failed.append(exc)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert failed == []
    # A claim that finds all rows locked ends early; what is left is due for the next one.
    while mine := ledger.transact(claim):
        taken.extend(mine)
    assert sorted(taken) == sorted(f"s{n}-{NOW}" for n in range(20))


def test_insert_or_lose_leaves_what_is_there(ledger: Ledger):
    number = add_schedule(ledger)
    add_occurrence(ledger, "a", number, at=NOW, error="the first")
    with ledger.begin() as connection:
        inserted = claiming.insert_or_lose(
            connection,
            [
                an_occurrence("b", number, NOW + 1),
                an_occurrence("a", number, NOW + 2),  # the id is taken
                an_occurrence("c", number, NOW),  # the time is taken
                an_occurrence("d", number, NOW + 3),
            ],
        )
        assert inserted == {"b", "d"}
        assert claiming.insert_or_lose(connection, []) == set()
        assert connection.scalar(select(func.count()).select_from(occurrence)) == 3
    assert the_occurrence(ledger, "a").error == "the first"


def test_a_manual_execution_has_a_place_of_its_own(ledger: Ledger):
    number = add_schedule(ledger)
    with ledger.begin() as connection:
        rows = [an_occurrence(f"m{n}", number, NOW, manual=n) for n in range(3)]
        assert claiming.insert_or_lose(connection, rows) == {"m0", "m1", "m2"}


def test_settling_does_not_set_back_a_worker_that_was_ahead(ledger: Ledger):
    number = add_schedule(ledger)
    ids = {"mine": "me", "ahead": "me", "theirs": "another beat"}
    for at, (name, holder) in enumerate(ids.items()):
        add_occurrence(ledger, name, number, at=NOW + at, claimed_by=holder)
    with ledger.begin() as connection:
        assert occurrences.move(connection, "ahead", states.RUNNING, attempt=1)
        rows = [{"id": one, "fired_at": NOW, "body": "x", "queue": "q"} for one in ids]
        occurrences.settle_sent(connection, "me", rows)
    assert the_occurrence(ledger, "mine").state == states.QUEUED
    assert the_occurrence(ledger, "ahead").state == states.RUNNING
    assert the_occurrence(ledger, "ahead").fired_at == NOW
    assert the_occurrence(ledger, "theirs").state == states.CLAIMED


def test_a_move_names_the_state_it_leaves(ledger: Ledger):
    number = add_schedule(ledger)
    for at, old in enumerate(states.STATES):
        for offset, new in enumerate(states.STATES):
            identifier = f"{old}-{new}"
            add_occurrence(ledger, identifier, number, at=NOW + at * 100 + offset, state=old)
            with ledger.autocommit() as connection:
                moved = occurrences.move(connection, identifier, new, error="moved")
            assert moved == (new in states.MOVES[old])
            assert the_occurrence(ledger, identifier).state == (new if moved else old)


def test_a_move_with_a_condition(ledger: Ledger):
    number = add_schedule(ledger)
    add_occurrence(ledger, "a", number, state=states.RUNNING, attempt=2)
    with ledger.begin() as connection:
        first = occurrence.c.attempt == 1
        assert not occurrences.move(connection, "a", states.COMPLETED, first)
        assert occurrences.move(connection, "a", states.COMPLETED, occurrence.c.attempt == 2)
        assert not occurrences.move(connection, "nobody", states.COMPLETED)


def test_of_many_who_move_one_row_one_wins(ledger: Ledger):
    add_occurrence(ledger, "a", add_schedule(ledger), state=states.QUEUED)
    won: list[int] = []

    def work(number: int) -> None:
        with ledger.autocommit() as connection:
            where = occurrence.c.attempt < 1
            if occurrences.move(connection, "a", states.RUNNING, where, attempt=1, pid=number):
                won.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    (winner,) = won
    assert the_occurrence(ledger, "a").pid == winner


def test_an_update_that_changes_nothing_still_counts_as_a_hit(ledger: Ledger):
    """MySQL counts changed rows unless it is told to count found ones."""
    add_occurrence(ledger, "a", add_schedule(ledger), state=states.RUNNING, attempt=1)
    with ledger.autocommit() as connection:
        assert occurrences.move(connection, "a", states.RUNNING, attempt=1)
    with ledger.begin() as connection:
        nodes.register(
            connection,
            id="n",
            namespace="proj",
            role="beat",
            hostname="h",
            pid=1,
            started_at=NOW,
            seen_at=NOW,
            info="{}",
        )
        assert nodes.refresh(connection, "n", at=NOW, info="{}")
        assert not nodes.refresh(connection, "other", at=NOW, info="{}")


def test_unfinished_executions_and_those_that_report_to_nobody(ledger: Ledger):
    numbers = [add_schedule(ledger, f"s{n}") for n in range(4)]
    add_occurrence(ledger, "a", numbers[0], state=states.SCHEDULED)
    add_occurrence(ledger, "b", numbers[1], state=states.COMPLETED)
    add_occurrence(ledger, "c", numbers[2], state=states.QUEUED, untracked=True)
    with ledger.begin() as connection:
        assert claiming.unfinished_schedules(connection, numbers) == {numbers[0]}
        assert claiming.unfinished_schedules(connection, []) == set()


def test_the_last_execution_is_the_latest_scheduled_one(ledger: Ledger):
    number = add_schedule(ledger, last_error="old", last_error_at=NOW)
    fired = {"schedule_id": number, "fired_at": NOW + 9, "run_id": None}
    with ledger.begin() as connection:
        schedules.record_fired(connection, [{**fired, "scheduled_at": NOW + 5, "job_id": "b"}])
        schedules.record_fired(connection, [{**fired, "scheduled_at": NOW + 1, "job_id": "a"}])
        row = schedules.find(connection, "proj", "one")
    assert row is not None
    assert (row.last_run_at, row.last_job_id, row.last_run_id) == (NOW + 5, "b", None)
    assert (row.last_error, row.last_error_at) == (None, None)


def test_failures_are_counted_and_the_last_skipped_time_never_goes_back(ledger: Ledger):
    number = add_schedule(ledger)
    with ledger.begin() as connection:
        for at in (NOW, NOW + 5, NOW + 1):
            schedules.record_failure(
                connection, number, scheduled_at=at, at=NOW + 9, error=f"failed {at}"
            )
        row = schedules.find(connection, "proj", "one")
    assert row is not None
    assert (row.n_failure, row.last_skipped_at) == (3, NOW + 5)
    assert row.last_error == f"failed {NOW + 1}"


def test_a_stretch_grows(ledger: Ledger):
    number = add_schedule(ledger)
    with ledger.begin() as connection:
        stretches.add(connection, [(number, Skipped("delay", NOW, NOW + 2, 3))], at=NOW)
        more = Skipped("delay", NOW + 3, NOW + 9, 7)
        stretches.lengthen(connection, [(number, NOW, more)], at=NOW + 9)
        row: Any = connection.execute(select(stretch)).one()
    assert (row.first_at, row.last_at, row.count, row.cause) == (NOW, NOW + 9, 10, "delay")


def test_an_attempt_is_recorded_once(ledger: Ledger):
    with ledger.begin() as connection:
        attempts.add(connection, "a", 1, state="FAILED", error="first")
        attempts.add(connection, "a", 1, state="FAILED", error="second")
        attempts.add(connection, "a", 2, state="FAILED", error="third")
        assert [row.error for row in attempts.of_occurrence(connection, "a")] == ["first", "third"]


def test_the_lock_of_a_binding_makes_its_row(ledger: Ledger):
    for _ in range(2):
        with ledger.begin() as connection:
            bindings.lock(connection, "proj", ["Mail", "mail"])
            assert bindings.paused(connection, "proj") == frozenset()


def test_a_transaction_that_loses_is_tried_again(ledger: Ledger):
    """Two transactions that take two rows in opposite orders: one must give way and be repeated."""
    if ledger.dialect == "sqlite":
        return  # there is nothing to deadlock with: one writer at a time
    numbers = [add_schedule(ledger, name) for name in ("a", "b")]
    together = threading.Barrier(2, timeout=20)
    runs: list[int] = []

    def work(order: list[int]) -> None:
        first_time = True

        def change(connection: Any) -> None:
            nonlocal first_time
            runs.append(1)
            for number in order:
                connection.execute(
                    update(schedule)
                    .where(schedule.c.id == number)
                    .values(n_pause=schedule.c.n_pause + 1)
                )
                if first_time and number == order[0]:
                    first_time = False
                    together.wait()

        ledger.transact(change)

    threads = [threading.Thread(target=work, args=(o,)) for o in (numbers, numbers[::-1])]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    with ledger.read() as connection:
        assert set(connection.execute(select(schedule.c.n_pause)).scalars()) == {2}
    assert len(runs) == 3


def test_no_transaction_stays_open(ledger: Ledger):
    """C146 at the level of rows."""
    ledger.close()  # what the tests before have opened
    number = add_schedule(ledger)
    for n in range(50):
        with ledger.read() as connection:
            schedules.next_due(connection, "proj")
        with ledger.begin() as connection:
            schedules.update_all(connection, [{"id": number, "next_at": NOW + n}])
    pool: Any = ledger.engine.pool
    assert pool.checkedout() == 0
    assert pool.checkedin() == 1


def test_a_stretch_that_is_recorded_already_keeps_its_row_and_the_longer_end(ledger: Ledger):
    def add(last: int, count: int) -> None:
        long = Skipped(states.DELAY, NOW, last, count)
        fresh = Skipped(states.PAUSE, NOW + 1, NOW + 1, 1)
        with ledger.begin() as connection:
            connection.execute(stretch.delete().where(stretch.c.cause == states.PAUSE))
            stretches.add(connection, [(1, long), (1, fresh)], at=NOW)

    for last, count in ((NOW + 2000, 3), (NOW + 5000, 6), (NOW + 1000, 2)):
        add(last, count)
    with ledger.read() as connection:
        rows = connection.execute(select(stretch).order_by(stretch.c.first_at)).all()
    assert [(row.last_at, row.cause) for row in rows] == [
        (NOW + 5000, states.DELAY),
        (NOW + 1, states.PAUSE),
    ]
    assert rows[0]._mapping["count"] == 6


def test_what_was_sent_alike_is_settled_together(ledger: Ledger):
    """With few statements, and each row as if it were settled alone."""
    number = add_schedule(ledger)
    total = 2 * schedules.CHUNK + 3
    ids = [f"proj.s-{at}" for at in range(total)]
    for at, one in enumerate(ids):
        add_occurrence(ledger, one, number, at=NOW + at, claimed_by="me", body=f"kept {at}")
    rows = [
        {"id": one, "fired_at": NOW, "body": None, "queue": "odd" if at % 2 else None}
        for at, one in enumerate(ids)
    ]
    rows[7]["body"] = "given later"
    with ledger.begin() as connection:
        occurrences.settle_sent(connection, "me", rows)
    for at in (0, 1, 6, total - 2, total - 1):
        row = the_occurrence(ledger, ids[at])
        assert (row.state, row.fired_at, row.body) == (states.QUEUED, NOW, f"kept {at}")
        assert row.queue == ("odd" if at % 2 else None)
    assert the_occurrence(ledger, ids[7]).body == "kept 7"
    with ledger.read() as connection:
        left = select(func.count()).where(occurrence.c.state != states.QUEUED)
        assert connection.execute(left).scalar_one() == 0
