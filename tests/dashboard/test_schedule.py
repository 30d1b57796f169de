"""The page of one schedule, and the bindings, in a real browser."""

from tests.control.stage import HOUR, MINUTE, TASK, ms
from tests.dashboard.browser import Window
from tests.dashboard.conftest import FLOWER
from tests.dashboard.scene import Scene, Served, mounted
from tsumugi_celery.web import unsafe_no_auth

PAYLOAD = {"binding": TASK, "payload": {"x": 1}}


def times(window: Window) -> list[str]:
    return [each.text for each in window.all("#entries [data-f=at]")]


def test_the_history_says_why_each_time_did_not_run(page: Window):
    page.open("schedule?name=sync-stock")
    page.see("#entries", "480 times in a row: the schedule was paused.")
    assert "3 times in a row: it could not be enqueued." in page.text("#entries")
    page.click("#entries > tr:first-child [data-f=details]")
    page.see(".more", "it is one of 3 times in a row")
    page.choose("#outcome", "Not executed: pause")
    page.until(lambda: len(times(page)) == 1, "the pause alone")
    page.choose("#outcome", "Cancelled")
    page.see("#no-history", "Nothing of this kind.")


def test_details_show_attempts_and_the_way_to_flower(page: Window):
    page.open("schedule?name=sync-stock")
    page.choose("#outcome", "Failed or stalled")
    page.until(lambda: len(times(page)) == 1, "the failure alone")
    page.click("#entries [data-f=details]")
    page.see(".more .attempts", "stock.example refused")
    assert len(page.all(".more .attempts li")) == 3
    assert "Attempts (of 3)" in page.text(".more")
    link = page.one(".more a").get_attribute("href") or ""
    assert link.startswith(f"{FLOWER}/task/")
    assert page.one("[data-f=details]").get_attribute("aria-expanded") == "true"
    page.click("#entries [data-f=details]")
    page.gone(".more")


def test_the_history_has_pages(page: Window):
    page.open("schedule?name=nightly-report")
    page.see("#range", "Page 1")
    first = times(page)
    assert len(first) == 25
    page.click("#older")
    page.see("#range", "Page 2")
    page.until(lambda: not {*times(page)} & {*first}, "an older page")
    page.click("#newest")
    page.until(lambda: times(page) == first, "the newest page")


def test_an_unfinished_execution_is_cancelled_by_a_second_press(window: Window, scene: Scene):
    scene.define({"one": {**PAYLOAD, "everyMs": HOUR}})
    scene.beat()
    identifier = scene.tsumugi.trigger("one")
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open(f"schedule?name=one&open={identifier}")
        window.see(".more", identifier)
        window.see("#entries", "Run by hand")
        window.click("#entries [data-f=cancel]")
        window.see("#entries [data-f=said]", "Press again")
        assert scene.tsumugi.occurrence(identifier).state == "QUEUED"
        window.click("#entries [data-f=cancel]")
        window.see("#entries [data-f=outcome]", "Cancelled")
        window.see("#entries [data-f=said]", "Cancelled at")
        assert scene.tsumugi.occurrence(identifier).state == "CANCELLED"
        window.gone("#entries [data-f=cancel]")
        window.see(".more", "cancelled")


def test_coming_times_mark_what_daylight_saving_drops_and_repeats(window: Window, scene: Scene):
    scene.define({"dst": {**PAYLOAD, "cron": "30 2 * * *", "timeZone": "Europe/Berlin"}})
    scene.beat()
    scene.clock = Frozen(ms("2027-03-26T12:00:00Z"))  # type: ignore[assignment]
    scene.tsumugi._state.clock = scene.clock
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open("schedule?name=dst")
        window.see("#coming .skipped", "Sun 2027-03-28 02:30:00")
        window.see("#coming .skipped", "Does not exist")
        window.see("#coming li:first-child", "Sat 2027-03-27 02:30:00 GMT+01:00")
        assert "Mon 2027-03-29 02:30:00 GMT+02:00" in window.text("#coming")
        window.click("#more-coming")
        window.until(lambda: len(window.all("#coming li")) == 30, "30 times")
        scene.clock.time = ms("2027-10-30T12:00:00Z")
        window.open("schedule?name=dst")
        window.see("#coming .repeated", "Second pass")


class Frozen:
    """A clock that stands still."""

    def __init__(self, time: int) -> None:
        self.time = time

    def now(self) -> int:
        return self.time


def test_an_unknown_schedule_is_said_with_what_is_spelled_alike(page: Window):
    page.open("schedule?name=nightly-reporT")
    page.see("#unknown-text", "nightly-report")
    page.gone("#schedule")


def test_a_paused_schedule_says_that_nothing_of_it_runs(page: Window):
    page.open("schedule?name=newfoundland")
    page.see("[data-f=count]", "Paused since")
    page.see("#no-coming", "none of these is executed")
    page.see("#no-history", "Nothing has happened yet.")


def test_a_payload_is_shown_as_text_where_it_was_asked_for(page: Window, furnished: Scene):
    identifier = furnished.tsumugi.trigger("poll-inbox")
    page.open(f"schedule?name=poll-inbox&open={identifier}")
    page.see(".more .payload", '"x"')
    furnished.messages()


def test_a_binding_is_paused_and_resumed(window: Window, scene: Scene):
    bindings = {"Sync": {"task": TASK, "queue": "sync", "shards": 4}}
    scene.define(
        {"one": {"binding": "Sync", "payload": {"x": 1}, "everyMs": MINUTE, "partitionKey": "a"}},
        bindings=bindings,
    )
    scene.beat()
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open("bindings")
        window.see("#rows [data-f=queue]", "sync, in 4 shards")
        window.click("#rows [data-f=pause]")
        window.see("#rows [data-f=said]", "Paused at")
        window.see("#rows [data-f=badges]", "Paused")
        assert scene.tsumugi.control.bindings()[0].paused
        window.click("#rows [data-f=pause]")
        window.see("#rows [data-f=said]", "Resumed at")
        assert not scene.tsumugi.control.bindings()[0].paused
