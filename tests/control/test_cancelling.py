"""Cancel: before it has started, while it runs, and after its end."""

import pytest

from tests.control.stage import MINUTE, Stage, job
from tsumugi_celery.core import states
from tsumugi_celery.core.errors import AlreadyFinished


def test_what_has_not_started_is_cancelled_at_once(stage: Stage):
    tsumugi = stage.define({"s": job(everyMs=MINUTE, concurrencyKey="k")})
    beat = stage.beat()
    queued, waiting = tsumugi.trigger("s"), tsumugi.trigger("s")
    for identifier in (waiting, queued):
        found = tsumugi.cancel(identifier)
        assert (found.state, found.wait, found.ended_at) == ("CANCELLED", None, stage.clock.time)
        assert found.error == "cancelled by hand"
        assert tsumugi.cancel(identifier) == found
    beat.chores.release()
    assert len(stage.messages()) == 1
    assert tsumugi.get("s").last_state == "CANCELLED"


@pytest.mark.parametrize("state", sorted({*states.FINISHED} - {states.CANCELLED}))
def test_what_has_ended_stays_as_it_is(small_stage: Stage, state: str):
    tsumugi = small_stage.define({"s": job(everyMs=MINUTE)})
    identifier = tsumugi.trigger("s")
    small_stage.finish(state)
    with pytest.raises(AlreadyFinished, match=f"is {state} already"):
        tsumugi.cancel(identifier)
    assert tsumugi.occurrence(identifier).state == state
