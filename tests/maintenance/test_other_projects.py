"""The git dir of an archive names another project of the person as one of its worktrees: no command takes it for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.kernel import clock, latch
from holdfast.kernel.workspace import discover, worktrees
from holdfast.maintenance import purge
from tests.conftest import Git
from tests.hooks.test_hostile_clone import digest_of
from tests.session import world
from tests.session.world import Holdfast

holdfast = world.holdfast


@pytest.fixture
def other(repository: Path, git: Git, tmp_path: Path) -> Path:
    """Another project, with a stop, a command that waits, and a file beside a view."""
    folder = tmp_path / "other"
    (folder / ".holdfast" / "inbox").mkdir(parents=True)
    (folder / ".notes").mkdir()
    git("init", "--quiet", str(folder))
    (folder / ".holdfast" / "latch").write_text('{"reason":"mine","by":"me","at":"now"}')
    (folder / ".holdfast" / "inbox" / "1.json").write_text(json.dumps({"text": "the password"}))
    (folder / ".notes" / "default.md").write_text("- the password\n")
    return folder


def name_it(repository: Path, entry: str) -> None:
    """As git registers a linked worktree."""
    registered = repository / ".git" / "worktrees" / "x"
    registered.mkdir(parents=True)
    (registered / "gitdir").write_text(f"{entry}\n")
    (registered / "HEAD").write_text("ref: refs/heads/main\n")
    (registered / "commondir").write_text("../..\n")


@pytest.mark.parametrize("entry", ["{other}/.git", "../other/.git", "../../../../other/.git"])
def test_no_command_takes_another_project_for_a_worktree(
    repository: Path, other: Path, holdfast: Holdfast, entry: str
) -> None:
    """It released the stop, erased what waited, and would have removed everything there."""
    name_it(repository, entry.format(other=other))
    before = digest_of(other)
    assert worktrees(discover()) == [str(repository)]
    assert holdfast("note", "the password").code == 0
    latch.release(discover())
    found = purge.find(discover(), text="the password", now=clock.now())
    purge.erase(discover(), found, text="the password", actor="ada", now=clock.now())
    assert digest_of(other) == before
    for words in (["status"], ["doctor", "--fix"], ["gc"], ["uninstall"], ["release"]):
        assert str(other) not in holdfast(*words).out, words
        assert digest_of(other) == before, words


def test_a_repository_below_another_project_is_no_part_of_it(
    other: Path, git: Git, tmp_path: Path
) -> None:
    """A bare one, in the folder of a project: its worktrees are its own."""
    bare = other / "bare.git"
    git("init", "--quiet", "--bare", str(bare))
    (tmp_path / "linked").mkdir()
    tree = git("hash-object", "-t", "tree", "-w", "--stdin", at=bare).strip()
    commit = git("commit-tree", tree, "-m", "first", at=bare).strip()
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "one"), commit, at=bare)
    assert worktrees(discover(str(tmp_path / "one"))) == [str(tmp_path / "one")]
