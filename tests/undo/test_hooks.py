"""What the hooks do for undo, as the clients' settings start them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from holdfast.clients.table import NAMES as CLIENTS
from holdfast.hooks import deferred_events
from holdfast.kernel import failures
from holdfast.kernel.workspace import discover
from holdfast.undo import hooks as undo_hooks
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import Hooks, begin
from tests.hooks.test_launcher_quiet import SHELLS_WITH_LINES
from tests.hooks.world import STOP
from tests.patience import within
from tests.session import world as session_world
from tests.session.world import Holdfast, wait_for

holdfast, hooks = session_world.holdfast, launcher_scene.hooks
PROMPT = {**dict.fromkeys(map(str, CLIENTS), "UserPromptSubmit"), "gemini": "BeforeAgent"}


def rows(holdfast: Holdfast) -> list[tuple[str, str, bool]]:
    found = holdfast("undo", "--list", "--json").data["prompts"]
    return [(one["client"], one["text"], one["is_running"]) for one in found]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_prompt_and_a_stop_are_kept_behind_the_client(
    hooks: Hooks, holdfast: Holdfast, client: str
) -> None:
    begin(hooks, client)
    assert hooks(client, PROMPT[client], prompt="Make it faster") == {}
    wait_for(lambda: rows(holdfast) == [(client, "Make it faster", True)])
    (hooks.root / "made").write_text("made\n")
    assert hooks(client, STOP[client]) == {}
    wait_for(lambda: rows(holdfast) == [(client, "Make it faster", False)])
    assert {words.split()[0] for words in hooks.starts()} == {"pending"}, (
        "no client waited for Python"
    )
    assert holdfast("undo", "--yes").code == 0
    assert not (hooks.root / "made").exists()
    assert failures.read(discover()) == []
    wait_for(lambda: not os.path.exists(mark()))


def mark() -> str:
    return os.path.join(discover().private, undo_hooks.MARK)


def test_a_tool_waits_for_the_state_before_its_prompt(hooks: Hooks) -> None:
    begin(hooks, "claude")
    undo_hooks.mark(discover())
    start = time.monotonic()
    hooks("claude", "PreToolUse", tool_name="Bash", tool_input={"command": "make"})
    assert time.monotonic() - start >= undo_hooks.LONGEST_PAUSE, (
        "nobody takes it: the wait is bounded"
    )
    assert not os.path.exists(mark()), "no other tool waits"
    assert hooks.starts()[-1].startswith("claude PreToolUse"), "the launcher asked Python"


def test_a_tool_that_only_reads_does_not_wait(hooks: Hooks) -> None:
    begin(hooks, "claude")
    undo_hooks.mark(discover())
    hooks("claude", "PreToolUse", tool_name="Read", tool_input={"file_path": "a"})
    assert os.path.exists(mark())


def test_a_prompt_whose_process_was_killed_is_kept_by_the_next_event(
    hooks: Hooks, holdfast: Holdfast
) -> None:
    begin(hooks, "claude")
    hooks.name(python="/bin/false")
    hooks("claude", "UserPromptSubmit", prompt="Kept later")
    kept = Path(discover().private, "pending")
    assert [name for name in os.listdir(kept) if not name.startswith(".")]
    deferred_events.finish(discover(), 30.0)
    assert rows(holdfast) == [("claude", "Kept later", True)]


def test_a_pipe_in_the_place_of_the_mark_holds_up_no_prompt(hooks: Hooks) -> None:
    begin(hooks, "claude")
    undo_hooks.mark(discover())
    os.unlink(mark())
    os.mkfifo(mark())
    with within(2, "the mark in Python"):
        undo_hooks.mark(discover())
    with within(5, "the launcher"):
        assert hooks("claude", PROMPT["claude"], prompt="Make it faster") == {}


@pytest.mark.parametrize(("shell", "version"), [shell[:2] for shell in SHELLS_WITH_LINES])
@pytest.mark.parametrize("length", [10, 200_000])
def test_a_prompt_is_kept_whole_by_each_shell(
    hooks: Hooks, holdfast: Holdfast, shell: str, version: str, length: int
) -> None:
    """dash may run in an environment with a version of bash."""
    if version:
        hooks.environment["BASH_VERSION"] = version
    begin(hooks, "claude")
    text = f"Make it faster {'ö' * length}"
    assert hooks("claude", "UserPromptSubmit", shell=shell, prompt=text) == {}
    wait_for(lambda: len(rows(holdfast)) == 1)
    assert rows(holdfast)[0][1].startswith("Make it faster öööööööööö")
    assert failures.read(discover()) == []
    wait_for(lambda: not os.path.exists(mark()))
