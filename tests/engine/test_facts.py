"""Log lines: one for each fact, whatever a schedule is called."""

import logging

from tsumugi_celery.core.decide import Skipped
from tsumugi_celery.engine import facts
from tsumugi_celery.engine.claim import Claimed


def test_a_name_forges_no_line_of_the_log(caplog):
    log = logging.getLogger("test.facts")
    result = Claimed(skipped=[("evil\nforged\x1b[31m", Skipped("overlap", 1, 1, 1))])
    with caplog.at_level(logging.INFO, log.name):
        facts.claimed(log, result)
    (record,) = caplog.records
    assert record.action == "occurrence.skipped"
    assert len(record.getMessage().splitlines()) == 1
    assert "\x1b" not in record.getMessage()
