"""The disk of the ledger is full for a while: beat says so, waits, and loses nothing."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.stage import Stage
from tests.servers import Broker, Database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of 3 MB, or a skip where nobody may mount one."""
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("mounting a small disk needs root")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=False
    )
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_the_disk_of_the_ledger_is_full(make_stage, tmp_path: Path, redis_broker: Broker):
    with small_disk(tmp_path / "disk") as disk:
        database = Database("sqlite", f"sqlite:///{disk / 'ledger.sqlite3'}")
        stage: Stage = make_stage(database, redis_broker)
        stage.write(
            """{f"s{n}": {"binding": "proj.job", "payload": [], "everyMs": 1000}
                for n in range(20)}"""
        )
        beat = stage.beat()
        worker = stage.worker("-c", "2")
        stage.wait(lambda: len(stage.runs()) >= 40, what="at work")
        with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        beat.wait_log("The ledger is away", timeout=40)
        known = len(stage.runs())
        (disk / "ballast").unlink()
        beat.wait_log("The ledger is back", timeout=40)
        stage.wait(lambda: len(stage.runs()) >= known + 40, what="at work again")
        assert beat.running
        assert worker.running
        assert stage.settle().problems == []
        for process in (*stage.project.processes,):
            process.kill()
        stage.close()
