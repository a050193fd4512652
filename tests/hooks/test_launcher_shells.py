"""The launcher in what /bin/sh is elsewhere: nothing that a client's user is promised depends on the shell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.clients import launcher
from holdfast.kernel import latch
from holdfast.kernel.workspace import discover
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import MAKE, Hooks, begin, captured, other_shells, shell_called
from tests.hooks.test_launcher_faults import BREAKS
from tests.hooks.test_launcher_quiet import PERSONS_LINES
from tests.hooks.world import denied
from tests.session import world as session_world
from tests.session.world import Holdfast, wait_for

holdfast, hooks = session_world.holdfast, launcher_scene.hooks


@pytest.fixture(params=other_shells())
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return shell_called(request.param, tmp_path)


def test_the_usual_events_cost_no_python(hooks: Hooks, shell: str) -> None:
    begin(hooks, "claude")
    for event in ("PreToolUse", "PostToolUse"):
        assert hooks("claude", event, shell=shell, **MAKE) == {}
    assert hooks.starts() == []


def test_a_persons_command_is_denied_also_behind_a_long_text(hooks: Hooks, shell: str) -> None:
    begin(hooks, "claude")
    for line in PERSONS_LINES:
        told = {"command": "echo 'größer'\n" * 2_000 + line}
        answer = hooks("claude", "PreToolUse", shell=shell, tool_name="Bash", tool_input=told)
        assert "Only a person may run" in denied("claude", answer), line


def test_what_is_broken_is_named_and_a_stop_still_denies(
    hooks: Hooks, shell: str, tmp_path: Path
) -> None:
    hooks.environment["PATH"] = ""
    for breaks in BREAKS:
        reason = breaks(hooks, tmp_path)
        assert hooks("claude", "PreToolUse", shell=shell, **MAKE) == {}
        assert reason in hooks.reasons()[0]
        latch.engage(discover(), 'The disk is "on fire" \\ now.', by="ops", now=0)
        answer = hooks("claude", "PreToolUse", shell=shell, **MAKE)
        assert 'The disk is "on fire" \\ now.' in denied("claude", answer)
        latch.release(discover())
        shutil.rmtree(hooks.folder / launcher.FAILED)
        (hooks.folder / launcher.FAILED).mkdir()


def test_a_stop_is_captured_behind_the_client(hooks: Hooks, holdfast: Holdfast, shell: str) -> None:
    begin(hooks, "claude")
    assert hooks("claude", "Stop", shell=shell) == {}
    wait_for(lambda: captured(holdfast))
