"""The prompts of a session on the page: each with its diff, and a button for the person."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_each_prompt_shows_its_change_and_is_taken_back(
    rich: Path, git: Git, prompts: Prompts, world: World, visitor: Visitor
) -> None:
    before = picture_of(rich)
    prompts.begin(f"Reformat {HOSTILE}")
    bad_idea(rich, git)
    (rich / "hostile.html").write_text(HOSTILE)
    prompts.end()
    after = picture_of(rich)
    path = f"/w/{world.key}/sessions/s1/prompts"
    shown = visitor.get(path)
    assert shown.status_code == 200
    assert "line seven" in shown.text
    assert "<script>document" not in shown.text
    (one,) = visitor.data(f"{path}.json")["prompts"]
    assert one["size"]["files"] > 5

    done = visitor.send(path, prompt=one["id"])
    assert (done.status_code, done.headers["location"]) == (303, path)
    assert picture_of(rich) == before
    assert "undone" in visitor.get(path).text
    assert visitor.send(path, redo="1").status_code == 303
    assert picture_of(rich) == after

    (rich / "one.py").write_text("mine\n")
    refused = visitor.send(path, prompt=one["id"])
    assert refused.status_code == 409
    assert "one.py" in refused.text
    assert (rich / "one.py").read_text() == "mine\n"


def test_the_page_of_a_session_links_to_its_prompts(
    rich: Path, prompts: Prompts, world: World, visitor: Visitor
) -> None:
    prompts.begin("Change")
    (rich / "one.py").unlink()
    prompts.end()
    from holdfast.session.checkpoint import checkpoint

    checkpoint(world.workspace, {"session": "s1", "skip_git": True}, actor="me", now=prompts.now)
    assert f"/w/{world.key}/sessions/s1/prompts" in visitor.get(f"/w/{world.key}/sessions/s1").text


def test_nobody_takes_back_without_signing_in(
    rich: Path, prompts: Prompts, world: World, stranger: Visitor
) -> None:
    prompts.begin("Change")
    (rich / "one.py").unlink()
    prompts.end()
    asked = stranger.client.post(f"/w/{world.key}/sessions/s1/prompts", data={"redo": "1"})
    assert asked.status_code == 403
    assert not (rich / "one.py").exists()
