"""The helpers that other tests stand on: real processes start, are heard, and end wholly."""

import os
import signal

import pytest

from tests.leash import alive
from tests.processes import Process, Project
from tests.servers import Broker
from tests.waiting import wait_for

SOURCE = """
    from celery import Celery

    app = Celery("proj")
    app.conf.update({settings!r})
    app.conf.beat_schedule = {{"tick": {{"task": "proj.tick", "schedule": 0.5}}}}

    @app.task
    def tick():
        print("ticked")
"""


def test_beat_and_worker_run_and_die_with_their_children(project: Project, broker: Broker):
    project.write(SOURCE.format(settings=broker.settings))
    worker = project.worker()
    beat = project.beat(scheduler="celery.beat.PersistentScheduler")
    worker.wait_log("ticked", count=2)
    assert "Sending due task tick" in beat.text()
    pool = worker.children()
    assert len(pool) >= 2
    worker.kill()
    assert not worker.running
    assert not [one for one in pool if alive(one)]
    assert beat.terminate() == 0


def test_a_pool_whose_main_process_was_killed_is_still_found(
    project: Project, filesystem_broker: Broker
):
    project.write(SOURCE.format(settings=filesystem_broker.settings))
    worker = project.worker()
    pool = worker.children()
    for one in pool:
        one.send_signal(signal.SIGSTOP)  # so that none ends by itself
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    worker.kill()
    assert not [one for one in pool if alive(one)]


def test_a_command_runs_to_its_end(project: Project, filesystem_broker: Broker):
    project.write(SOURCE.format(settings=filesystem_broker.settings))
    done = project.celery("report")
    assert done.returncode == 0
    assert "filesystem" in done.stdout
    assert project.celery("no-such-command").returncode != 0
    assert project.python("import proj; print(proj.app.main)") == "proj\n"


def test_a_process_that_ends_too_early_is_told_with_its_log(project: Project):
    project.write("raise RuntimeError('broken project')")
    with pytest.raises(AssertionError, match="broken project"):
        project.worker()


def test_a_wait_that_fails_shows_the_logs(project: Project):
    talker: Process = project.start("talker", "/bin/sh", "-c", "echo heard; sleep 60")
    talker.wait_log("heard")
    with pytest.raises(AssertionError, match=r"(?s)not within 0.1 s: the moon; .*talker-1\nheard"):
        project.wait_for(lambda: False, timeout=0.1, what="the moon")


def test_a_wait_returns_what_it_waited_for():
    values = iter(["", None, "here"])
    assert wait_for(lambda: next(values)) == "here"
