"""The prompts of a session in a real browser: the change, and the button that takes it back."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from holdfast.session.checkpoint import checkpoint
from tests.conftest import Git
from tests.undo import scene
from tests.undo.scene import Prompts, bad_idea, picture_of
from tests.web.browser.chromium import Opens, accessible
from tests.web.world import World

rich, prompts = scene.rich, scene.prompts


@pytest.fixture
def world(rich: Path) -> World:
    return World(rich)


def test_a_person_takes_a_prompt_back(
    rich: Path, git: Git, prompts: Prompts, world: World, opens: Opens
) -> None:
    checkpoint(world.workspace, {"session": "s1", "skip_git": True}, actor="me", now=prompts.now)
    prompts.begin("Explain how the parser keeps quotes")
    prompts.end()
    before = picture_of(rich)
    prompts.begin("Reformat everything, and remove what nobody uses")
    bad_idea(rich, git)
    prompts.end()
    page = opens(f"/w/{world.key}/sessions/s1")
    page.on("dialog", lambda dialog: dialog.accept())
    expect(page.locator("pre.diff").first).to_contain_text("line seven")
    accessible(page)
    page.get_by_role("button", name="Undo").first.click()
    expect(page.locator(".chip.undone")).to_be_visible()
    assert picture_of(rich) == before
    expect(page.get_by_role("button", name="Bring back")).to_be_visible()
