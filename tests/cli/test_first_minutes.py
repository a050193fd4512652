"""What a person types in the first minutes, and what they read."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from holdfast.hooks import handlers, session_start
from holdfast.maintenance import demo
from holdfast.processes.distribution import install_command
from tests.cli.conftest import Holdfast
from tests.privileges import modes_count


def test_every_command_of_the_demo_runs_as_it_is_shown(
    holdfast: Holdfast, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the exit code that the story tells of: a person is needed, the budget stops."""
    shown = [line.text for line in demo.tell() if line.kind == "command"]
    codes = {}
    holdfast("checkpoint", "--task", "Quotes")
    for text in shown:
        program, *words = shlex.split(text, comments=True)
        assert program == "holdfast"
        if words[0] == "hook":
            continue  # it reads what its client gives it, and never fails
        codes[" ".join(words[:2])] = holdfast(*words).code
    assert codes == {"resume": 0, "gate verify": 0, "gate answer": 4, "guard check": 7}


def test_the_folder_may_stand_before_the_verb_as_for_git(
    holdfast: Holdfast, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.parent)
    folder = str(repository)
    assert holdfast("-C", folder, "note", "one").code == 0
    assert holdfast("-C", folder, "--json", "status").envelope["ok"]
    assert holdfast("--json", "-C", folder, "gate", "list").envelope["ok"]
    assert holdfast("-C", folder, "note", "--", "--two").code == 0
    assert "--two" in (repository / ".notes" / "default.md").read_text()
    assert "--json" not in (repository / ".notes" / "default.md").read_text()
    assert holdfast("-C", folder, "--json").data["folder"] == folder
    assert "There is no command 'statsu'" in holdfast("-C", folder, "statsu").err


def test_a_folder_that_cannot_be_written_is_named(holdfast: Holdfast, repository: Path) -> None:
    for folder in (repository / ".git", repository):
        folder.chmod(0o555)
    try:
        with modes_count():
            answer = holdfast("note", "one")
    finally:
        for folder in (repository, repository / ".git"):
            folder.chmod(0o755)
    assert answer.code == 75
    assert f"{repository}/.holdfast/inbox" in answer.err
    assert f"{repository}/.git/holdfast/journal.db" in answer.err


@pytest.mark.usefixtures("repository")
def test_a_note_that_is_not_there_says_how_to_write_one(holdfast: Holdfast) -> None:
    assert "`holdfast note -` reads standard input" in holdfast("note").err


@pytest.mark.usefixtures("repository")
def test_a_transcript_that_is_not_there_leads_to_the_list(holdfast: Holdfast) -> None:
    answer = holdfast("resume", "--transcript", "nosuch")
    assert (answer.code, "--session ID" in answer.err) == (3, True)


def test_no_hook_names_a_tool_that_may_not_be_registered() -> None:
    assert "MCP" not in session_start.TIP + handlers.ASK


def installed_from(folder: Path, origin: dict[str, object]) -> list[str]:
    about = folder / "holdfast_agents-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: holdfast-agents\nVersion: 1.2\n")
    (about / "direct_url.json").write_text(json.dumps(origin))
    return [str(folder)]


def test_an_extra_comes_from_where_this_copy_came_from(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    (tmp_path / "pipx_metadata.json").write_text("")
    of_clone = installed_from(tmp_path / "one", {"url": clone.as_uri(), "dir_info": {}})
    command = install_command("mcp", prefix=str(tmp_path), path=of_clone)
    assert command == f"pipx install --force '{clone}[mcp]'"
    os.rmdir(clone)
    command = install_command("mcp", prefix=str(tmp_path), path=of_clone)
    assert command == "pipx install --force 'holdfast-agents[mcp]'", "the clone is gone"
    url = "https://example.invalid/holdfast.git"
    of_git = installed_from(tmp_path / "two", {"url": url, "vcs_info": {"vcs": "git"}})
    command = install_command("web", prefix=str(tmp_path), path=of_git)
    assert command == f"pipx install --force 'holdfast-agents[web] @ git+{url}'"
