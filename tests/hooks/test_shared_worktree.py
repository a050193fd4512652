"""Two sessions in one worktree: both are told, once, when they edit the same file; a setting denies it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.events import paths_of
from holdfast.kernel.workspace import discover
from holdfast.processes import relaunch
from holdfast.session import client_process, session_files
from tests.hooks.launcher_scene import MAKE, Hooks, begin, hooks
from tests.hooks.world import TOOL, USED, ask, denied
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast
_ = hooks


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left to other processes."""
    monkeypatch.setattr(relaunch, "leave", lambda words: True)


def start(session: str, client: str = "claude") -> None:
    ask(client, "SessionStart", session_id=session, source="startup")
    # In one process both sessions would be this process's: what their hooks did lately decides.
    kept = {"client": client, "session": session, "process": None, "server": None}
    session_files.keep(discover(), session, client_process.NAME, kept)


def edit(session: str, path: str, client: str = "claude") -> dict[str, Any]:
    """An edit with both its hooks; what the client is answered before and after it, together."""
    given = {"tool_name": "Edit", "tool_input": {"file_path": path}, "session_id": session}
    before = ask(client, "PreToolUse", **given)
    if denied(client, before):
        return before
    return ask(client, "PostToolUse", **given)


def context(answer: dict[str, Any]) -> str:
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def mark() -> Path:
    return Path(".git/holdfast/worktree/shared")


def test_both_are_told_once_when_they_edit_the_same_file(repository: Path) -> None:
    start("one")
    assert not mark().exists()
    start("two", "codex")
    assert mark().is_dir(), "two live sessions"
    assert context(edit("one", "a.txt")) == ""
    assert context(edit("one", "b.txt")) == ""
    told = context(edit("two", str(repository / "a.txt"), "codex"))
    assert told == (
        "Holdfast: Claude Code one works in this worktree too and edited a.txt. "
        "Read a.txt again before you change it, and keep what is not yours."
    )
    told = context(edit("one", "c.txt"))
    assert told.startswith(
        "Holdfast: Codex two works in this worktree too and now edits a.txt, which you edited."
    )
    assert context(edit("one", "a.txt")) == ""
    assert context(edit("two", "a.txt", "codex")) == "", "once"


def test_a_session_at_rest_reads_it_with_its_next_request(repository: Path) -> None:
    start("one")
    start("two")
    edit("one", "a.txt")
    edit("two", "a.txt")
    answer = ask("claude", "UserPromptSubmit", session_id="one", prompt="go on")
    assert "now edits a.txt, which you edited" in context(answer)


def test_a_setting_denies_the_second(repository: Path, holdfast: Holdfast) -> None:
    Path("holdfast.toml").write_text('[session]\nsame_file = "deny"\n')
    start("one")
    start("two")
    assert not denied("claude", edit("one", "a.txt"))
    reason = denied("claude", edit("two", "a.txt"))
    assert "Claude Code one works in this worktree too and edited" in str(reason)
    assert not denied("claude", edit("two", "b.txt"))
    assert not denied("claude", edit("one", "a.txt")), "the first goes on"


def test_the_mark_goes_with_the_second_session(repository: Path) -> None:
    start("one")
    start("two")
    ask("claude", "SessionEnd", session_id="two", reason="other")
    assert not mark().exists()
    start("three")
    session_files.end(discover(), "three")  # killed, and forgotten
    edit("one", "a.txt")
    assert not mark().exists()


@pytest.mark.parametrize(
    ("tool", "given", "paths"),
    [
        ("Write", {"file_path": "/x/a.py"}, ["/x/a.py"]),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, ["n.ipynb"]),
        ("edit", {"filePath": "a.ts"}, ["a.ts"]),
        (
            "apply_patch",
            {"command": "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n"},
            ["a.py", "b.py"],
        ),
        ("Read", {"file_path": "a.py"}, []),
        ("view", {"path": "a.py"}, []),
    ],
)
def test_the_files_that_a_tool_changes(tool: str, given: dict[str, str], paths: list[str]) -> None:
    assert paths_of(tool, given) == paths


def test_what_was_not_read_outlives_the_other_session(repository: Path) -> None:
    start("one")
    start("two")
    edit("one", "a.txt")
    edit("two", "a.txt")
    ask("claude", "SessionEnd", session_id="two", reason="other")
    answer = ask("claude", "UserPromptSubmit", session_id="one", prompt="go on")
    assert "now edits a.txt, which you edited" in context(answer)
    assert not mark().exists()


def test_the_launcher_asks_python_only_while_two_are_at_work(hooks: Hooks) -> None:
    begin(hooks, "claude")
    hooks.log.write_text("")
    hooks("claude", TOOL["claude"], **MAKE)
    assert hooks.starts() == [], "sh alone"
    mark().mkdir()
    hooks("claude", TOOL["claude"], **MAKE)
    assert len(hooks.starts()) == 1
    (mark() / "tell").touch()
    hooks("claude", USED["claude"], **MAKE)
    assert len(hooks.starts()) == 2
