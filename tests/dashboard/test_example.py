"""The example with Flask as it stands: a real beat, a real worker, waitress, and the browser."""

import re
import shutil
import sys

import pytest
from selenium.webdriver.common.keys import Keys

from tests.dashboard.browser import Window
from tests.processes import REPOSITORY, Project

TOKEN = "a-long-random-text"


@pytest.mark.e2e
def test_a_run_by_hand_and_a_pause_reach_a_running_beat_and_worker(
    window: Window, project: Project, redis_broker
):
    shutil.copytree(REPOSITORY / "examples" / "flask_app", project.folder, dirs_exist_ok=True)
    project.module = "app"
    project.env |= {"BROKER_URL": redis_broker.url, "TSUMUGI_TOKEN": TOKEN}
    project.beat()
    project.worker()
    listen = ("-m", "waitress", "--listen", "127.0.0.1:0", "app:web")
    server = project.start("web", sys.executable, *listen)
    server.wait_log("Serving on http")
    address = re.search(r"Serving on (http://[\d.:]+)", server.text())
    assert address is not None
    window.base = f"{address[1]}/"
    window.open()
    window.click("a")
    window.type("#token", TOKEN + Keys.ENTER)
    window.see_in_row("morning-report", "next-zone", "Asia/Tokyo GMT+09:00")
    window.in_row("morning-report", "run").click()
    window.see_in_row("morning-report", "said", "Started at")
    window.see_in_row("morning-report", "outcome", "Completed")
    window.see_in_row("check-stock", "outcome", "Completed")
    window.in_row("check-stock", "pause").click()
    window.see_in_row("check-stock", "badges", "Paused")
    # The beat passes the time by and counts it; the page shows it by itself.
    window.see_in_row("check-stock", "missed", "not executed: ")
    assert "pause" in window.in_row("check-stock", "missed").text
