"""A child process never touches its parent's connections."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.ledger.making import NOW, add_schedule
from tsumugi_celery.ledger import schedules
from tsumugi_celery.ledger.ledger import Ledger


def in_child(work: Callable[[], object]) -> int:
    """Run something in a fork, with all inherited files closed as Celery does; its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.closerange(3, 256)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_child_reads_and_writes_by_itself(ledger: Ledger):
    """`worker -B`: the child closes all files it has inherited."""
    number = add_schedule(ledger)
    change = {"id": number, "next_at": NOW + 5}
    assert in_child(lambda: ledger.transact(lambda c: schedules.update_all(c, [change]))) == 0
    with ledger.read() as connection:
        row = schedules.find(connection, "proj", "one")
    assert row is not None
    assert row.next_at == NOW + 5


def test_no_connection_is_inherited(tmp_path: Path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    ledger.open()

    assert any("ledger.sqlite3" in one.path for one in psutil.Process().open_files())
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            held = [one.path for one in psutil.Process().open_files()]
            code = 2 if any("ledger.sqlite3" in one for one in held) else 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    ledger.close()


def test_forks_amid_the_work_of_threads(tmp_path: Path):
    """Heartbeats and reports go on while the pool replaces its children."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    ledger.open()
    number = add_schedule(ledger)
    over = threading.Event()
    failed: list[BaseException] = []

    def work(step: int) -> None:
        while not over.is_set():
            change = {"id": number, "next_at": NOW + step}
            try:
                with ledger.begin() as connection:
                    schedules.update_all(connection, [change])
            except Exception as exc:  # noqa: BLE001 - told by the assertion below
                failed.append(exc)
                return

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for one in threads:
        one.start()
    change = {"id": number, "next_at": NOW + 9}
    codes = [
        in_child(lambda: ledger.transact(lambda c: schedules.update_all(c, [change])))
        for _ in range(20)
    ]
    over.set()
    for one in threads:
        one.join(30)
    ledger.close()
    assert failed == []
    assert codes == [0] * 20


def test_a_fork_in_the_middle_of_ones_own_transaction_does_not_wait_for_itself(tmp_path: Path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    ledger.open()
    began = time.monotonic()
    with ledger.read():
        assert in_child(lambda: None) == 0
    assert time.monotonic() - began < 5
    ledger.close()
