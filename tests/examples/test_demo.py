"""The demo: real processes, each occurrence printed, a summary, nothing left behind."""

import re
import signal
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from tests.processes import REPOSITORY

RUN = str(REPOSITORY / "examples" / "demo" / "run.py")


def left_behind() -> set[str]:
    """Return the folders of demos that were not cleaned away."""
    return {str(path) for path in Path(tempfile.gettempdir()).glob("tsumugi-demo-*")}


@pytest.mark.e2e
@pytest.mark.timeout(180)
def test_demo_prints_executions_and_why_others_did_not_run(project):
    before = left_behind()
    done = project.run(sys.executable, RUN, "--seconds", "10", timeout=150)
    assert done.returncode == 0, done.stdout
    assert re.search(r"quick +COMPLETED sent \d+ ms after its time", done.stdout)
    assert re.search(r"slow +not executed \(overlap\)", done.stdout)
    assert "not executed (failure): ZeroDivisionError" in done.stdout
    assert re.search(r"fragile +FAILED .*2 attempts: ConnectionError", done.stdout)
    summary = done.stdout.partition("Summary")[2]
    (count,) = re.findall(r"^(\d+) executions completed", summary, re.MULTILINE)
    assert int(count) >= 5
    assert re.search(r"^ +plain +\d+", summary, re.MULTILINE)
    assert left_behind() <= before


@pytest.mark.e2e
@pytest.mark.timeout(180)
def test_an_interrupted_demo_ends_its_processes(project):
    demo = project.start("demo", sys.executable, RUN, "--seconds", "0")
    demo.wait_log("Flower:", 90)
    children = psutil.Process(demo.pid).children(recursive=True)
    assert len(children) >= 4
    demo.send(signal.SIGTERM)
    assert demo.wait(60) == 0
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
