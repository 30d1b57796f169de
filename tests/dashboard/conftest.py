"""One browser and one furnished ledger for a file of tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.dashboard.browser import WIDE, Window, chromium
from tests.dashboard.scene import Scene, Served, furnish, mounted
from tsumugi_celery.web import unsafe_no_auth

FLOWER = "http://flower.example:5555"


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """Headless Chromium; skipped where it is not installed."""
    with chromium() as started:
        yield started


@pytest.fixture
def window(browser: Chrome) -> Iterator[Window]:
    """A window that nobody is signed in with; a test fails on what its page complained about."""
    made = Window(browser)
    made.size(WIDE)
    made.scheme("light")
    browser.delete_all_cookies()
    made.log()
    yield made
    complaints = made.log()
    browser.get("about:blank")
    assert complaints == []


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A ledger with a past."""
    made = Scene(f"sqlite:///{tmp_path_factory.mktemp('dashboard') / 'ledger.sqlite3'}")
    furnish(made)
    yield made
    made.close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A ledger of one test's own."""
    made = Scene(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def served(furnished: Scene) -> Iterator[Served]:
    """The furnished ledger, open to all."""
    app = mounted(furnished, auth=unsafe_no_auth(), flower_url=FLOWER, show_payloads=True)
    with Served(app) as server:
        yield server


@pytest.fixture
def page(window: Window, served: Served) -> Window:
    """A window at the furnished dashboard."""
    window.base = f"{served.address}/tsumugi/"
    return window
