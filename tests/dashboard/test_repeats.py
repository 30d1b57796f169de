"""The page with repeats, in a real browser."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from tests.control.stage import TASK
from tests.dashboard.browser import NARROW, WIDE, Window
from tests.dashboard.scene import HOSTILE, Scene, Served, mounted
from tests.dashboard.test_list import CONTRAST
from tsumugi_celery.repeats.collection import Repeats
from tsumugi_celery.web import unsafe_no_auth


@pytest.fixture
def digests(window: Window, scene: Scene) -> Iterator[Repeats]:
    """120 repeats by interval, one by cron, and one with a hostile id."""
    made = scene.define({}).repeats("digests", binding=TASK)
    made.set_many(
        {"id": f"user:{number:03}", "payload": [number], "every": "1h"} for number in range(120)
    )
    made.set("evening", [1], cron="0 20 * * *", time_zone="Asia/Tokyo")
    made.set(f"{HOSTILE}/..?&#%", [1], every="1d")
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        yield made


def test_a_collection_is_paged_and_searched_by_prefix(window: Window, digests: Repeats):
    window.open("repeats")
    window.see("#count", "1 collection")
    window.see("#collection-rows [data-f=target]", TASK)
    window.click("#collection-rows a")
    window.see("#count", "122 repeats")
    window.see_in_row("evening", "when", "0 20 * * *")
    window.see_in_row("evening", "next", "20:00:00")
    window.see_in_row("evening", "next-zone", "Asia/Tokyo GMT+09:00")
    window.see_in_row("evening", "outcome", "None yet")
    window.see_in_row("user:000", "when", "every 1 h")
    assert len(window.all("#rows > tr")) == 50
    window.click("#next")
    window.row("user:048")
    window.click("#next")
    window.see("#range", "22 repeats of 122")
    assert window.one("#next").get_attribute("aria-disabled") == "true"
    window.browser.refresh()
    window.see("#range", "22 repeats of 122")
    window.click("#previous")
    window.row("user:048")
    window.browser.back()
    window.see("#range", "22 repeats of 122")
    window.click("#first")
    window.row("evening")
    window.run("document.activeElement.blur()")
    window.one("body").send_keys("/")
    window.browser.switch_to.active_element.send_keys("user:11")
    window.see("#count", "10 repeats found")
    window.row("user:119")
    window.type("#prefix", "User")
    window.see("#no-match-text", "No id begins with “User”.")
    window.click("#clear")
    window.see("#count", "122 repeats")
    assert digests.count() == 122


def test_what_happened_is_said_in_place(window: Window, digests: Repeats):
    window.open("repeats?collection=digests")
    window.in_row("evening", "pause").click()
    window.see_in_row("evening", "said", "Paused at")
    window.see_in_row("evening", "badges", "Paused")
    window.see_in_row("evening", "count", "Paused since")
    found = digests.get("evening")
    assert found is not None
    assert found.paused
    window.in_row("evening", "pause").click()
    window.see_in_row("evening", "said", "Resumed at")
    assert "20:00:00 GMT+09:00" in window.in_row("evening", "said").text
    window.in_row("user:003", "cancel").click()
    window.see_in_row("user:003", "said", "Press again to cancel it.")
    assert digests.get("user:003") is not None
    window.in_row("user:003", "cancel").click()
    window.see_in_row("user:003", "said", "Cancelled at")
    window.see_in_row("user:003", "badges", "Cancelled")
    assert digests.get("user:003") is None
    assert window.run("return document.activeElement.dataset.f") == "said"
    window.see("#count", "121 repeats")
    names = [each.text for each in window.all("#rows [data-f=name]")]
    assert names == sorted(names)
    digests.set("user:003", [3], every="1h")
    window.until(lambda: window.in_row("user:003", "badges").text == "", "set again")
    assert window.in_row("user:003", "pause").is_displayed()


def test_an_id_of_any_text_is_reached(window: Window, digests: Repeats):
    hostile = f"{HOSTILE}/..?&#%"
    window.open("repeats?collection=digests")
    window.in_row(hostile, "pause").click()
    window.see_in_row(hostile, "said", "Paused at")
    found = digests.get(hostile)
    assert found is not None
    assert found.paused
    assert "pwned" not in window.browser.title


def test_empty_and_unknown_collections(window: Window, scene: Scene):
    scene.define({})
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open("repeats")
        window.see("#no-collections", "No repeats yet")
        window.open("repeats?collection=nobody")
        window.see("#unknown-text", "no repeats are named 'nobody'")
        scene.tsumugi.repeats("later", binding=TASK)
    scene.close()
    scene.define({}).repeats("later", binding=TASK)
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open("repeats?collection=later")
        window.see("#none", "No repeat is set")


@pytest.mark.usefixtures("digests")
def test_keyboard_phone_and_dark_mode(window: Window):
    window.open("repeats?collection=digests")
    window.row("evening")
    for _ in range(20):
        window.browser.switch_to.active_element.send_keys(Keys.TAB)
        if window.run("return document.activeElement.dataset.f") == "cancel":
            break
    label = window.run("return document.activeElement.getAttribute('aria-label')")
    assert label.startswith("Cancel: ")
    for scheme in ("dark", "light"):
        window.scheme(scheme)
        window.open("repeats?collection=digests")
        window.row("evening")
        assert window.run(CONTRAST) == [], scheme
    for path in ("repeats", "repeats?collection=digests"):
        window.size(NARROW)
        window.open(path)
        window.one("tbody tr")
        assert window.run("return document.documentElement.scrollWidth") <= NARROW[0], path
        window.size(WIDE)
