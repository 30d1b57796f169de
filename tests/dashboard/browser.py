"""Headless Chromium, and what a reader sees in it."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.servers import require_binary
from tests.waiting import wait_for

T = TypeVar("T")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
WIDE, NARROW = (1280, 900), (360, 740)


@contextmanager
def chromium() -> Iterator[Chrome]:
    """A browser with a profile of its own."""
    binary, driver = require_binary("chromium"), require_binary("chromedriver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = binary
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = Chrome(options=options, service=Service(driver))
        try:
            yield browser
        finally:
            browser.quit()


class Window:
    """The browser as a test uses it: finds by CSS, and waits for what the reader sees."""

    def __init__(self, browser: Chrome, base: str = "") -> None:
        self.browser = browser
        self.base = base

    def open(self, path: str = "") -> None:
        """Go to a page of the dashboard."""
        self.browser.get(self.base + path)

    def size(self, size: tuple[int, int]) -> None:
        """Give the window a size, smaller ones than the system allows too."""
        width, height = size
        given = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", given)

    def scheme(self, value: str) -> None:
        """Set what prefers-color-scheme says."""
        features = {"features": [{"name": "prefers-color-scheme", "value": value}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)

    def all(self, css: str) -> list[WebElement]:
        """All elements."""
        return list(self.browser.find_elements(By.CSS_SELECTOR, css))

    def one(self, css: str) -> WebElement:
        """The first element that is shown, waited for."""
        return self.until(
            lambda: next((each for each in self.all(css) if each.is_displayed()), None), css
        )

    def text(self, css: str) -> str:
        """What the first element shows; '' where there is none."""
        return next((each.text for each in self.all(css)), "")

    def click(self, css: str) -> None:
        """Press the first that is shown."""
        self.one(css).click()

    def type(self, css: str, text: str) -> None:
        """Write into a field."""
        field = self.one(css)
        field.clear()
        field.send_keys(text)

    def choose(self, css: str, text: str) -> None:
        """Choose from a list of options."""
        Select(self.one(css)).select_by_visible_text(text)

    def see(self, css: str, text: str) -> None:
        """Wait until an element shows a text."""
        self.until(lambda: text in self.text(css), f"{text!r} in {css}; it is {self.text(css)!r}")

    def gone(self, css: str) -> None:
        """Wait until nothing of it is shown."""
        self.until(lambda: not any(each.is_displayed() for each in self.all(css)), f"no {css}")

    def row(self, name: str) -> WebElement:
        """The row of a schedule in the list."""
        return self.until(
            lambda: next((row for row in self.all("#rows > tr") if self._is(row, name)), None),
            f"the row of {name}",
        )

    def in_row(self, name: str, field: str) -> WebElement:
        """A field of such a row."""
        return self.row(name).find_element(By.CSS_SELECTOR, f"[data-f={field}]")

    def see_in_row(self, name: str, field: str, text: str) -> None:
        """Wait until a field of a row shows a text."""
        self.until(lambda: text in self.in_row(name, field).text, f"{text!r} in {field} of {name}")

    def run(self, script: str, *given: Any) -> Any:
        """Run a script in the page."""
        return self.browser.execute_script(script, *given)

    def log(self) -> list[str]:
        """What the page complained about since the last call; answers of 4xx and 5xx are not."""
        entries = self.browser.get_log("browser")  # type: ignore[no-untyped-call,unused-ignore]
        return [
            each["message"]
            for each in entries
            if each["level"] in {"SEVERE", "WARNING"}
            and "Failed to load resource" not in each["message"]
        ]

    @staticmethod
    def until(predicate: Callable[[], T | None], what: str, timeout: float = 20) -> T:
        """Wait; a row that was replaced meanwhile is looked for anew."""

        def asked() -> T | None:
            try:
                return predicate()
            except StaleElementReferenceException:
                return None

        found = wait_for(asked, timeout, what=what, interval=0.05)
        assert found is not None
        return found

    @staticmethod
    def _is(row: WebElement, name: str) -> bool:
        return row.find_element(By.CSS_SELECTOR, "[data-f=name]").text == name
