"""A real browser, and the person in front of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from scripts.page_server import Serving

# The promise is one second after a beat; a loaded machine gets the benefit of the doubt in the wait,
# and the look itself is bounded by a constant.
PATIENCE = 20_000
SERIOUS = ("serious", "critical")
# One process draws the pages of all tests, whose servers are at different ports.
ARGUMENTS = ["--disable-gpu", "--renderer-process-limit=1", "--disable-site-isolation-trials"]
# All that differs between a light page and a dark one, on which the checker is there already.
COLOURS = {"runOnly": ["color-contrast"]}
expect.set_options(timeout=PATIENCE)
Opens = Callable[..., Page]


@contextmanager
def started() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        missing = (
            "There is no chromium: apt-get install chromium. The page was NOT tested in a browser."
        )
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def person(profile: BrowserContext, serving: Serving) -> Iterator[Opens]:
    """`opens("/board")`: a signed-in person's page. What its console complains of fails the test.

    The profile is shared: a new one costs a second of CPU time. Each test's server has its own port, so
    nothing that a page stores is seen by another. A page without scripts needs a profile of its own.
    """
    complaints: list[str] = []
    opened: list[BrowserContext | Page] = []

    def open(path: str = "/board", *, viewport: Any = None, **options: Any) -> Page:
        context = profile
        if options:
            assert profile.browser is not None
            context = profile.browser.new_context(**options)
            context.set_default_timeout(PATIENCE)
            opened.append(context)
        name, _, value = serving.cookie().partition("=")
        context.add_cookies([{"name": name, "value": value, "url": serving.address.origin}])
        page = context.new_page()
        opened.append(page)
        if viewport:
            page.set_viewport_size(viewport)
        page.on("console", lambda said: complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(serving.address.origin + path)
        if options.get("java_script_enabled", True):
            expect(page.locator("#state")).to_have_text("live")
        return page

    try:
        yield open
    finally:
        for one in reversed(opened):
            one.close()
        profile.clear_cookies()
    grave = [said for said in complaints if "net::ERR" not in said]
    assert not grave, grave


def accessible(page: Page) -> None:
    """Nothing serious, in the light and in the dark."""
    page.emulate_media(color_scheme="light")
    refuse_grave(Axe().run(page).response)
    page.emulate_media(color_scheme="dark")
    refuse_grave(page.evaluate("options => axe.run(document, options)", COLOURS))


def refuse_grave(response: dict[str, Any]) -> None:
    found = [one for one in response["violations"] if one["impact"] in SERIOUS]
    grave = [(one["id"], one["nodes"][0]["html"]) for one in found]
    assert not grave, grave
