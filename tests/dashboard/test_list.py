"""The page with the list, in a real browser."""

from selenium.webdriver.common.keys import Keys

from tests.control.stage import HOUR, TASK
from tests.dashboard.browser import NARROW, WIDE, Window
from tests.dashboard.conftest import FLOWER
from tests.dashboard.scene import HOSTILE, Scene, Served, definitions, mounted
from tsumugi_celery.web import unsafe_no_auth


def test_the_list_says_what_a_schedule_did_and_will_do(page: Window):
    page.open()
    page.see("#count", f"{len(definitions())} schedules")
    assert page.in_row("nightly-report", "when").text == "0 9 * * * (Asia/Tokyo)"
    assert page.in_row("nightly-report", "next").text.endswith(" 09:00:00")
    assert page.in_row("nightly-report", "next-zone").text == "Asia/Tokyo GMT+09:00"
    assert page.in_row("nightly-report", "count").text.startswith("in ")
    assert "Completed" in page.in_row("nightly-report", "outcome").text
    assert page.in_row("nightly-report", "missed").text == "2 not executed: 2 overlap"
    assert page.in_row("poll-inbox", "when").text == "every 5 min"
    assert "Running" in page.in_row("poll-inbox", "outcome").text
    assert page.in_row("sync-stock", "missed").text == "483 not executed: 480 pause, 3 failure"
    assert "Connection refused" in (page.in_row("sync-stock", "error").get_attribute("title") or "")


def test_an_interval_has_a_stated_zone_and_a_paused_zone_its_own_offset(page: Window):
    """C256, C257: no zone is said to be UTC; the offset is that of the time shown."""
    page.open()
    assert page.in_row("poll-inbox", "next-zone").text == "UTC GMT+00:00"
    assert page.in_row("newfoundland", "next-zone").text in {
        "America/St_Johns GMT-03:30",
        "America/St_Johns GMT-02:30",
    }
    assert page.in_row("newfoundland", "count").text.startswith("Paused since\n")


def test_the_strip_has_signs_and_a_text(page: Window):
    page.open()
    strip = page.in_row("nightly-report", "strip")
    assert strip.get_attribute("role") == "img"
    label = strip.get_attribute("aria-label") or ""
    assert "1 failed" in label
    assert "2 not executed (overlap)" in label
    assert {"✓", "✕", "\N{EN DASH}"} == {*strip.text.replace("\n", "")}
    titles = [each.get_attribute("title") for each in strip.find_elements("css selector", ".cell")]
    assert any(title and "GMT+09:00" in title and "Failed" in title for title in titles)


def test_jobs_link_to_flower(page: Window, furnished: Scene):
    page.open()
    link = page.in_row("nightly-report", "flower").get_attribute("href")
    last = furnished.tsumugi.get("nightly-report").last_job_id
    assert link == f"{FLOWER}/task/{last}"


def test_hostile_names_are_text(page: Window):
    page.open()
    page.row(HOSTILE)
    assert page.all("#rows img, #rows script") == []
    page.in_row(HOSTILE, "name").click()
    page.see("h1.name", HOSTILE)
    page.see("#entries", "onerror")
    page.click("#entries [data-f=details]")
    page.see(".more", "onerror")
    assert page.all("main img, main script") == []
    assert "pwned" not in page.run("return document.title").replace(HOSTILE, "")


def test_a_name_with_slash_and_query_signs_can_be_paused(page: Window, furnished: Scene):
    name = "folder/with slash?&#%"
    page.open()
    page.in_row(name, "pause").click()
    page.see_in_row(name, "badges", "Paused")
    assert furnished.tsumugi.get(name).paused
    page.in_row(name, "name").click()
    page.see("h1.name", name)
    page.click("[data-f=pause]")
    page.see("#schedule [data-f=said]", "Resumed")
    assert not furnished.tsumugi.get(name).paused


def test_pause_resume_and_run_now_say_what_happened(page: Window, furnished: Scene):
    """C175: pausing in the dashboard is pausing as everywhere."""
    name = "berlin-quarter"
    page.open()
    button = page.in_row(name, "pause")
    assert button.get_attribute("aria-label") == f"Pause: {name}"
    button.click()
    page.see_in_row(name, "said", "Paused at")
    assert furnished.tsumugi.get(name).paused
    page.see_in_row(name, "pause", "Resume")
    assert page.run("return document.activeElement === arguments[0]", button)
    button.click()
    page.see_in_row(name, "said", "Next: ")
    assert "GMT+0" in page.in_row(name, "said").text
    assert not furnished.tsumugi.get(name).paused
    page.in_row(name, "run").click()
    page.see_in_row(name, "said", "Started at")
    # A quarter of an hour may have begun meanwhile, and has a row of its own then.
    (made,) = [each for each in furnished.tsumugi.occurrences(name) if each.manual]
    assert made.id is not None
    assert made.id in page.in_row(name, "said").text
    page.see_in_row(name, "outcome", "Queued")
    furnished.messages()


def test_a_change_made_elsewhere_appears_without_a_flicker(page: Window, furnished: Scene):
    page.open()
    row = page.row("nightly-report")
    page.run("arguments[0].mark = 'the same element'", row)
    others = page.row("poll-inbox")
    page.run(
        "window.changes = []; new MutationObserver(list => changes.push(...list"
        ".filter(each => !each.target.closest?.('[data-count-to]'))"
        ".map(each => each.type))).observe(arguments[0], {subtree: true, childList: true})",
        others,
    )
    furnished.tsumugi.pause("nightly-report")
    page.see_in_row("nightly-report", "badges", "Paused")
    furnished.tsumugi.resume("nightly-report")
    page.until(lambda: not page.in_row("nightly-report", "badges").text, "no badge")
    assert page.run("return arguments[0].mark", page.row("nightly-report")) == "the same element"
    assert page.run("return window.changes") == []


def test_the_focus_stays_where_a_row_above_goes(window: Window, scene: Scene):
    one = {"binding": TASK, "payload": {"x": 1}, "everyMs": HOUR}
    scene.define({"first": one, "second": one})
    scene.beat()
    for name in ("first", "second"):
        scene.tsumugi.pause(name)
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open("?show=paused")
        button = window.in_row("second", "pause")
        window.run("arguments[0].focus()", button)
        scene.tsumugi.resume("first")
        window.until(lambda: len(window.all("#rows > tr")) == 1, "one row")
        assert window.run("return document.activeElement === arguments[0]", button)


def test_polling_is_answered_with_304_where_nothing_changed(page: Window):
    page.browser.execute_cdp_cmd("Network.enable", {})
    page.open()
    page.see("#live-text", "Live")
    page.run(
        "const real = window.fetch; window.codes = [];"
        "window.fetch = async (...given) => { const answer = await real(...given);"
        "codes.push(answer.status); return answer; }"
    )
    page.until(lambda: 304 in page.run("return window.codes"), "an answer 304")


def test_nothing_matches_and_the_way_back(page: Window):
    page.open()
    page.row("poll-inbox")
    page.run("document.activeElement.blur()")
    page.one("body").send_keys("/")
    assert page.run("return document.activeElement.id") == "search"
    page.browser.switch_to.active_element.send_keys("no <b>such</b> thing")
    page.see("#no-match-text", "“no <b>such</b> thing”")
    page.click("#clear")
    page.row("poll-inbox")
    assert "search" not in page.browser.current_url


def test_filters_are_kept_in_the_address(page: Window):
    page.open()
    page.choose("#show", "Paused")
    page.until(lambda: len(page.all("#rows > tr")) == 1, "one row")
    assert page.browser.current_url.endswith("?show=paused")
    page.browser.refresh()
    page.see("#count", "1 schedule found")
    assert page.one("#show").get_attribute("value") == "paused"


def test_the_whole_page_can_be_used_by_keyboard(page: Window):
    page.open()
    page.row("sync-stock")
    page.one("body").send_keys(Keys.TAB)
    assert page.run("return document.activeElement.className") == "skip"
    for _ in range(40):
        page.browser.switch_to.active_element.send_keys(Keys.TAB)
        if page.run("return document.activeElement.dataset.f") == "pause":
            break
    label = page.run("return document.activeElement.getAttribute('aria-label')")
    assert label.startswith("Pause: ")
    assert page.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_phone_has_cards_and_never_scrolls_sideways(page: Window):
    page.size(NARROW)
    for path in ("", "schedule?name=sync-stock", "bindings"):
        page.open(path)
        page.one("tbody tr")
        width = page.run("return document.documentElement.scrollWidth")
        assert width <= NARROW[0], path
        assert page.run("return getComputedStyle(arguments[0]).display", page.one("tbody tr")) == (
            "block"
        )
    page.size(WIDE)
    assert page.run("return getComputedStyle(arguments[0]).display", page.one("tbody tr")) == (
        "table-row"
    )


CONTRAST = """
const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number)
  .map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b; };
const paper = (element) => { for (let e = element; e; e = e.parentElement) {
  const c = getComputedStyle(e).backgroundColor;
  if (c.startsWith('rgb(')) return c; } return 'rgb(255, 255, 255)'; };
return [...document.querySelectorAll('main *, header *')]
  .filter(e => e.checkVisibility() && !e.closest('.unseen')
    && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .map(e => { const a = light(getComputedStyle(e).color), b = light(paper(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    return [ratio, e.className || e.tagName, e.textContent]; })
  .filter(([ratio]) => ratio < 4.5)
"""


def test_light_and_dark_both_can_be_read(page: Window):
    papers = {}
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        for path in ("", "schedule?name=sync-stock"):
            page.open(path)
            page.one("tbody tr")
            assert page.run(CONTRAST) == [], (scheme, path)
        papers[scheme] = page.run("return getComputedStyle(document.body).backgroundColor")
    assert papers["light"] != papers["dark"]


def test_ten_thousand_schedules_are_searched_and_paged(window: Window, scene: Scene):
    scene.define({"job": {"binding": TASK, "payload": {"x": 1}, "everyMs": HOUR}})
    scene.beat()
    scene.copy("job", 9_999)
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        window.see("#range", "1 to 50 of 10,000")
        assert len(window.all("#rows > tr")) == 50
        window.click("#next")
        window.see("#range", "51 to 100 of 10,000")
        window.row("job-00050")
        window.click("#last")
        window.see("#range", "9,951 to 10,000 of 10,000")
        window.click("#next")
        window.see("#range", "9,951 to 10,000 of 10,000")
        window.type("#search", "JOB-0777")
        window.see("#count", "10 schedules found")
        window.row("job-07771")
        window.gone("#pager")
