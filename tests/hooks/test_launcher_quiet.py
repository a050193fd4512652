"""The launcher costs no Python where there is nothing to say, and asks Python wherever there may be."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.events import PERSONS_COMMANDS
from holdfast.clients.table import NAMES as CLIENTS
from holdfast.kernel import failures, latch
from holdfast.kernel.workspace import discover
from holdfast.session import session_files
from tests.budgets.world import Scene, configure
from tests.conftest import Git
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import MAKE, PROOF, Hooks, begin
from tests.hooks.world import TOOL, USED, denied
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast, hooks = session_world.holdfast, launcher_scene.hooks


@pytest.mark.parametrize("client", CLIENTS)
def test_before_and_after_a_tool_no_python_is_started(hooks: Hooks, client: str) -> None:
    hooks(client, "SessionStart", source="startup")
    assert hooks.starts() == [f"{client} SessionStart"]
    hooks.log.unlink()
    assert hooks(client, TOOL[client], **MAKE) == {}
    assert hooks(client, USED[client], **MAKE, tool_response="x" * 100_000) == {}
    assert hooks.starts() == []
    assert (Path(discover().private) / "seen" / f"{client}.{TOOL[client]}").stat().st_size == 0


def test_what_a_tool_without_a_command_is_given_stays_unread(hooks: Hooks) -> None:
    begin(hooks, "claude")
    said: dict[str, Any] = {
        "tool_name": "Write",
        "tool_input": {"content": "holdfast release" * 20_000},
    }
    assert hooks("claude", "PreToolUse", "unread", **said) == {}
    assert hooks.starts() == []


PERSONS_LINES = [
    *(f"holdfast {' '.join(words)} x" for words in PERSONS_COMMANDS),
    "hold''fast gate ans\"wer\" 3f2a",
    "hold\\fast guard a\\ck cost",
    "sh -c 'holdfast release'",
    "git status\nholdfast release",
]


# The launcher finds a command whichever the client is: one has all of them, each other some.
SOME_LINES = [(client, PERSONS_LINES[n :: len(CLIENTS)]) for n, client in enumerate(CLIENTS[1:])]
ALL_LINES = [pytest.param(client, PERSONS_LINES, marks=PROOF) for client in CLIENTS[1:]]


@pytest.mark.parametrize(
    ("client", "lines"), [(CLIENTS[0], PERSONS_LINES), *SOME_LINES, *ALL_LINES]
)
def test_a_persons_command_reaches_python_and_is_denied(
    hooks: Hooks, client: str, lines: list[str]
) -> None:
    begin(hooks, client)
    for line in lines:
        answer = hooks(client, TOOL[client], tool_name="Bash", tool_input={"command": line})
        assert "Only a person may run" in denied(client, answer), line


# A shell, and the version of bash that it is taken for: dash with one is a bash that knows no `read -N`.
OLD, NEW = "3.2.57(1)-release", "5.2.15(1)-release"
SHELLS = [("/bin/sh", ""), ("/bin/bash", ""), ("/bin/sh", OLD), ("/bin/sh", NEW)]
SHELLS_WITH_LINES = [(*shell, PERSONS_LINES[n :: len(SHELLS)]) for n, shell in enumerate(SHELLS)]


@pytest.mark.parametrize(("shell", "version", "lines"), SHELLS_WITH_LINES)
def test_a_long_payload_is_read_to_its_end_by_each_shell(
    hooks: Hooks, shell: str, version: str, lines: list[str]
) -> None:
    if version:
        hooks.environment["BASH_VERSION"] = version
    begin(hooks, "claude")
    text = "echo 'größer'\n" * 2_000
    told = {"tool_name": "Bash", "tool_input": {"command": text}}
    assert hooks("claude", "PreToolUse", shell=shell, **told) == {}
    assert hooks.starts() == []
    for line in lines:
        told["tool_input"] = {"command": text + line}
        answer = hooks("claude", "PreToolUse", shell=shell, **told)
        assert "Only a person may run" in denied("claude", answer), line


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("tool", ["AskUserQuestion", "ask_user", "request_user_input"])
def test_a_question_for_a_person_reaches_python(hooks: Hooks, shell: str, tool: str) -> None:
    begin(hooks, "claude")
    hooks("claude", "PreToolUse", shell=shell, tool_name=tool, tool_input={})
    assert hooks.starts() == ["claude PreToolUse"]


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_in_a_linked_worktree_and_in_a_folder_no_python_is_started(
    hooks: Hooks, tmp_path: Path, git: Git, shell: str
) -> None:
    side, below = tmp_path / "side", hooks.root / "src"
    git("worktree", "add", "--quiet", str(side), at=hooks.root)
    below.mkdir()
    for folder in (side, below):
        hooks.root = folder
        begin(hooks, "claude", folder.name)
        for event in ("PreToolUse", "PostToolUse"):
            assert hooks("claude", event, shell=shell, session_id=folder.name, **MAKE) == {}
        assert hooks.starts() == []


def test_a_project_that_is_called_holdfast_costs_no_python(hooks: Hooks) -> None:
    begin(hooks, "claude")
    told: dict[str, Any] = {
        "tool_name": "Bash",
        "tool_input": {"command": "cd ~/holdfast && make release"},
    }
    for shell in ("/bin/sh", "/bin/bash"):
        path = "/home/a/holdfast/x.jsonl"
        hooks("claude", "PreToolUse", shell=shell, transcript_path=path, **MAKE)
    assert hooks.starts() == []
    assert hooks("claude", "PreToolUse", **told) == {}, "Python looks, and lets it run"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stop_denies_the_very_next_tool(hooks: Hooks, client: str) -> None:
    begin(hooks, client)
    assert hooks(client, TOOL[client], **MAKE) == {}
    latch.engage(discover(), "Everybody out.", by="ops", now=0)
    assert "Everybody out." in denied(client, hooks(client, TOOL[client], **MAKE))
    latch.release(discover())
    assert hooks(client, TOOL[client], **MAKE) == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_an_alert_denies_the_very_next_tool_until_it_is_acknowledged(
    hooks: Hooks, client: str
) -> None:
    scene = Scene(hooks.root)
    begin(hooks, client)
    assert hooks(client, TOOL[client], **MAKE) == {}
    scene.check(cost=26.5)
    assert "Cost at $26.50" in denied(client, hooks(client, TOOL[client], **MAKE))
    scene.ack("cost")
    assert hooks(client, TOOL[client], **MAKE) == {}
    hooks.log.unlink()
    assert hooks(client, TOOL[client], **MAKE) == {}
    assert hooks.starts() == [], "the mark is there again"


@pytest.mark.parametrize("gone", ["quiet", "session", "seen", "everything"])
def test_a_mark_that_is_gone_means_that_python_is_asked(
    hooks: Hooks, gone: str, holdfast: Holdfast
) -> None:
    """An agent that deletes files gets no freedom by it."""
    begin(hooks, "claude")
    paths = {
        "quiet": Path(latch.quiet_file(discover())),
        "session": hooks.folder / "sessions" / "claude.s1",
        "seen": Path(discover().private) / "seen",
    }
    for name, path in paths.items():
        if gone in (name, "everything"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    assert hooks.starts() == ["claude PreToolUse"]


FORGERIES = ["another home", "a program", "no holder", "flags"]
FORGED = [
    pytest.param(client, forged, marks=[] if CLIENTS[0] == client or n % 4 == m else PROOF)
    for n, client in enumerate(CLIENTS)
    for m, forged in enumerate(FORGERIES)
]


@pytest.mark.parametrize(("client", "forged"), FORGED)
def test_a_forged_mark_frees_no_agent(
    hooks: Hooks, tmp_path: Path, client: str, forged: str
) -> None:
    """It is read and not run, and where the workspace is, the client says."""
    scene = Scene(hooks.root)
    begin(hooks, client)
    scene.check(cost=26.5)
    (mark,) = (path for path in (hooks.folder / "sessions").iterdir() if path.suffix != ".since")
    lines = mark.read_text().splitlines()
    other = tmp_path / "elsewhere"
    (other / ".git" / "holdfast").mkdir(parents=True)
    (other / ".git" / "holdfast" / "quiet").touch()
    seen = other / ".git" / "holdfast" / "worktree" / "seen"
    seen.mkdir(parents=True)
    (seen / f"{client}.{TOOL[client]}").touch()
    assert (lines[1], len(lines)) == (str(hooks.root), 7)
    lines[0], lines[4] = f"usual {hooks.root}", "plain calm"
    if forged == "another home":
        lines[0] = f"usual {other}"
        lines[1:4] = [str(other), str(other / ".git" / "holdfast"), str(other / "state")]
        lines[6] = str(seen.parent)
    elif forged == "a program":
        lines = [f"exit 0; : > {tmp_path / 'ran'}"] * 7
    elif forged == "no holder":
        lines[2] = str(other / ".git" / "holdfast")
    else:
        Path(latch.quiet_file(discover())).touch()
    mark.write_text("".join(f"{line}\n" for line in lines))
    later = time.time() + 3600
    os.utime(mark, (later, later))
    assert "Cost at $26.50" in denied(client, hooks(client, TOOL[client], **MAKE))
    assert not (tmp_path / "ran").exists()


def test_a_mark_of_an_older_version_means_that_python_is_asked(hooks: Hooks) -> None:
    begin(hooks, "codex")
    mark = hooks.folder / "sessions" / f"codex.{os.getpid()}"
    first, rest = mark.read_text().split("\n", 1)
    assert first == f"usual {hooks.root}"
    mark.write_text(rest)
    assert hooks("codex", "PostToolUse", shell="/bin/bash", **MAKE) == {}
    assert hooks.starts() == ["codex PostToolUse"]
    assert mark.read_text() == f"{first}\n{rest}", "Python leaves its own"


@pytest.mark.parametrize("and_marks", [False, True])
def test_a_stop_whose_file_was_removed_holds_the_very_next_tool(
    hooks: Hooks, holdfast: Holdfast, and_marks: bool
) -> None:
    begin(hooks, "claude")
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    assert holdfast("estop", "--reason", "Everybody out.").code == 0
    home = Path(discover().home)
    (home / "latch").unlink()
    if and_marks:
        shutil.rmtree(hooks.folder / "sessions")
    assert "Everybody out." in denied("claude", hooks("claude", "PreToolUse", **MAKE))
    assert (home / "latch").exists()


def test_in_another_workspace_python_is_asked(hooks: Hooks, git: Git) -> None:
    """Whose stop holds there as well."""
    begin(hooks, "claude")
    project = hooks.root
    hooks.environment["CLAUDE_PROJECT_DIR"] = str(project)
    hooks.root = project / "src"
    hooks.root.mkdir()
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    assert hooks.starts() == [], "a folder of the same workspace is none"
    hooks.root = project / "vendor"
    hooks.root.mkdir()
    git("init", "--quiet", at=hooks.root)
    latch.engage(discover(str(hooks.root)), "Not here.", by="ops", now=0)
    assert "Not here." in denied("claude", hooks("claude", "PreToolUse", **MAKE))


def test_marks_that_cannot_be_left_cost_speed_and_nothing_else(hooks: Hooks) -> None:
    shutil.rmtree(hooks.folder / "sessions")
    (hooks.folder / "sessions").touch()
    begin(hooks, "claude")
    assert hooks("claude", "PreToolUse", **MAKE) == {}
    assert hooks("claude", "Stop") == {}
    assert hooks.starts() == ["claude PreToolUse", "claude Stop"]
    assert failures.read(discover()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_with_a_budget_a_session_is_looked_at_once_a_minute(hooks: Hooks, client: str) -> None:
    configure("thresholds:\n  warning: {cost: $0.5}\n  alert: {cost: $1}\n  stop: {cost: $5}\n")
    begin(hooks, client)
    event = TOOL[client] if client == "opencode" else USED[client]
    hooks(client, event, **MAKE)
    assert len(hooks.starts()) == 1, "the first look"
    hooks(client, event, **MAKE)
    assert len(hooks.starts()) == 1
    looked = Path(session_files.folder_of(discover(), "s1"), "looked")
    (mark,) = (path for path in (hooks.folder / "sessions").iterdir() if path.suffix != ".since")
    for path in (looked, mark):
        at = path.stat().st_mtime - 61
        os.utime(path, (at, at))
    hooks(client, event, **MAKE)
    assert len(hooks.starts()) == 2, "a minute later"
    since = mark.with_name(f"{mark.name}.since")
    os.utime(since, (time.time() + 3600, time.time() + 3600))
    hooks(client, event, **MAKE)
    assert len(hooks.starts()) == 3, "and when the clock was set back"


def test_a_budget_that_begins_by_hand_is_looked_at(hooks: Hooks) -> None:
    begin(hooks, "claude")
    hooks("claude", "PostToolUse", **MAKE)
    assert hooks.starts() == []
    Path(".autopilot").mkdir()
    hooks("claude", "PostToolUse", **MAKE)
    assert hooks.starts() == ["claude PostToolUse"]
