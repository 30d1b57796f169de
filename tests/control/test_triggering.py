"""Trigger: run a schedule once now."""

import threading
from datetime import datetime, timezone
from typing import Any

import pytest

from tests.control.stage import MINUTE, Stage, job, ms
from tests.servers.ports import free_port
from tests.waiting import wait_for
from tsumugi_celery import DispatchError
from tsumugi_celery.core.errors import NotDefinedHere
from tsumugi_celery.engine.heartbeat import CONTROL
from tsumugi_celery.ledger import nodes

WEDNESDAY = ms("2026-04-08T12:00:00Z")


def test_it_is_sent_by_the_call_itself(stage: Stage):
    """C181: with no beat there; the answer carries the id."""
    tsumugi = stage.define({"s": job(cron="0 9 * * 1", timeZone="Asia/Tokyo")})
    identifier = tsumugi.trigger("s")
    assert identifier == f"{stage.namespace}.s-{stage.clock.time}-1-manual"
    (message,) = stage.messages()
    assert message.headers["id"] == identifier
    assert message.headers["tsumugi"]["at"] == stage.clock.time
    found = tsumugi.occurrence(identifier)
    assert (found.state, found.manual, found.scheduled_at) == ("QUEUED", True, stage.clock.time)
    view = tsumugi.get("s")
    assert (view.last_job_id, view.last_run_at, view.last_fired_at, view.last_state) == (
        identifier,
        stage.clock.time,
        stage.clock.time,
        "QUEUED",
    )


def test_the_next_regular_time_does_not_move(stage: Stage):
    """C180: `0 9 * * 1` in Tokyo, triggered on a Wednesday."""
    stage.clock.time = WEDNESDAY
    tsumugi = stage.define({"s": job(cron="0 9 * * 1", timeZone="Asia/Tokyo")})
    beat = stage.beat()
    before = tsumugi.get("s")
    tsumugi.trigger("s")
    after = tsumugi.get("s")
    assert before.next_run_at == after.next_run_at == ms("2026-04-13T00:00:00Z")
    stage.finish()
    stage.messages()
    stage.clock.time = ms("2026-04-13T00:00:00Z")
    beat.claim_all()
    (message,) = stage.messages()
    assert message.headers["tsumugi"]["at"] == stage.clock.time


def test_overlap_is_not_evaluated_but_a_manual_run_counts_as_one(stage: Stage):
    """C155: the previous job still runs; a new one is made, and the next regular one is skipped."""
    tsumugi = stage.define({"s": job(cron="* * * * *")})
    beat = stage.beat()
    stage.clock.time += MINUTE
    beat.claim_all()
    assert len({tsumugi.trigger("s") for _ in range(3)}) == 3
    assert len(stage.messages()) == 4
    assert tsumugi.get("s").unfinished == 4
    stage.clock.time += MINUTE
    beat.claim_all()
    assert stage.messages() == []
    assert stage.counts("s") == (1, 0, 0, 0)


def test_a_paused_schedule_runs_when_triggered(stage: Stage):
    tsumugi = stage.define({"s": job(cron="* * * * *")})
    beat = stage.beat()
    tsumugi.pause("s")
    for _ in range(2):
        stage.clock.time += MINUTE
        beat.claim_all()
    tsumugi.trigger("s")
    stage.clock.time += MINUTE
    beat.claim_all()
    assert len(stage.messages()) == 1
    assert [(each.manual, each.count, each.cause) for each in tsumugi.occurrences("s")] == [
        (False, 1, "pause"),
        (True, 1, None),
        (False, 2, "pause"),
    ]


def test_a_manual_run_has_the_options_of_a_regular_one(stage: Stage):
    """C168: priority, time limits, attempts and routing are the same."""
    definition = job(
        everyMs=MINUTE,
        priority=7,
        timeoutMs=30_000,
        maxAttempts=3,
        expiresMs=60_000,
        guarantee="at-most-once",
        options={"headers": {"x": "y"}},
    )
    tsumugi = stage.define({"s": definition})
    beat = stage.beat()
    stage.clock.time += MINUTE
    beat.claim_all()
    stage.clock.time += 1_000
    tsumugi.trigger("s")
    regular, manual = stage.messages()
    assert manual.payload == regular.payload
    assert manual.properties["priority"] == regular.properties["priority"]
    for each in (regular, manual):
        for key in ("id", "root_id", "expires"):
            each.headers.pop(key, None)
        each.headers["tsumugi"].pop("at")
        each.headers.pop("stamps", None)
    assert manual.headers == regular.headers
    one, other = tsumugi.occurrences("s")
    assert (one.max_attempts, one.target, one.binding) == (3, other.target, other.binding)
    assert one.expires_at == one.scheduled_at + 60_000


def test_the_callable_is_called_with_the_moment_of_the_trigger(small_stage: Stage):
    told: list[Any] = []

    def payload(occurrence: Any) -> dict[str, Any]:
        told.append(occurrence)
        return {"x": occurrence.scheduled_at.isoformat()}

    tsumugi = small_stage.define(
        {
            "s": {
                "binding": "proj.add",
                "payload": payload,
                "cron": "0 9 * * *",
                "timeZone": "Asia/Tokyo",
            }
        }
    )
    identifier = tsumugi.trigger("s")
    (occurrence,) = told
    assert occurrence.occurrence_id == identifier
    assert occurrence.scheduled_at == datetime(2026, 3, 1, tzinfo=timezone.utc)
    (message,) = small_stage.messages()
    assert message.payload[1] == {"x": "2026-03-01T09:00:00+09:00"}


def _fails(_occurrence: object) -> object:
    raise RuntimeError("no such customer")


def _hangs(_occurrence: object) -> object:
    return threading.Event().wait(20)


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (_fails, "RuntimeError: no such customer"),
        (_hangs, "tsumugi_payload_timeout"),
        (lambda _: {"x": object()}, "serializable"),
    ],
    ids=["raises", "hangs", "not serializable"],
)
def test_what_cannot_be_enqueued_is_said_and_recorded(small_stage: Stage, payload: Any, told: str):
    """C197: the next success clears the reason, and nothing is tried again."""
    definitions = {"s": {"binding": "proj.add", "payload": payload, "everyMs": MINUTE}}
    tsumugi = small_stage.define(definitions, tsumugi_payload_timeout=0.2)
    with pytest.raises(DispatchError, match=told):
        tsumugi.trigger("s")
    view = tsumugi.get("s")
    assert told in (view.last_error or "")
    assert view.last_error_at == small_stage.clock.time
    assert small_stage.counts("s") == (0, 0, 0, 1)
    (occurrence,) = tsumugi.occurrences("s")
    assert (occurrence.state, occurrence.cause) == ("NOT_EXECUTED", "failure")
    small_stage.close()
    tsumugi = small_stage.define({"s": job(everyMs=MINUTE)})
    beat = small_stage.beat()
    beat.chores.run()
    beat.claim_all()
    assert small_stage.messages() == []
    tsumugi.trigger("s")
    assert tsumugi.get("s").last_error is None
    assert small_stage.counts("s") == (0, 0, 0, 1)


def test_a_broker_that_is_away_means_no_surprise_later(stage: Stage):
    """C181: an error, a recorded failure, and no run when the broker is back."""
    definitions = {"s": job(cron="0 0 1 1 *")}
    tsumugi = stage.define(
        definitions,
        broker=f"redis://127.0.0.1:{free_port()}/0",
        tsumugi_publish_timeout=0.5,
    )
    with pytest.raises(DispatchError):
        tsumugi.trigger("s")
    (occurrence,) = tsumugi.occurrences("s")
    assert (occurrence.state, occurrence.cause) == ("NOT_EXECUTED", "failure")
    stage.close()
    stage.define(definitions)
    beat = stage.beat()
    beat.chores.run()
    beat.claim_all()
    assert stage.messages() == []
    assert stage.counts("s") == (0, 0, 0, 1)


def test_a_held_back_job_is_sent_when_its_turn_comes(stage: Stage):
    tsumugi = stage.define({"s": job(everyMs=MINUTE, concurrencyKey="customer")})
    beat = stage.beat()
    first, second = tsumugi.trigger("s"), tsumugi.trigger("s")
    assert tsumugi.occurrence(first).state == "QUEUED"
    held = tsumugi.occurrence(second)
    assert (held.state, held.wait) == ("SCHEDULED", "slot")
    assert len(stage.messages()) == 1
    beat.chores.release()
    assert stage.messages() == []
    tsumugi.cancel(first)
    beat.chores.release()
    (message,) = stage.messages()
    assert message.headers["id"] == second


def test_a_paused_binding_holds_it_back(stage: Stage):
    tsumugi = stage.define({"s": job(everyMs=MINUTE)})
    beat = stage.beat()
    tsumugi.pause_binding("proj.add")
    identifier = tsumugi.trigger("s")
    assert tsumugi.occurrence(identifier).wait == "binding"
    assert stage.messages() == []
    tsumugi.resume_binding("proj.add")
    beat.chores.release()
    assert len(stage.messages()) == 1


def test_a_schedule_of_other_code_is_listed_but_not_triggered(small_stage: Stage):
    small_stage.define({"s": job(everyMs=MINUTE)})
    small_stage.beat()
    small_stage.close()
    tsumugi = small_stage.define({})
    assert not tsumugi.get("s").defined_here
    with pytest.raises(NotDefinedHere, match="does not define it"):
        tsumugi.trigger("s")
    assert tsumugi.occurrences("s") == []


def test_a_trigger_leaves_no_node_behind(small_stage: Stage):
    tsumugi = small_stage.define({"s": job(everyMs=MINUTE)})
    tsumugi.trigger("s")
    with tsumugi._state.ledger.read() as connection:
        assert nodes.of_namespace(connection, small_stage.namespace) == []


def test_a_slow_payload_is_not_taken_for_a_process_that_died(small_stage: Stage):
    """A beat that looks on while a trigger's callable takes its time must not send it itself."""
    go_on = threading.Event()

    def payload(_occurrence: object) -> dict[str, Any]:
        assert go_on.wait(20)
        return {"x": 1}

    tsumugi = small_stage.define(
        {"s": {"binding": "proj.add", "payload": payload, "everyMs": MINUTE}},
        tsumugi_presumed_gone=1.0,
        tsumugi_heartbeat=0.1,
    )
    beat = small_stage.beat()
    thread = threading.Thread(target=tsumugi.trigger, args=("s",))
    thread.start()
    state = tsumugi._state

    def beats() -> int:
        with state.ledger.read() as connection:
            found = nodes.of_namespace(connection, small_stage.namespace)
        beat.chores.look_after_others()
        return max((each.beats for each in found if each.role == CONTROL), default=0)

    # A dead process is taken for gone after 0.5 s: five missed heartbeats.
    wait_for(lambda: beats() > 12, what="heartbeats of the trigger")
    (occurrence,) = tsumugi.occurrences("s")
    assert occurrence.state == "CLAIMED"
    go_on.set()
    thread.join()
    assert len(small_stage.messages()) == 1


def test_many_triggers_at_one_moment_are_many_runs(stage: Stage):
    tsumugi = stage.define({"s": job(everyMs=MINUTE)})
    stage.beat()
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(tsumugi.trigger("s"))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 6
    assert {message.headers["id"] for message in stage.messages()} == set(found)
