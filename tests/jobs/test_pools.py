"""Which pools can keep `timeoutMs`."""

from __future__ import annotations

import logging
from importlib import import_module

import pytest

LIMITED = {"limited": {"binding": "work", "payload": {}, "everyMs": 60_000, "timeoutMs": 1}}
FREE = {"free": {"binding": "work", "payload": {}, "everyMs": 60_000}}


@pytest.mark.parametrize(
    ("pool", "told"),
    [
        ("prefork", None),
        ("gevent", "only the hard limit"),
        ("thread", "cannot end a running task"),
        ("solo", "cannot end a running task"),
    ],
)
def test_a_pool_that_cannot_keep_limits_is_told_of(bench, caplog, pool, told):
    from tsumugi_celery.worker.pools import say_limits

    beats = [bench(FREE), bench(LIMITED)]
    module = import_module(f"celery.concurrency.{pool}") if pool != "gevent" else None
    chosen = module.TaskPool if module is not None else type("P", (), {"__module__": "x.gevent"})
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for beat in beats:
            say_limits(beat.app, chosen)
    found = [
        each for each in caplog.records if getattr(each, "action", "") == "worker.no_time_limits"
    ]
    assert [told in each.getMessage() and "limited" in each.getMessage() for each in found] == (
        [True] if told else []
    )
