"""Why, and the times to come."""

from datetime import datetime

import pytest

from tests.control.stage import HOUR, MINUTE, Stage, job, ms
from tsumugi_celery.control.views import Explanation
from tsumugi_celery.core.errors import NotDefinedHere


def test_every_kind_of_time_is_explained(stage: Stage):
    stage.clock.time = ms("2026-03-01T00:00:30Z")
    tsumugi = stage.define({"s": job(cron="* * * * *", timeZone="Asia/Tokyo")})
    beat = stage.beat()

    def at(time: str) -> None:
        stage.clock.time = ms(f"2026-03-01T{time}Z")
        beat.claim_all()

    def why(time: str) -> Explanation:
        return tsumugi.control.why("s", ms(f"2026-03-01T{time}Z"))

    at("00:01:00")
    at("00:02:00")
    stage.finish()
    at("00:05:00")
    stage.finish()
    tsumugi.pause("s")
    at("00:07:00")
    stage.clock.time += 1_000
    tsumugi.trigger("s")
    stage.finish("CANCELLED")
    stage.clock.time = ms("2026-03-01T00:08:10Z")

    told = why("00:01:00")
    assert (told.outcome, told.state) == ("executed", "COMPLETED")
    assert str(told).startswith("s: 2026-03-01 09:01:00 GMT+09:00 was executed and completed")
    assert told.occurrence_id is not None
    told = why("00:02:00")
    assert (told.outcome, told.cause) == ("not_executed", "overlap")
    assert (why("00:03:00").outcome, why("00:04:00").cause) == ("executed", "delay")
    told = why("00:06:00")
    assert told.cause == "pause"
    assert "2 times in a row" in told.text
    told = why("00:07:01")
    assert (told.outcome, told.state) == ("manual", "CANCELLED")
    # A stretch says nothing of a time in it that is none of its times.
    assert why("00:06:30").outcome == "not_scheduled"
    assert (why("00:08:00").outcome, why("00:08:00").cause) == ("not_executed", "pause")
    told = why("00:09:00")
    assert told.outcome == "coming"
    assert "resumed first" in told.text
    assert why("00:00:00").outcome == "unregistered"
    tsumugi.resume("s")
    assert why("00:09:00").text.endswith("is still to come.")
    stage.clock.time = ms("2026-03-01T00:10:00Z")
    assert why("00:09:00").outcome == "pending"
    aware = datetime.fromisoformat("2026-03-01T09:01:00+09:00")
    assert tsumugi.why("s", aware) == str(why("00:01:00"))


def test_local_times_that_daylight_saving_drops_are_explained(small_stage: Stage):
    small_stage.clock.time = ms("2026-03-28T00:00:00Z")
    definition = job(cron="30 2 * * *", timeZone="Europe/Berlin")
    tsumugi = small_stage.define({"s": definition})
    small_stage.beat()
    skipped, repeated = ms("2026-03-29T01:00:00Z"), ms("2026-10-25T01:30:00Z")
    assert "daylight saving skips 02:30" in tsumugi.why("s", skipped)
    assert "comes twice" in tsumugi.why("s", repeated)
    assert tsumugi.control.why("s", repeated - HOUR).outcome == "coming"
    small_stage.clock.time = ms("2026-03-28T12:00:00Z")
    first, second, *_ = tsumugi.upcoming("s", 3)
    assert (first.status, first.local, first.at) == ("skipped", "2026-03-29T02:30:00", skipped)
    assert (second.status, second.local) == ("runs", "2026-03-30T02:30:00+02:00")
    autumn = tsumugi.control.upcoming("s", 3, after=ms("2026-10-24T12:00:00Z"))
    assert [(each.status, each.local) for each in autumn] == [
        ("runs", "2026-10-25T02:30:00+02:00"),
        ("repeated", "2026-10-25T02:30:00+01:00"),
        ("runs", "2026-10-26T02:30:00+01:00"),
    ]


def test_a_schedule_that_no_beat_has_seen(small_stage: Stage):
    tsumugi = small_stage.define({"s": job(everyMs=MINUTE)})
    assert tsumugi.control.why("s", 0).outcome == "unregistered"
    now = small_stage.clock.time
    assert [each.at for each in tsumugi.upcoming("s", 2)] == [now + MINUTE, now + 2 * MINUTE]


@pytest.mark.parametrize(
    "time",
    [datetime.fromisoformat("2026-01-01"), 10**18, -(10**18)],
    ids=["naive", "too late", "too early"],
)
def test_times_that_are_none(small_stage: Stage, time: int | datetime):
    tsumugi = small_stage.define({"s": job(everyMs=MINUTE)})
    with pytest.raises(ValueError, match="time"):
        tsumugi.why("s", time)


def test_only_the_code_knows_the_times_of_a_schedule_object(small_stage: Stage):
    from celery.schedules import solar

    solar_job = {"task": "proj.add", "schedule": solar("sunset", 48.2, 16.4)}
    tsumugi = small_stage.define({"s": solar_job})
    small_stage.beat()
    assert len(tsumugi.upcoming("s", 2)) == 2
    small_stage.close()
    tsumugi = small_stage.define({})
    with pytest.raises(NotDefinedHere, match="knows its times"):
        tsumugi.upcoming("s")
