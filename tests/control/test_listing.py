"""The list of schedules."""

import json
from decimal import Decimal
from typing import Any

import pytest
from celery.schedules import crontab

from tests.control.stage import DAY, MINUTE, Stage, job, ms
from tsumugi_celery import UnknownSchedule
from tsumugi_celery.control.views import ScheduleView

#: Section 7 of the contract, in its order.
FIELDS = [
    "name",
    "kind",
    "target",
    "every_ms",
    "cron",
    "time_zone",
    "overlap",
    "paused",
    "paused_at",
    "next_run_at",
    "last_run_at",
    "last_fired_at",
    "last_job_id",
    "last_run_id",
    "last_skipped_at",
    "skipped_count",
    "not_executed",
    "last_error",
    "last_error_at",
]


def test_a_listed_schedule_has_the_fields_of_the_contract(stage: Stage):
    tsumugi = stage.define({"s": job(cron="0 9 * * *", timeZone="Asia/Tokyo")})
    stage.beat()
    (view,) = tsumugi.list()
    assert list(view)[: len(FIELDS)] == FIELDS
    listed = {name: view[name] for name in FIELDS}
    assert listed == {
        **dict.fromkeys(FIELDS),
        "name": "s",
        "kind": "job",
        "target": "proj.add",
        "cron": "0 9 * * *",
        "time_zone": "Asia/Tokyo",
        "overlap": "skip",
        "paused": False,
        "next_run_at": ms("2026-03-02T00:00:00Z"),
        "skipped_count": 0,
        "not_executed": {"overlap": 0, "delay": 0, "pause": 0, "failure": 0},
    }
    assert view == tsumugi.get("s")
    assert json.loads(json.dumps(view.to_dict()))["not_executed"] == listed["not_executed"]


def test_a_view_reads_as_attributes_and_as_a_mapping(small_stage: Stage):
    view = small_stage.define({"s": job(everyMs=MINUTE)}).get("s")
    assert view["every_ms"] == view.every_ms == MINUTE
    assert dict(view)["name"] == "s"
    with pytest.raises(KeyError):
        view["to_dict"]
    with pytest.raises(AttributeError):
        view.paused = True  # type: ignore[misc]


def test_the_order_is_by_name_and_parts_of_it_add_up(stage: Stage):
    names = ["b", "B", "a", "a-1", "a_1", "é", "10", "9", "z/z"]
    definitions = {name: {"task": "proj.add", "schedule": 60.0} for name in names}
    tsumugi = stage.define(definitions)
    for registered in (False, True):
        if registered:
            stage.beat()
        assert [each.name for each in tsumugi.list()] == sorted(names)
        parts = [tsumugi.list(limit=4, offset=offset) for offset in (0, 4, 8, 12)]
        assert [each.name for part in parts for each in part] == sorted(names)
        assert tsumugi.control.list(limit=2).total == len(names)


def test_filters(small_stage: Stage):
    tsumugi = small_stage.define(
        {
            "nightly-report": job(everyMs=MINUTE),
            "Nightly_Clean": job(everyMs=MINUTE),
            "hourly": {"binding": "proj.add", "payload": lambda _: 1 / 0, "everyMs": MINUTE},
        }
    )
    small_stage.beat()

    def names(**filters: Any) -> list[str]:
        return [each.name for each in tsumugi.list(**filters)]

    assert names(search="NIGHT") == ["Nightly_Clean", "nightly-report"]
    assert names(search="night report") == ["nightly-report"]
    assert names(search="proj.ADD hour") == ["hourly"]
    assert names(search="%") == []
    tsumugi.pause("nightly-report")
    assert names(paused=True) == ["nightly-report"]
    assert names(paused=False) == ["Nightly_Clean", "hourly"]
    assert names(kind="flow") == []
    with pytest.raises(Exception, match="division by zero"):
        tsumugi.trigger("hourly")
    assert names(failing=True) == ["hourly"]
    assert names(failing=False, kind="job", paused=False) == ["Nightly_Clean"]


def test_a_search_knows_no_case_in_any_script_and_no_wildcards(stage: Stage):
    names = ["Größe", "ÉTÉ", "ete", "50%_off", "a/b\\c", "İstanbul", "Ωmega", "plain"]
    definitions = {name: {"task": "proj.add", "schedule": 60.0} for name in names}
    tsumugi = stage.define(definitions)

    def found(search: str) -> list[str]:
        return [each.name for each in tsumugi.list(search=search)]

    for registered in (False, True):
        if registered:
            stage.beat()
        assert found("GRÖSSE") == ["Größe"]
        assert found("été") == ["ÉTÉ"]
        assert found("ETE") == ["ete"]
        assert found("%_") == ["50%_off"]
        assert found("B\\C") == ["a/b\\c"]
        assert found("ωMEGA") == ["Ωmega"]
        assert found("PLAIN proj.A") == ["plain"]
        assert found("plainproj") == []
        assert found("pl%n") == found("nothing\x00") == found("\ud800") == []
        assert found("  ") == sorted(names)


def test_pages_where_only_some_have_been_registered(stage: Stage):
    names = [f"{letter}{number}" for letter in "acbd" for number in range(4)]
    everything = {name: job(everyMs=MINUTE) for name in names}
    stage.define({name: everything[name] for name in names if name[1] in "02" or name[0] == "a"})
    stage.beat()
    stage.close()
    tsumugi = stage.define(everything)
    for limit in (1, 3, 5, 20):
        for offset in range(18):
            page = tsumugi.control.list(limit=limit, offset=offset)
            expected = sorted(names)[offset : offset + limit]
            assert [each.name for each in page.schedules] == expected, (limit, offset)
            assert page.total == len(names)
    # One more is registered meanwhile, by a call for it.
    tsumugi.pause("b1")
    page = tsumugi.control.list(paused=True)
    assert [each.name for each in page.schedules] == ["b1"]
    assert [each.name for each in tsumugi.list(limit=4, offset=4)] == ["b0", "b1", "b2", "b3"]
    assert tsumugi.control.list(paused=False, search="B").total == 3


def test_a_removed_schedule_is_not_listed_and_its_job_is_left_alone(stage: Stage):
    """C184: no further run; not among the defined schedules; its queued job is left alone."""
    definitions = {name: job(everyMs=MINUTE) for name in ("a", "b", "c")}
    tsumugi = stage.define(definitions)
    beat = stage.beat()
    stage.clock.time += MINUTE
    beat.claim_all()
    identifier = tsumugi.get("b").last_job_id
    assert identifier is not None
    stage.close()
    del definitions["b"]
    tsumugi = stage.define(definitions)
    stage.beat()
    assert [each.name for each in tsumugi.list()] == ["a", "c"]
    for call in (tsumugi.get, tsumugi.pause, tsumugi.trigger):
        with pytest.raises(UnknownSchedule, match="'b' was removed"):
            call("b")
    assert tsumugi.occurrence(identifier).state == "QUEUED"
    # What became of its times can still be told.
    (kept,) = tsumugi.occurrences("b")
    assert kept.id == identifier
    assert identifier in tsumugi.why("b", kept.scheduled_at)
    later = tsumugi.control.why("b", kept.scheduled_at + 10 * MINUTE)
    assert (later.outcome, "removed" in later.text) == ("ended", True)
    assert tsumugi.control.time_zone("b") is None


def test_code_that_is_older_than_the_ledger_does_not_list_what_was_removed(small_stage: Stage):
    small_stage.define({"old": job(everyMs=MINUTE), "kept": job(everyMs=MINUTE)})
    small_stage.beat()
    small_stage.close()
    small_stage.define({"kept": job(everyMs=MINUTE)})
    small_stage.beat()
    small_stage.close()
    tsumugi = small_stage.define({"old": job(everyMs=MINUTE), "kept": job(everyMs=MINUTE)})
    assert [each.name for each in tsumugi.list()] == ["kept"]
    with pytest.raises(UnknownSchedule, match="'old' was removed: the beat that was started last"):
        tsumugi.get("old")


@pytest.mark.parametrize("name", [None, 5, b"s"])
def test_a_name_that_is_no_text_is_unknown(small_stage: Stage, name):
    tsumugi = small_stage.define({"s": job(everyMs=MINUTE)})
    for call in (tsumugi.get, tsumugi.pause, tsumugi.trigger):
        with pytest.raises(UnknownSchedule, match="no schedule is named"):
            call(name)


def test_looking_at_a_ledger_does_not_change_it(small_stage: Stage):
    tsumugi = small_stage.define({"s": job(everyMs=MINUTE)})
    (view,) = tsumugi.list()
    assert (view.registered_at, view.next_run_at, view.defined_here) == (None, None, True)
    assert tsumugi.get("s") == view
    assert tsumugi.occurrences("s") == []
    small_stage.close()
    assert small_stage.define({}).list() == []


def test_zones_and_offsets(stage: Stage):
    """C256: the zone as given, with the offset of that instant; C257: an interval has none."""
    tsumugi = stage.define(
        {
            "dublin": job(cron="30 1 * * *", timeZone="Europe/Dublin"),
            "every": job(everyMs=DAY),
            "kathmandu": job(cron="0 9 * * *", timeZone="Asia/Kathmandu"),
            "nozone": job(cron="0 9 * * *"),
            "st-johns": job(cron="0 9 * * *", timeZone="America/St_Johns"),
        }
    )
    shown = {}
    for month in ("01", "07"):
        stage.clock.time = ms(f"2037-{month}-01T00:00:00Z")
        beat = stage.beat()
        beat.claim_all()
        stage.finish()
        for each in tsumugi.list():
            shown[each.name, month] = (each.time_zone, each.utc_offset, each.next_run_local)
    assert shown == {
        ("dublin", "01"): ("Europe/Dublin", "GMT+00:00", "2037-01-01T01:30:00+00:00"),
        ("dublin", "07"): ("Europe/Dublin", "GMT+01:00", "2037-07-01T01:30:00+01:00"),
        ("every", "01"): (None, "GMT+00:00", "2037-01-02T00:00:00+00:00"),
        ("every", "07"): (None, "GMT+00:00", "2037-07-02T00:00:00+00:00"),
        ("kathmandu", "01"): ("Asia/Kathmandu", "GMT+05:45", "2037-01-01T09:00:00+05:45"),
        ("kathmandu", "07"): ("Asia/Kathmandu", "GMT+05:45", "2037-07-01T09:00:00+05:45"),
        ("nozone", "01"): ("UTC", "GMT+00:00", "2037-01-01T09:00:00+00:00"),
        ("nozone", "07"): ("UTC", "GMT+00:00", "2037-07-01T09:00:00+00:00"),
        ("st-johns", "01"): ("America/St_Johns", "GMT-03:30", "2037-01-01T09:00:00-03:30"),
        ("st-johns", "07"): ("America/St_Johns", "GMT-02:30", "2037-07-01T09:00:00-02:30"),
    }


def test_the_offset_of_lord_howe(small_stage: Stage):
    """C027: half an hour of daylight saving."""
    small_stage.clock.time = ms("2026-10-02T00:00:00Z")
    definition = job(cron="0 9 * * *", timeZone="Australia/Lord_Howe")
    tsumugi = small_stage.define({"s": definition})
    small_stage.beat()
    offsets = [each.utc_offset for each in tsumugi.upcoming("s", 3)]
    assert offsets == ["GMT+10:30", "GMT+11:00", "GMT+11:00"]
    assert tsumugi.get("s").utc_offset == "GMT+10:30"


def test_what_was_not_executed_is_shown_by_cause(stage: Stage):
    """C259: five by overlap, three by delay, two failures; the last reason is there."""
    broken = False

    def payload(_occurrence: object) -> dict[str, Any]:
        if broken:
            raise ValueError("out of stock")
        return {"x": 1}

    tsumugi = stage.define({"s": {"binding": "proj.add", "payload": payload, "everyMs": MINUTE}})
    beat = stage.beat()

    def go(minutes: int) -> None:
        stage.clock.time += minutes * MINUTE
        beat.claim_all()
        while len(beat.resolver):
            beat.woken.wait(1)
            beat.collect()

    go(1)
    for _ in range(5):
        go(1)
    stage.finish()
    go(4)
    stage.finish()
    broken = True
    go(1)
    go(1)
    view = tsumugi.get("s")
    assert stage.counts("s") == (5, 3, 0, 2)
    assert view.skipped_count == 10
    assert view.last_error == "ValueError: out of stock"
    assert (view.last_error_at, view.last_skipped_at) == (stage.clock.time, stage.clock.time)
    assert [
        (each.cause, each.count) for each in tsumugi.list(recent=9)[0].recent if each.cause
    ] == [("failure", 1), ("failure", 1), ("delay", 3), ("overlap", 5)]


def test_payloads_of_any_kind_do_not_break_the_list(small_stage: Stage):
    """C196: a datetime, a Decimal, bytes and a class in the payload."""
    definitions = {
        "call": {
            "binding": "proj.add",
            "payload": lambda o: {"x": [o.scheduled_at, Decimal(1), b"x", Stage]},
            "everyMs": MINUTE,
        },
        "fixed": job(everyMs=MINUTE, payload={"x": Decimal("1.5")}),
    }
    tsumugi = small_stage.define(definitions)
    small_stage.beat()
    listed = json.loads(json.dumps(tsumugi.control.list(recent=3).to_dict()))
    assert [each["name"] for each in listed["schedules"]] == ["call", "fixed"]


def test_the_next_time_of_a_paused_schedule_is_one_to_come(small_stage: Stage):
    tsumugi = small_stage.define({"s": job(cron="0 * * * *")})
    small_stage.beat()
    tsumugi.pause("s")
    small_stage.clock.time = ms("2026-03-05T10:20:00Z")
    assert tsumugi.get("s").next_run_at == ms("2026-03-05T11:00:00Z")


def test_an_overdue_time_is_next_until_it_is_claimed(small_stage: Stage):
    tsumugi = small_stage.define({"s": job(cron="0 * * * *")})
    small_stage.beat()
    small_stage.clock.time = ms("2026-03-05T10:20:00Z")
    assert tsumugi.get("s").next_run_at == ms("2026-03-01T01:00:00Z")


def test_schedules_in_celerys_form(small_stage: Stage):
    tsumugi = small_stage.define(
        {"a 'name' / with <anything>": {"task": "proj.add", "schedule": crontab(hour=7)}},
        timezone="Europe/Paris",
    )
    small_stage.beat()
    (view,) = tsumugi.list()
    assert isinstance(view, ScheduleView)
    assert (view.form, view.time_zone, view.cron) == ("celery", "Europe/Paris", None)
    assert "7" in view.schedule_text
    assert view.utc_offset == "GMT+01:00"


def test_two_namespaces_do_not_see_each_other(stage: Stage):
    tsumugi = stage.define({"mine": job(everyMs=MINUTE)})
    stage.beat()
    other = Stage(stage.url)
    other.define({"theirs": job(everyMs=MINUTE)})
    other.beat()
    assert [each.name for each in tsumugi.list()] == ["mine"]
    with pytest.raises(UnknownSchedule):
        tsumugi.get("theirs")
    other.close()
