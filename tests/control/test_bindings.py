"""Bindings: listed, paused, resumed."""

import pytest

from tests.control.stage import MINUTE, Stage, job
from tsumugi_celery.core.errors import UnknownBinding

SYNC = {"Sync": {"task": "proj.add", "queue": "sync", "policy": {"concurrency": 3}}}


def test_declared_ones_and_tasks_are_listed(stage: Stage):
    tsumugi = stage.define(
        {"a": job(everyMs=MINUTE), "b": {**job(everyMs=MINUTE), "binding": "Sync"}}, bindings=SYNC
    )
    stage.beat()
    sync, task = tsumugi.bindings()
    assert (sync.name, sync.task, sync.queue, sync.concurrency) == ("Sync", "proj.add", "sync", 3)
    assert (task.name, task.task, task.paused, task.paused_at) == (
        "proj.add",
        "proj.add",
        False,
        None,
    )
    tsumugi.trigger("a")
    tsumugi.pause_binding("proj.add")
    tsumugi.trigger("a")
    task = tsumugi.bindings()[1]
    assert (task.unfinished, task.waiting) == (2, 1)


def test_pausing_and_resuming_twice_changes_nothing(stage: Stage):
    tsumugi = stage.define({"a": job(everyMs=MINUTE)})
    paused = tsumugi.pause_binding("proj.add")
    assert (paused.paused, paused.paused_at) == (True, stage.clock.time)
    stage.clock.time += 1_000
    assert tsumugi.pause_binding("proj.add") == paused
    resumed = tsumugi.resume_binding("proj.add")
    assert (resumed.paused, resumed.paused_at) == (False, None)
    assert tsumugi.resume_binding("proj.add") == resumed


@pytest.mark.parametrize("name", ["proj.ad", "", "\x00", "\ud800"])
def test_an_unknown_binding(stage: Stage, name: str):
    tsumugi = stage.define({"a": job(everyMs=MINUTE)})
    for call in (tsumugi.pause_binding, tsumugi.resume_binding):
        with pytest.raises(UnknownBinding, match="no binding is named"):
            call(name)


def test_the_binding_of_other_code_can_be_paused(small_stage: Stage):
    small_stage.define({"a": job(everyMs=MINUTE)})
    small_stage.beat()
    small_stage.close()
    tsumugi = small_stage.define({})
    (binding,) = tsumugi.bindings()
    assert (binding.name, binding.task) == ("proj.add", None)
    assert tsumugi.pause_binding("proj.add").paused
