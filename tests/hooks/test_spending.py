"""A budget stops in time: what the last call cost is looked at before the next tool, behind the launcher."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel.workspace import discover
from tests.budgets.world import configure
from tests.clients.usage.conftest import answer
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import MAKE, Hooks
from tests.hooks.world import denied
from tests.session import world as session_world

holdfast, hooks = session_world.holdfast, launcher_scene.hooks
# What costs two cents.
CENTS: dict[str, Any] = {
    "input_tokens": 5_000,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


class Spender:
    """A session of Claude Code's that writes its transcript while it works."""

    def __init__(self, hooks: Hooks, config: Path) -> None:
        self.hooks = hooks
        self.transcript = config / "projects" / "here" / "s1.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.transcript.touch()
        self.calls = 0
        hooks.environment["CLAUDE_CONFIG_DIR"] = str(config)
        self("SessionStart", source="startup")
        hooks.log.unlink(missing_ok=True)

    def __call__(self, event: str, **facts: Any) -> dict[str, Any]:
        return self.hooks("claude", event, transcript_path=str(self.transcript), **facts)

    def pay(self, path: Path | None = None) -> None:
        """Write an answer of the model down, as the client does before it uses a tool."""
        self.calls += 1
        path = path or self.transcript
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(answer(self.calls, session="s1", output_tokens=0, **CENTS))
        later = time.time() + self.calls / 1000  # a file system's clock is coarse
        os.utime(path, (later, later))

    def use_tool(self) -> str:
        """Use a tool; why it was denied, if it was."""
        said = self("PreToolUse", **MAKE)
        if said:
            return denied("claude", said)
        self("PostToolUse", **MAKE, tool_response="done")
        return ""


@pytest.fixture
def spender(hooks: Hooks, tmp_path: Path) -> Spender:
    configure("thresholds:\n  stop: {cost: $0.05}\n")
    return Spender(hooks, tmp_path / "config")


def test_a_turn_of_ten_tools_is_stopped_before_the_tool_that_went_over(spender: Spender) -> None:
    used = 0
    for _ in range(10):
        spender.pay()
        if why := spender.use_tool():
            break
        used += 1
    assert used == 2, "the third call made it six cents"
    assert "Cost at $0.06, the limit is $0.05" in why


def test_where_the_client_wrote_nothing_no_python_is_started(spender: Spender) -> None:
    spender.use_tool()
    spender.hooks.log.unlink()
    for _ in range(3):
        assert spender.use_tool() == ""
    assert spender.hooks.starts() == []
    spender.pay()
    assert spender.use_tool() == ""
    assert spender.use_tool() == ""
    assert spender.hooks.starts() == ["claude PreToolUse"]


def test_what_a_subagent_spends_stops_in_time_as_well(spender: Spender) -> None:
    own = spender.transcript.with_suffix("") / "subagents" / "agent-1.jsonl"
    for _ in range(2):
        spender.pay(own)
        assert spender.use_tool() == ""
    spender.pay(own)
    assert "Cost at $0.06" in spender.use_tool()


def test_a_limit_that_is_set_while_the_agent_works_holds_its_next_tool(
    hooks: Hooks, tmp_path: Path
) -> None:
    spender = Spender(hooks, tmp_path / "config")
    for _ in range(3):
        spender.pay()
        assert spender.use_tool() == ""
    assert hooks.starts() == []
    configure("thresholds:\n  stop: {cost: $0.05}\n")
    assert "Cost at $0.06" in spender.use_tool()


def test_a_look_that_finds_nothing_new_writes_no_record(spender: Spender) -> None:
    spender.pay()
    spender.use_tool()
    before = len(discover().journal.read("budget:default"))
    spender.pay()
    spender.use_tool()
    assert len(discover().journal.read("budget:default")) == before
