"""Large Runs: the right counts, and what following them costs."""

from __future__ import annotations

import pytest

from tests.flows.running import Flows

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def test_a_run_of_1000_tasks_ends_with_the_right_counts(project, redis_broker, sqlite_database):
    flows = Flows(project, sqlite_database.url, redis_broker)
    canvas = "chord([add.s(n) if n % 100 else boom.s() for n in range(998)], add.s()) | add.s(1)"
    flows.write({"R": canvas}, worker_prefetch_multiplier=16)
    (run,) = flows.start("R")
    assert flows.states(run) == {"QUEUED": 998, "SCHEDULED": 2}
    project.worker()
    row = flows.ended(run, 120)
    assert row.state == "FAILED"
    assert "ValueError: boom (and 9 more)" in row.error
    assert flows.states(run) == {"COMPLETED": 988, "FAILED": 10, "NOT_EXECUTED": 2}
    assert all(each.ended_at is not None for each in flows.tasks(run))
