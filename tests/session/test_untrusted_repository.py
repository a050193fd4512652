"""A work tree from elsewhere: checkpoint, resume, snapshots, hooks and MCP tools run nothing of it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.conftest import Git
from tests.mcp.world import DASHBOARD, Face
from tests.session import world
from tests.session.world import WORK, Holdfast

SESSION = "3f2a0000-0000-4000-8000-000000000001"


@pytest.fixture
def ran(repository: Path, tmp_path: Path, git: Git) -> Path:
    """A repository inside the work tree, and a submodule, that name a program. The file that the program
    writes when it is run."""
    marker, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0" >> "{marker}"\ncat\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for name in ("loose", "module"):
        inner = repository / name
        git("init", "--quiet", str(inner))
        (inner / "a.txt").write_text("one")
        (inner / ".gitattributes").write_text("*.txt filter=evil\n")
        git("add", ".", at=inner)
        git("commit", "--quiet", "--message", "one", at=inner)
        for key in ("core.fsmonitor", "filter.evil.clean", "core.hooksPath"):
            git("config", key, str(program), at=inner)
        (inner / "a.txt").write_text("two")
    git("add", "module")
    git("commit", "--quiet", "--message", "module")
    marker.unlink(missing_ok=True)
    return marker


def test_no_command_and_no_hook_runs_what_a_nested_repository_names(
    repository: Path, holdfast: Holdfast, ran: Path
) -> None:
    (repository / "README.md").write_text("changed")
    assert holdfast("checkpoint", *WORK, "--file", "README.md").code == 0
    assert holdfast("resume").code == 0
    assert holdfast("resume", "--recheck").code == 0
    assert holdfast("snapshot", "create").code == 0
    assert holdfast("snapshot", "list").code == 0
    world.said(world.hook("SessionStart", "SessionStart.startup", apart=True, session_id=SESSION))
    holdfast("checkpoint", "--session", SESSION, "--auto")
    world.said(world.hook("Stop", "Stop", apart=True, session_id=SESSION))
    world.said(world.hook("SessionEnd", "SessionEnd.other", apart=True, session_id=SESSION))
    assert holdfast("status").code == 0
    tools = Face(repository)
    assert not tools.call("checkpoint", {"next": "go on", "files": ["README.md"]}).failed
    assert not tools.call("resume").failed
    assert not tools.call("gate_open", DASHBOARD).failed
    assert not tools.call("gate_status").failed
    assert not ran.exists()


@pytest.mark.parametrize("spelled", ["{}", '"{}"', "{} ; a comment", '"{}" # the same'])
def test_nothing_is_read_or_written_in_another_folder_that_the_config_names(
    repository: Path, holdfast: Holdfast, git: Git, tmp_path: Path, spelled: str
) -> None:
    """`core.worktree` of a stranger's config: a snapshot would hold that folder's files, and its restore
    would write there."""
    other = tmp_path / "private"
    other.mkdir()
    (other / "diary.txt").write_text("secret")
    config = repository / ".git" / "config"
    config.write_text(f"{config.read_text()}[core]\n\tworktree = {spelled.format(other)}\n")
    refused = holdfast("snapshot", "create", "--json")
    assert refused.code == 1
    assert refused.envelope["error"]["kind"] == "other_work_tree"
    assert "core.worktree" in refused.envelope["error"]["hint"]
    (repository / "README.md").write_text("changed")
    report = holdfast("checkpoint", *WORK, "--file", "README.md")
    assert report.code == 0
    assert "names another folder as its work tree" in report.out + report.err
    for words in (["resume"], ["status"], ["snapshot", "list"], ["agent", "list"]):
        holdfast(*words)
    assert (other / "diary.txt").read_text() == "secret"
    assert [path.name for path in other.iterdir()] == ["diary.txt"]
    git("config", "--unset", "core.worktree")
    assert "diary" not in git("log", "--all", "--name-only")


def test_a_submodule_names_its_own_work_tree(
    repository: Path, holdfast: Holdfast, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    git("init", "--quiet", str(source))
    git("commit", "--quiet", "--allow-empty", "--message", "one", at=source)
    git("submodule", "add", "--quiet", str(source), "module", at=repository)
    assert "worktree" in (repository / ".git" / "modules" / "module" / "config").read_text()
    monkeypatch.chdir(repository / "module")
    assert holdfast("snapshot", "create").code == 0
