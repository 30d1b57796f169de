"""What the dashboard shows when something is missing: schedules, the ledger, the server."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.control.stage import HOUR, TASK
from tests.dashboard.browser import Window
from tests.dashboard.scene import Scene, Served, mounted
from tsumugi_celery.web import unsafe_no_auth

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE = {"one": {"binding": TASK, "payload": {"x": 1}, "everyMs": HOUR}}


@contextmanager
def ledger_away(scene: Scene, folder: Path) -> "Iterator[None]":
    """The folder of the SQLite file has another name, as if its disk were gone."""
    elsewhere = folder.with_name(f"{folder.name}-elsewhere")
    folder.rename(elsewhere)
    scene.tsumugi._state.ledger.engine.dispose()
    try:
        yield
    finally:
        scene.tsumugi._state.ledger.engine.dispose()
        elsewhere.rename(folder)


def test_an_empty_ledger_says_how_to_begin(window: Window, scene: Scene):
    scene.define({})
    scene.beat()
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        window.see("#none", "No schedules yet")
        window.gone("#schedules")


def test_a_schedule_that_no_beat_has_seen_says_so(window: Window, scene: Scene):
    scene.define(ONE)
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        window.see_in_row("one", "badges", "Not registered")
        window.see_in_row("one", "count", "Waits for a beat")
        window.open("schedule?name=one")
        window.see("#no-history", "Nothing has happened yet.")


def test_a_ledger_that_is_away_is_said_and_its_return_too(window: Window, tmp_path: Path):
    folder = tmp_path / "disk"
    folder.mkdir()
    scene = Scene(f"sqlite:///{folder / 'ledger.sqlite3'}")
    scene.define(ONE)
    scene.beat()
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        window.row("one")
        with ledger_away(scene, folder):
            window.see("#banner-title", "The ledger does not answer.")
            assert window.one("#banner").get_attribute("role") == "alert"
            assert "What you see is from" in window.text("#banner-when")
            assert window.text("#live-text") == "Not connected"
            assert window.row("one").is_displayed()
            window.in_row("one", "pause").click()
            window.see_in_row("one", "said", "the ledger does not answer")
        window.click("#banner-retry")
        window.gone("#banner")
        window.see("#live-text", "Live")
        window.in_row("one", "pause").click()
        window.see_in_row("one", "said", "Paused at")
    scene.close()


def test_a_server_that_is_gone_is_said_and_its_return_too(window: Window, scene: Scene):
    scene.define(ONE)
    scene.beat()
    app = mounted(scene, auth=unsafe_no_auth())
    with Served(app) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        window.row("one")
    window.see("#banner-title", "The server does not answer.")
    window.in_row("one", "run").click()
    window.see_in_row("one", "said", "The server does not answer.")
    with Served(app, server.port):
        window.click("#banner-retry")
        window.gone("#banner")
        window.in_row("one", "run").click()
        window.see_in_row("one", "said", "Started at")
    assert len(scene.tsumugi.occurrences("one")) == 1


def test_a_trigger_that_cannot_be_enqueued_says_why_in_place(window: Window, scene: Scene):
    """C181: the broker is down: an error answer, recorded, and no surprise later."""
    scene.define(ONE, broker="redis://127.0.0.1:1/0", tsumugi_publish_timeout=2.0)
    scene.beat()
    with Served(mounted(scene, auth=unsafe_no_auth())) as server:
        window.base = f"{server.address}/tsumugi/"
        window.open()
        window.in_row("one", "run").click()
        window.see_in_row("one", "said", "127.0.0.1:1")
        assert window.in_row("one", "said").get_attribute("data-tone") == "bad"
        window.see_in_row("one", "error", "Not enqueued")
