"""One Chromium for all tests of this folder, and a person with a page of their own for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from scripts.page_server import Serving

from tests.web.browser.chromium import PATIENCE, Opens, person, started


# Not longer: while it runs, the process has an event loop, and no other test could start one.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.fixture(scope="package")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """One for all tests. Its empty page keeps the process that draws pages alive between them."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def opens(profile: BrowserContext, serving: Serving) -> Iterator[Opens]:
    """`opens("/board")`: a signed-in person's page."""
    with person(profile, serving) as opening:
        yield opening


@pytest.fixture
def blank(profile: BrowserContext) -> Iterator[Page]:
    """An empty page of a browser that is signed in nowhere."""
    page = profile.new_page()
    yield page
    page.close()
    profile.clear_cookies()
