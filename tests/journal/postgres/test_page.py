"""The page of workspaces whose journals are on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.postgres import connect
from holdfast.web.table import pages
from holdfast.web.workspaces import Site
from tests.conftest import Git
from tests.journal.postgres.proxy import Network
from tests.web import stories
from tests.web.world import Visitor, World

# What clients ask waits in files beside the journal, for as long as their hooks run.
PAGES = [page for page in pages() if page.name not in ("question", "waiting")]


@pytest.fixture
def world(on_server: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:  # fmt: skip
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return World(repository)


def test_every_page_of_a_journal_on_a_server(world: World, tmp_path: Path, git: Git) -> None:
    """Also from a machine that has none of the folders which the records name."""
    gate = world.verify()
    world.start("Secondary-A")
    world.alert()
    record = stories.capture(world, issue="CIA-7", next="keep quoted words together")
    stories.rfc(world)
    plans = stories.run(world)
    plans.begin()
    stories.track(world)
    ids = {
        "gate": gate,
        "session": stories.SESSION,
        "prompts": stories.SESSION,
        "track": stories.TRACK,
        "rfc": stories.RFC,
    }
    ids |= {"run": plans.id, "record": record}
    with Visitor([str(world.root)]) as visitor:
        visitor.sign_in()
        for page in PAGES:
            path = page.path.format(workspace=world.key, id=ids.get(page.name, ""))
            assert visitor.get(path).status_code == 200, path
            assert visitor.get(f"{path}.json").json()["ok"], path
        assert visitor.send(f"/w/{world.key}/gates/{gate}", answer="approved").status_code == 303
    answer = world.gate(gate)["answer"]
    assert answer is not None
    assert answer["answer"] == "approved"
    world.workspace.close()
    git("clone", "--quiet", str(world.root), str(tmp_path / "there"))
    world.root.rename(tmp_path / "away")
    with Visitor([str(tmp_path / "there")]) as visitor:
        visitor.sign_in()
        key = next(iter(Site([str(tmp_path / "there")]))).key
        for page in PAGES:
            path = page.path.format(workspace=key, id=ids.get(page.name, ""))
            assert visitor.get(path).status_code == 200, path
        (agent,) = visitor.data("/fleet.json")["agents"]
        assert (agent["elsewhere"], agent["worktree"], agent["branch"]) == (True, "", "")


def test_clones_that_share_a_journal_are_one_workspace(
    world: World, tmp_path: Path, git: Git
) -> None:
    git("clone", "--quiet", str(world.root), str(tmp_path / "there"))
    world.verify()
    assert len(Site([str(world.root), str(tmp_path / "there")])) == 1
    world.workspace.close()


def test_a_server_that_is_away_is_said(world: World, url: str, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    gate = f"/w/{world.key}/gates/{world.verify()}"
    world.workspace.close()
    with Network(url) as network:
        monkeypatch.setenv("HOLDFAST_URL", network.url)
        with Visitor([str(world.root)]) as visitor:
            visitor.sign_in()
            assert visitor.get(gate).status_code == 200
            network.cut()  # A connection that breaks is made anew, and nobody sees it.
            world.verify(name="other")
            assert visitor.get(gate).status_code == 200
            monkeypatch.setattr(connect, "PATIENCE_SECONDS", 0.3)
            network.lost_requests = 1000
            answer = visitor.get(gate)
            assert answer.status_code == 503
            assert "retry-after" in answer.headers
            assert "is away" in visitor.get("/board").text
