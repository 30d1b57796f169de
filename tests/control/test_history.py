"""The history: occurrences and times not executed, in one order."""

import pytest

from tests.control.stage import MINUTE, Stage, job, ms
from tsumugi_celery.control.views import OccurrencePage
from tsumugi_celery.core.errors import UnknownOccurrence

START = ms("2026-03-01T00:00:00Z")


@pytest.fixture
def lived(stage: Stage) -> Stage:
    """A schedule that has seen everything: executed at 1, 5, 10; overlap, delay, pause, manual."""
    tsumugi = stage.define({"s": job(everyMs=MINUTE), "other": job(everyMs=99 * MINUTE)})
    beat = stage.beat()

    def at(minute: float, *, finish: bool = False) -> None:
        stage.clock.time = START + int(minute * MINUTE)
        beat.claim_all()
        if finish:
            stage.finish()

    at(1)
    at(2)
    at(3)
    stage.finish()
    at(6, finish=True)  # 4 is executed late, 5 and 6 are counted
    tsumugi.pause("s")
    at(8)
    stage.clock.time += 1_000
    tsumugi.trigger("s")
    tsumugi.trigger("s")
    stage.finish("FAILED")
    at(9)
    tsumugi.resume("s")
    at(10)
    return stage


def rows(page: OccurrencePage) -> list[tuple[float, str, int]]:
    """Minute, what became of it, how many."""
    return [
        ((each.scheduled_at - START) / MINUTE, each.cause or each.state, each.count)
        for each in page.occurrences
    ]


WHOLE = [
    (10, "QUEUED", 1),
    (9, "pause", 1),
    (8 + 1 / 60, "FAILED", 1),
    (8 + 1 / 60, "FAILED", 1),
    (7, "pause", 2),
    (5, "delay", 2),
    (4, "COMPLETED", 1),
    (2, "overlap", 2),
    (1, "COMPLETED", 1),
]


def test_newest_first_and_nothing_is_missing(lived: Stage):
    page = lived.tsumugi.control.occurrences("s")
    assert rows(page) == WHOLE
    assert page.next is None
    executed = {
        (each.scheduled_at - START) / MINUTE for each in page.occurrences if not each.manual
    }
    assert executed
    regular = sum(each.count for each in page.occurrences if not each.manual)
    assert regular == 10


def test_pages_add_up(lived: Stage):
    for limit in (1, 2, 4, 8):
        found, cursor = [], None
        while True:
            page = lived.tsumugi.control.occurrences("s", limit=limit, cursor=cursor)
            assert len(page.occurrences) <= limit
            found += rows(page)
            cursor = page.next
            if cursor is None:
                break
        assert found == WHOLE


def test_filters(lived: Stage):
    occurrences = lived.tsumugi.control.occurrences
    assert rows(occurrences("s", states=["FAILED"])) == [WHOLE[2], WHOLE[3]]
    assert rows(occurrences("s", states=["NOT_EXECUTED"])) == [
        each for each in WHOLE if each[1] in {"pause", "delay", "overlap"}
    ]
    assert rows(occurrences("s", causes=["pause", "delay"])) == [WHOLE[1], WHOLE[4], WHOLE[5]]
    assert rows(occurrences("s", states=["COMPLETED"], causes=["pause"])) == []
    # A stretch counts with its last time too: 2 and 3 are not before 3.
    since, until = START + 3 * MINUTE, START + 8 * MINUTE
    assert rows(occurrences("s", since=since, until=until)) == WHOLE[4:8]
    assert rows(occurrences("other")) == []


@pytest.mark.parametrize("cursor", ["", "x", "1~2~3", "1~1~", "1~0~rain", "9" * 40 + "~1~1"])
def test_a_cursor_that_is_none(small_stage: Stage, cursor: str):
    tsumugi = small_stage.define({"s": job(everyMs=MINUTE)})
    with pytest.raises(ValueError, match="cursor: got"):
        tsumugi.control.occurrences("s", cursor=cursor)


def test_one_occurrence(lived: Stage):
    tsumugi = lived.tsumugi
    last, *_ = tsumugi.occurrences("s", limit=1)
    assert last.id is not None
    found = tsumugi.occurrence(last.id)
    assert (found.schedule, found.payload, found.attempts) == ("s", None, ())
    assert tsumugi.control.occurrence(last.id, payload=True).payload == '[[], {"x": 1}]'


@pytest.mark.parametrize("identifier", ["", "nope", "\x00", "\ud800", "x" * 5000])
def test_an_unknown_occurrence(stage: Stage, identifier: str):
    tsumugi = stage.define({})
    for call in (tsumugi.occurrence, tsumugi.cancel):
        with pytest.raises(UnknownOccurrence, match="no occurrence has the id"):
            call(identifier)


def test_an_occurrence_of_another_namespace_is_unknown(lived: Stage):
    (last,) = lived.tsumugi.occurrences("s", limit=1)
    assert last.id is not None
    other = Stage(lived.url)
    with pytest.raises(UnknownOccurrence):
        other.define({}).occurrence(last.id)
    other.close()


def test_a_pickled_payload_is_named_and_not_opened(small_stage: Stage):
    tsumugi = small_stage.define(
        {"s": job(everyMs=MINUTE, options={"serializer": "pickle"})}, accept_content=["pickle"]
    )
    shown = tsumugi.control.occurrence(tsumugi.trigger("s"), payload=True).payload
    assert shown is not None
    assert shown.startswith("(application/x-python-serialize,")
