"""The prompts of a session on the page: each with its diff, and a button for the person."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.session.checkpoint import checkpoint
from tests.conftest import Git
from tests.undo import scene
from tests.undo.scene import Prompts, bad_idea, picture_of
from tests.web import conftest as web
from tests.web.world import HOSTILE, Visitor, World

rich, prompts = scene.rich, scene.prompts
stranger, visitor = web.stranger, web.visitor


@pytest.fixture
def world(rich: Path) -> World:
    return World(rich)


@pytest.fixture
def page(rich: Path, prompts: Prompts, world: World) -> str:
    """The page of the session whose prompts these are."""
    checkpoint(world.workspace, {"session": "s1", "skip_git": True}, actor="me", now=prompts.now)
    return f"/w/{world.key}/sessions/s1"


def test_each_prompt_shows_its_change_and_is_taken_back(
    rich: Path, git: Git, prompts: Prompts, page: str, visitor: Visitor
) -> None:
    assert "What each prompt changed" not in visitor.get(page).text, "nothing to show yet"
    before = picture_of(rich)
    prompts.begin(f"Reformat {HOSTILE}")
    bad_idea(rich, git)
    (rich / "hostile.html").write_text(HOSTILE)
    prompts.end()
    after = picture_of(rich)
    shown = visitor.get(page)
    assert "line seven" in shown.text
    assert "<script>document" not in shown.text
    (section,) = visitor.data(f"{page}.json")["sections"]
    (one,) = section["one"]["prompts"]
    assert one["size"]["files"] > 5
    assert section["one"]["action"] == f"{page}/prompts"

    done = visitor.send(f"{page}/prompts", prompt=one["id"])
    assert (done.status_code, done.headers["location"]) == (303, f"{page}#prompts")
    assert picture_of(rich) == before
    assert "undone" in visitor.get(page).text
    assert visitor.send(f"{page}/prompts", redo="1").status_code == 303
    assert picture_of(rich) == after

    (rich / "one.py").write_text("mine\n")
    refused = visitor.send(f"{page}/prompts", prompt=one["id"])
    assert refused.status_code == 409
    assert "one.py" in refused.text
    assert (rich / "one.py").read_text() == "mine\n"


def test_nobody_takes_back_without_signing_in(
    rich: Path, prompts: Prompts, world: World, stranger: Visitor
) -> None:
    prompts.begin("Change")
    (rich / "one.py").unlink()
    prompts.end()
    asked = stranger.client.post(f"/w/{world.key}/sessions/s1/prompts", data={"redo": "1"})
    assert asked.status_code == 403
    assert not (rich / "one.py").exists()
