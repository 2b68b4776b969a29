"""Pictures of pages of Superset, by a Chromium without a window. Runs with the Python of Superset's environment, which has playwright.

python screenshots.py ADDRESS USER PASSWORD CHROMIUM CHART DATABASE CHART.png SQLLAB.png < statement.sql
"""

from __future__ import annotations

import sys
import tempfile
from urllib.parse import quote

from playwright.sync_api import BrowserContext, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZE = {"width": 1280, "height": 720}
MILLISECONDS = 120_000
"""For a page to show what it should: Superset's own pages are large."""


def main() -> None:
    """Log in, then take both pictures."""
    address, user, password, chromium, chart, database, chart_file, lab_file = sys.argv[1:]
    with sync_playwright() as play, tempfile.TemporaryDirectory() as profile:
        browser = play.chromium.launch_persistent_context(
            profile, executable_path=chromium, headless=True, args=FLAGS, viewport=SIZE
        )
        play.selectors.set_test_id_attribute("data-test")
        browser.set_default_timeout(MILLISECONDS)
        login(browser, address, user, password)
        picture_of_chart(browser, f"{address}/explore/?slice_id={chart}", chart_file)
        picture_of_sql_lab(browser, f"{address}/sqllab/?dbid={database}", sys.stdin.read(), lab_file)
        browser.close()


def login(browser: BrowserContext, address: str, user: str, password: str) -> None:
    """A session in the browser's cookies."""
    page = browser.new_page()
    page.goto(f"{address}/login/")
    page.get_by_test_id("username-input").fill(user)
    page.get_by_test_id("password-input").fill(password)
    page.get_by_test_id("login-button").click()
    page.wait_for_url(lambda url: "/login" not in url)


def picture_of_chart(browser: BrowserContext, address: str, file: str) -> None:
    """Explore with the chart drawn; a chart that could not be drawn is a timeout."""
    page = browser.new_page()
    page.goto(address)
    page.locator("[data-test='chart-container'] canvas, .chart-container canvas").first.wait_for()
    page.wait_for_timeout(3000)  # the bars grow
    page.screenshot(path=file)


def picture_of_sql_lab(browser: BrowserContext, address: str, sql: str, file: str) -> None:
    """SQL Lab with the statement, run, and its rows."""
    page = browser.new_page()
    page.goto(f"{address}&schema=flights&new=true&name=Pattern&sql={quote(sql)}")
    page.get_by_test_id("run-query-action").click()
    page.get_by_role("grid").or_(page.get_by_role("table")).first.wait_for()
    page.mouse.move(SIZE["width"] / 2, SIZE["height"] - 10)  # away from the button, whose tooltip hides the tabs
    page.wait_for_timeout(1000)
    page.screenshot(path=file)


if __name__ == "__main__":
    main()
