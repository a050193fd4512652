"""`holdfast edits --apply` on a transcript of a stranger, and in a work tree that another program changes meanwhile."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from holdfast.kernel.text import split_words
from tests.conftest import Git
from tests.session import world
from tests.session.world import Conversation, Holdfast
from tests.swapping import Swapper

home, conversation = world.home, world.conversation

# Settings that start programs: of editors, shells, git's helpers, clients, containers.
STARTERS = split_words(
    ".vscode/tasks.json .envrc .husky/pre-commit .opencode/plugins/x.js "
    ".github/hooks/x.json .devcontainer/devcontainer.json "
    "sub/.claude/settings.json sub/.mcp.json .idea/runConfigurations/x.xml "
    "sub/.envrc .zshrc .gitattributes node_modules/.bin/tsc x.code-workspace "
    "opencode.json sub/.Claude/settings.json .pre-commit-config.yaml "
    ".some-editor-of-next-year/start.json"
)


@pytest.mark.parametrize("path", STARTERS)
def test_no_settings_that_start_programs_are_written_by_the_way(
    conversation: Conversation, holdfast: Holdfast, path: str
) -> None:
    conversation.write(path, "planted\n")
    conversation.write("src/work.txt", "work\n")
    conversation.leave()
    for words in (["edits", "--apply"], ["edits", "--apply", "."]):
        assert path not in holdfast(*words, "--json").data["written"]
        assert not os.path.lexists(path)
    assert Path("src/work.txt").read_text() == "work\n"


def test_a_guarded_file_is_shown_with_its_diff_and_the_command_that_writes_it(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.write(".github/workflows/test.yml", "run: make test\n")
    conversation.leave()
    for words in (["edits"], ["edits", "--apply"]):
        shown = holdfast(*words)
        assert shown.code == 0
        assert "  guarded    .github/workflows/test.yml  1 edit" in shown.out
        assert "a hidden file or folder can hold settings that start programs" in shown.out
        assert "+run: make test\n" in shown.out
        (line,) = [one for one in shown.out.splitlines() if one.startswith("To write .github")]
        command = line.partition("holdfast ")[2].split()
        assert command[-2:] == ["--apply", ".github/workflows/test.yml"]
    assert "Nothing was written." in shown.out
    # A folder is no word for what is in it.
    assert holdfast("edits", "--apply", ".github", "--json").data["written"] == []
    assert holdfast(*command).code == 0
    assert Path(".github/workflows/test.yml").read_text() == "run: make test\n"


def test_the_command_works_where_it_was_printed(
    conversation: Conversation, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation.write(".envrc", "export A=1\n")
    conversation.leave()
    Path("sub").mkdir()
    monkeypatch.chdir("sub")
    shown = holdfast("edits", "--session", world.TRANSCRIPT[:8]).out
    (line,) = [one for one in shown.splitlines() if one.startswith("To write .envrc")]
    assert holdfast(*line.partition("holdfast ")[2].split()).code == 0
    assert Path("../.envrc").read_text() == "export A=1\n"


@pytest.mark.parametrize("path", ["sub/.claude/settings.json", ".mcp.json", ".ccc-state.json"])
def test_settings_of_clients_and_files_of_holdfast_are_not_written_by_name_either(
    conversation: Conversation, holdfast: Holdfast, path: str
) -> None:
    conversation.write(path, "planted\n")
    conversation.leave()
    assert holdfast("edits", "--apply", path, "--json").data["written"] == []
    assert not os.path.lexists(path)


def test_a_folder_of_hooks_that_git_was_told_of_is_guarded(
    conversation: Conversation, holdfast: Holdfast, git: Git
) -> None:
    git("config", "core.hooksPath", "tools/hooks")
    conversation.write("tools/hooks/pre-commit", "planted\n")
    conversation.write("tools/lint.py", "work\n")
    conversation.leave()
    assert holdfast("edits", "--apply", "--json").data["written"] == ["tools/lint.py"]


def test_what_is_the_projects_own_code_is_written(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    """Its programs start when a person builds or tests the project: the diff says what they will do."""
    names = ["Makefile", "package.json", "conftest.py", "scripts/build.sh"]
    for name in names:
        conversation.write(name, "all:\n")
    conversation.leave()
    assert holdfast("edits", "--apply", "--json").data["written"] == names


@pytest.mark.parametrize("name", [".GIT", ".git ", ".git.", "git~1", ".g\u200cit", ".git::$INDEX"])
def test_no_spelling_of_gits_folder_is_written(
    conversation: Conversation, holdfast: Holdfast, name: str
) -> None:
    conversation.write(f"sub/{name}/hooks/post-checkout", "planted\n")
    conversation.leave()
    done = holdfast("edits", "--apply", f"sub/{name}/hooks/post-checkout", "--json").data
    assert (done["files"][0]["state"], done["files"][0]["why"]) == ("elsewhere", "it is git's own")
    assert not Path("sub").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="swaps with renameat2")
@pytest.mark.parametrize("aim", ["outside", "inside"])
def test_a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere(
    conversation: Conversation, holdfast: Holdfast, tmp_path: Path, aim: str
) -> None:
    """A link into a guarded folder of the same tree is no way around the guard."""
    where = tmp_path / "outside" if aim == "outside" else Path(".vscode").absolute()
    where.mkdir()
    folder = Path("src")
    folder.mkdir()
    for number in range(12):
        conversation.write(f"src/{number}.txt", "work\n")
    conversation.leave()
    deadline, written = time.monotonic() + 4, 0
    with Swapper(folder.absolute(), where) as swapper:
        while time.monotonic() < deadline and not os.listdir(where):
            answer = holdfast("edits", "--apply", "--json")
            assert answer.code in (0, 1, 5), answer
            written += len(answer.envelope.get("data", {}).get("written", []))
            for place in folder, Path("src-link"):
                for number in range(12):
                    try:
                        (place / f"{number}.txt").unlink()
                    except OSError:
                        continue
    assert swapper.swaps > 1000
    assert os.listdir(where) == []
    assert written > 0, "nothing was tried"
