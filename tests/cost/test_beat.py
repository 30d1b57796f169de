"""What a tick costs: nothing for what is not due, and little for what is. Counts, never times."""

from pathlib import Path

import pytest

from tests.beat.bench import Bench, job
from tests.cost.counting import Count, counting
from tsumugi_celery.engine.cycle import FIRST_BATCH

HOUR = 3_600_000
#: Sets of values of one execution: the occurrence, its schedule moved on, and the same when sent.
#: All occurrences that were sent together are settled by one.
ROWS_OF_ONE = 3


@pytest.fixture
def bench(tmp_path: Path):
    """A bench whose beat sends at most 100 together."""
    made = Bench(tmp_path, tsumugi_batch_size=100)
    yield made
    made.stop()


def measured(bench: Bench, at: str) -> Count:
    """What one tick at this time asks the ledger; the chores of the beat have just been done."""
    cycle = bench.cycle
    assert cycle is not None
    cycle.chores.rounds.rest()
    with counting(bench.ledger) as count:
        bench.at(at, finish=False)
    return count


def start(bench: Bench, due: int, resting: int) -> None:
    bench.start(
        {
            **{f"due{i}": job(everyMs=60_000) for i in range(due)},
            **{f"resting{i}": job(everyMs=24 * HOUR) for i in range(resting)},
        }
    )
    bench.tick(finish=False)
    assert bench.ledger.id  # read once a process, by the first message


@pytest.mark.parametrize("due", [0, 5])
def test_what_is_not_due_costs_nothing(tmp_path: Path, due: int):
    counts = []
    for resting in (5, 500):
        folder = tmp_path / str(resting)
        folder.mkdir()
        bench = Bench(folder)
        start(bench, due, resting)
        counts.append(measured(bench, "2026-05-01T12:01:00Z"))
        bench.stop()
    few, many = counts
    assert many.statements == few.statements
    assert many.rows == few.rows
    # A deeper index takes a step or two more; 495 rows read in vain would take thousands.
    assert many.steps <= few.steps * 1.2 + 50


def test_a_tick_with_nothing_due_looks_once(bench):
    start(bench, 0, 20)
    assert len(measured(bench, "2026-05-01T12:01:00Z").statements) == 1


def test_a_second_without_work_costs_few_statements(bench):
    start(bench, 0, 20)
    cycle = bench.cycle
    assert cycle is not None
    bench.at("2026-05-01T12:00:10Z")  # what is looked after rarely has just been done
    with counting(bench.ledger) as count:
        bench.at("2026-05-01T12:00:10.500Z", finish=False)
        bench.at("2026-05-01T12:00:11Z", finish=False)
    # What is due next, two looks for work, who is there, and who holds claims.
    assert len(count.statements) <= 5
    # Nothing is written, so that many beats do not wait for each other.
    assert not [each for each in count.statements if not each.startswith("SELECT")]


@pytest.mark.parametrize("sizes", [(2, FIRST_BATCH - 1), (FIRST_BATCH + 5, FIRST_BATCH + 95)])
def test_a_batch_costs_the_same_statements_whatever_its_size(tmp_path: Path, sizes):
    texts = []
    for due in sizes:
        folder = tmp_path / str(due)
        folder.mkdir()
        bench = Bench(folder, tsumugi_batch_size=100)
        start(bench, due, 0)
        count = measured(bench, "2026-05-01T12:01:00Z")
        bench.stop()
        texts.append([each.partition(" IN ")[0] for each in count.statements])
    assert texts[0] == texts[1]
    # See what is next; claim (5) and settle (2) each batch; see what is next.
    batches = 1 if sizes[0] < FIRST_BATCH else 2
    assert len(texts[0]) <= 2 + 7 * batches


def test_the_first_messages_of_many_wait_for_a_small_claim_only(bench):
    start(bench, 60, 0)
    count = measured(bench, "2026-05-01T12:01:00Z")
    claims = [
        size
        for text, size in zip(count.statements, count.sizes, strict=True)
        if "INSERT INTO tsumugi_occurrence" in text
    ]
    assert claims == [FIRST_BATCH, 60 - FIRST_BATCH]


def test_an_occurrence_is_written_by_three_sets_of_values(tmp_path: Path):
    rows = []
    for due in (FIRST_BATCH + 10, FIRST_BATCH + 60):
        folder = tmp_path / str(due)
        folder.mkdir()
        bench = Bench(folder)
        start(bench, due, 0)
        rows.append(measured(bench, "2026-05-01T12:01:00Z").rows)
        bench.stop()
    assert rows[1] - rows[0] == ROWS_OF_ONE * 50


def test_a_burst_of_several_batches_costs_as_many_batches(bench):
    start(bench, 250, 0)
    count = measured(bench, "2026-05-01T12:01:00Z")
    inserts = [each for each in count.statements if "INSERT INTO tsumugi_occurrence" in each]
    # A small one first, then 100 each.
    assert len(inserts) == 4
    assert len(count.statements) <= 4 * 7 + 2


def test_counting_sees_a_table_that_is_read_whole(bench):
    start(bench, 0, 400)
    with counting(bench.ledger) as count, bench.ledger.read() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM tsumugi_schedule WHERE target = 'x'")
    assert count.steps > 1000
