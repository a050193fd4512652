"""One Chromium for all tests of this folder, and a person with a page of their own for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from scripts.page_server import Serving

from tests.web.browser.chromium import PATIENCE, Opens, person, started


# Not longer: while it runs, the process has an event loop, and no other test could start one.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.fixture
def opens(browser: Browser, serving: Serving) -> Iterator[Opens]:
    """`opens("/board")`: a signed-in person's page."""
    with person(browser, serving) as opening:
        yield opening


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    """An empty page of a browser that knows nothing yet."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()
