"""Before a tool is used, in all four clients: alerts, stops, and what only a person may do."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.budgets import alerts
from holdfast.clients.events import HookEvent
from holdfast.clients.table import NAMES as CLIENTS
from holdfast.hooks import activity
from holdfast.hooks.pre_tool_use import is_way_out, persons_alone
from holdfast.hooks.run import command
from holdfast.kernel import clock, last_turn, latch
from holdfast.kernel.workspace import discover
from tests.budgets.world import Scene, configure
from tests.clients.usage.conftest import answer as spent_line
from tests.gates.person import does
from tests.hooks import world
from tests.hooks.test_entry import ALLOWED, STARTUP
from tests.hooks.world import PROMPT, STOP, TOOL, USED, ask, denied, driven
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast


@pytest.fixture
def scene(repository: Path) -> Scene:
    return Scene(repository)


def bash(command: str) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command}}


def event(tool: str = "Bash", command: str = "") -> HookEvent:
    one = HookEvent("PreToolUse", "tool")
    one.tool, one.command = tool, command
    return one


# An alert


@pytest.mark.parametrize("client", CLIENTS)
def test_an_alert_denies_tools_until_a_person_acknowledges_it(scene: Scene, client: str) -> None:
    assert ask(client, TOOL[client], **bash("make")) == {}
    scene.check(cost=26.5)
    reason = denied(client, ask(client, TOOL[client], **bash("make")))
    assert "Cost at $26.50, the alert is at $25.00" in reason
    assert "`holdfast guard ack cost`" in reason
    assert denied(client, ask(client, TOOL[client], tool_name="Edit", tool_input={}))
    scene.ack("cost")
    assert ask(client, TOOL[client], **bash("make")) == {}


def test_the_work_can_be_saved_while_an_alert_waits(scene: Scene) -> None:
    scene.check(cost=26.5)
    for words in (
        "holdfast checkpoint --task 'Half way'",
        "holdfast status",
        "holdfast guard check",
        'holdfast checkpoint --task "a; b"',
        "holdfast checkpoint --next 'see $HOME (all of it) & go on; #3'",
    ):
        assert ask("claude", "PreToolUse", **bash(words)) == {}, words
    assert ask("claude", "PreToolUse", tool_name="mcp__holdfast__checkpoint") == {}


def test_an_alert_holds_its_own_session_and_one_of_nobodys_holds_all(scene: Scene) -> None:
    scene.check(context=42, session="s1")
    assert denied("codex", ask("codex", "PreToolUse", **bash("make")))
    assert ask("codex", "PreToolUse", session_id="s2", **bash("make")) == {}
    alerts.keep(scene.workspace, alerts.EVERY_SESSION, {"cost": "Cost at $26.00"})
    assert denied("codex", ask("codex", "PreToolUse", session_id="s2", **bash("make")))


def test_another_session_that_is_below_does_not_lift_an_alert(scene: Scene) -> None:
    scene.check(cost=26, session="s1")
    assert scene.verdict(cost=1, session="s2") == "go"
    assert "cost" in scene.state["pending"], "so that a person can acknowledge it"
    assert denied("claude", ask("claude", "PreToolUse", **bash("make")))
    assert scene.verdict(cost=1, session="s1") == "wait", "nor does a lower figure of its own"
    assert denied("claude", ask("claude", "PreToolUse", **bash("make")))
    scene.ack("cost")
    assert ask("claude", "PreToolUse", **bash("make")) == {}


def test_a_reset_frees_everybody(scene: Scene) -> None:
    scene.check(cost=26.5)
    scene.do("reset", given={}, forgiven={})
    assert ask("claude", "PreToolUse", **bash("make")) == {}


def test_an_alert_whose_file_is_damaged_still_holds(scene: Scene) -> None:
    scene.check(cost=26.5)
    (path,) = Path(scene.workspace.home, "alerts").iterdir()
    path.write_text("{")
    assert "damaged" in str(alerts.read(scene.workspace, "s1"))
    reason = denied("claude", ask("claude", "PreToolUse", **bash("make")))
    assert "Cost at $26.50" in reason, "the journal knew it"


def test_the_agent_is_told_at_its_next_prompt(scene: Scene) -> None:
    scene.check(cost=26.5)
    for client in CLIENTS:
        given = ask(client, PROMPT[client], prompt="go on")
        assert "An alert waits for a person" in world.context(client, given), client


# Numbers from the events themselves


def spend(folder: Path, monkeypatch: pytest.MonkeyPatch, tokens: int) -> None:
    """A transcript of Claude Code's in which so much was used."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    path = folder / "projects" / "here" / "s1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(spent_line(int(time.monotonic() * 1000), session="s1", input_tokens=tokens))


@pytest.mark.parametrize("after", [PROMPT, USED], ids=["prompt", "used"])
def test_what_a_session_spends_is_measured_and_held_against_its_limits(
    repository: Path,
    holdfast: Holdfast,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: dict[str, str],
) -> None:
    configure("thresholds:\n  warning: {cost: $0.5}\n  alert: {cost: $1}\n  stop: {cost: $5}\n")
    spend(tmp_path / "config", monkeypatch, 1_000)
    ask("claude", after["claude"], **bash("ls"))
    assert ask("claude", "PreToolUse", **bash("ls")) == {}
    spend(tmp_path / "config", monkeypatch, 300_000)
    monkeypatch.setattr(activity, "EVERY", 0)
    ask("claude", "UserPromptSubmit", prompt="on")
    assert "the alert is at $1.00" in denied("claude", ask("claude", "PreToolUse", **bash("ls")))
    spend(tmp_path / "config", monkeypatch, 5_000_000)
    told = ask("claude", "UserPromptSubmit", prompt="on")
    assert told["continue"] is False, "the very hook that finds it says so"
    assert "the limit is $5.00" in told["stopReason"]


def test_a_file_of_limits_that_is_broken_frees_no_agent_and_the_agent_says_so(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("thresholds: {stop: {cost: $5}, halt: {}}\n")
    spend(tmp_path / "config", monkeypatch, 1_000)
    told = world.context("claude", ask("claude", "UserPromptSubmit", prompt="go"))
    assert "thresholds.halt is unknown" in told
    assert "the budget stops at cost $5.00" in told
    again = ask("claude", "UserPromptSubmit", prompt="go on")
    assert "thresholds.halt" not in json.dumps(again), "each problem once a session"
    spend(tmp_path / "config", monkeypatch, 5_000_000)
    stopped = ask("claude", "UserPromptSubmit", prompt="on")
    assert stopped["continue"] is False
    assert "the limit is $5.00" in stopped["stopReason"]


def test_where_no_budget_is_kept_nobody_is_stopped_and_nothing_is_written(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(tmp_path / "config", monkeypatch, 50_000_000)
    ask("claude", "SessionStart", source="startup")
    for name in ("UserPromptSubmit", "PostToolUse", "PreToolUse"):
        assert ask("claude", name, **bash("ls")) == {}
    assert not Path(".autopilot").exists()
    assert latch.read(discover()) is None


def test_a_session_is_looked_at_once_a_minute(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def remind(event: str, workspace: object, session: str, now: int) -> str:
        if event == "seen":
            looks.append(session)
        return ""

    monkeypatch.setattr(activity, "remind", remind)
    for session in ("s1", "s1", "s2", "s1"):
        ask("claude", "PostToolUse", session_id=session, **bash("ls"))
    assert looks == ["s1", "s2"]
    real = clock.now()
    monkeypatch.setattr(clock, "now", lambda: real + clock.MINUTE)
    ask("claude", "PostToolUse", **bash("ls"))
    monkeypatch.setattr(clock, "now", lambda: real - clock.DAY)
    ask("claude", "PostToolUse", **bash("ls"))
    assert looks == ["s1", "s2", "s1", "s1"], "also after a clock was set back"


# A stop


@pytest.mark.parametrize("client", CLIENTS)
def test_an_emergency_stop_freezes(repository: Path, holdfast: Holdfast, client: str) -> None:
    holdfast("estop", "--reason", "Everybody out")
    for words in ("make", "holdfast checkpoint"):
        assert "Everybody out" in denied(client, ask(client, TOOL[client], **bash(words)))
    assert driven(client, ask(client, STOP[client])) in (
        "",
        "Stop now, checkpoint: Everybody out (tester)",
    )
    assert does("release").code == 0
    assert ask(client, TOOL[client], **bash("make")) == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_budgets_stop_leaves_one_turn_to_checkpoint_in(
    repository: Path, holdfast: Holdfast, client: str
) -> None:
    holdfast("guard", "check", "--cost", "52.30", "--session", "elsewhere")
    reason = denied(client, ask(client, TOOL[client], **bash("make")))
    assert "Cost at $52.30" in reason
    assert "One last turn: run `holdfast checkpoint`" in reason
    assert ask(client, TOOL[client], **bash("holdfast checkpoint --next 'go on'")) == {}
    assert "One last turn" in driven(client, ask(client, STOP[client]))
    assert ask(client, TOOL[client], **bash("holdfast checkpoint")) == {}
    assert "One last turn" not in driven(client, ask(client, STOP[client]))


def test_after_its_minutes_nothing_more_runs(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("guard", "check", "--cost", "52.30", "--session", "elsewhere")
    over = clock.now() + last_turn.LONGEST
    monkeypatch.setattr(clock, "now", lambda: over)
    for client in CLIENTS:
        assert denied(client, ask(client, TOOL[client], **bash("holdfast checkpoint")))


def test_a_hooks_own_check_leaves_the_last_turn_to_the_session(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("thresholds:\n  warning: {cost: 0}\n  alert: {cost: 0}\n  stop: {cost: $1}\n")
    spend(tmp_path / "config", monkeypatch, 5_000_000)
    subprocess.run(command("after-turn", "claude", "s1", ""), input=b"{}", check=True)
    assert latch.read(discover()) is not None
    assert "One last turn" in driven("claude", ask("claude", "Stop"))


# A person's commands


@pytest.mark.parametrize(
    "line",
    [
        "holdfast gate answer 3f2a approved",
        "cd src && holdfast gate answer 3f2a",
        "/usr/local/bin/holdfast guard ack cost",
        "python -m holdfast guard reset",
        "sh -c 'holdfast release'",
        'env -u CLAUDECODE bash -lc "holdfast   gate   answer x"',
        "script -qc 'holdfast gate answer x' /dev/null",
        "true;holdfast release",
        "hold\\fast gate an\\swer 3f2a",
        "hold''fast gate ans\"wer\" 3f2a",
        "holdfast gate --json answer x",
        "holdfast gate -C /tmp answer x",
        "x=$(holdfast guard ack cost)",
        "echo y | holdfast guard ack cost",
        "timeout 5 holdfast\tgate \\\nanswer 3",
        "holdfast gate \\\nanswer 3",
        "X=1 holdfast release",
        "if true; then holdfast release; fi",
        "(holdfast release)",
        "`holdfast release`",
        'echo "$(holdfast release)"',
        'echo "holdfast release" | sh',
        "xargs holdfast release",
        "sudo -E holdfast guard ack cost",
        "sh <<< 'holdfast release'",
        "git log 'holdfast release",
        "holdfast gate answer 3 --reason --help",
        "git status\nholdfast release",
        "2>/dev/null holdfast release",
        ">&2 holdfast release",
    ],
)
def test_a_persons_command_is_denied_to_the_agent(repository: Path, line: str) -> None:
    for client in CLIENTS:
        reason = denied(client, ask(client, TOOL[client], **bash(line)))
        assert reason.startswith("Only a person may run `holdfast "), client


@pytest.mark.parametrize(
    "line",
    [
        "holdfast gate list",
        "holdfast gate wait 3f2a --timeout 0",
        "holdfast guard check",
        "git log --oneline",
        "make release",
        "gh release create v1",
        "grep -r release holdfast/",
        "holdfast note 'answer the gate later'",
        'git commit -m "mention holdfast release"',
        'grep -rn "holdfast guard ack" docs',
        "cd docs && grep -rn 'holdfast gate answer' . | head; ls",
        "echo holdfast release > out 2>&1",
        "holdfast gate answer --help",
        "holdfast release --help",
    ],
)
def test_other_commands_are_not(repository: Path, line: str) -> None:
    assert ask("claude", "PreToolUse", **bash(line)) == {}


def test_tools_of_our_server_are_known_in_every_clients_spelling() -> None:
    for tool in (
        "mcp__holdfast__checkpoint",
        "mcp__plugin_holdfast_holdfast__checkpoint",
        "mcp_holdfast_checkpoint",
        "holdfast_checkpoint",
    ):
        assert is_way_out(event(tool))
        assert persons_alone(event(tool.replace("checkpoint", "gate_answer"))) == "gate answer"
    assert not is_way_out(event("mcp__other__checkpoint"))


@pytest.mark.parametrize(
    "line",
    [
        "holdfast checkpoint; make",
        "holdfast checkpoint && make",
        "holdfast checkpoint --claim 'It runs' 'run:make'",
        "holdfast checkpoint --cl''aim 'It runs' 'run:make'",
        'holdfast checkpoint --task "$(make)"',
        "holdfast checkpoint --task 'open",
        "holdfast checkpoint --task 'a' \"b`make`\"",
        "holdfast checkpoint $(make)",
        "holdfast checkpoint `make`",
        "holdfast checkpoint\nmake",
        "holdfast checkpoint > /etc/passwd",
        "./holdfast checkpoint",
        "PATH=. holdfast checkpoint",
        "holdfast loop run x",
        "holdfast",
        "",
    ],
)
def test_the_way_out_is_one_plain_command(line: str) -> None:
    assert not is_way_out(event(command=line))


# The cost of it


@pytest.mark.parametrize("client", CLIENTS)
def test_before_a_tool_little_is_loaded(repository: Path, holdfast: Holdfast, client: str) -> None:
    holdfast("checkpoint", *session_world.WORK)
    world.send(client, TOOL[client], world.given(**bash("make")))  # the look of this minute
    loaded = session_world.loaded_by(client, TOOL[client], world.given(**bash("make")))
    # The journal is looked at: the files of a stop or an alert may have been removed.
    assert "holdfast.kernel.writer" not in loaded
    assert "holdfast.budgets.rules.budget" not in loaded
    assert {name for name in loaded if not name.startswith("holdfast")} <= STARTUP | ALLOWED
    # Without the features' tables, each in a folder of its own.
    tables = {name for name in loaded if name.endswith(".feature")}
    known = tables | {name.rpartition(".")[0] for name in tables}
    ours = sorted(name for name in loaded - known if name.startswith("holdfast"))
    assert len(ours) <= 34, " ".join(ours)  # seven of them are the journal, and one is each feature


def test_a_denial_is_one_line_of_json(scene: Scene) -> None:
    scene.check(cost=26.5)
    done = world.send("claude", "PreToolUse", world.given(**bash("make")))
    assert done.stdout.count(b"\n") == 1
    assert json.loads(done.stdout)
