"""Claude Code's mod: what it refuses by itself the hooks refuse too, and what its words bring in."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.events import PERSONS_COMMANDS
from holdfast.hooks import claude_mod
from holdfast.hooks.run import respond_to
from holdfast.kernel import clock, latch
from holdfast.kernel.workspace import discover
from holdfast.usage.spending import measure_session
from tests.budgets.world import Scene, configure
from tests.conftest import Git
from tests.hooks.world import ask
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast

MOD = Path(__file__).parents[2] / "plugins" / "holdfast" / "hooks" / "register.js"
BASH, EDIT = "Bash", "Edit"
# A tool, its command, and what has to be true of it while nothing holds.
CALLS = [
    (BASH, "make test"),
    (BASH, "holdfast checkpoint --skip-git"),
    (BASH, "holdfast status"),
    (BASH, "holdfast release"),
    (BASH, "  holdfast   gate answer g1 yes"),
    (BASH, "holdfast gate withdraw g1"),
    (BASH, "holdfast guard ack cost"),
    (BASH, "holdfast guard reset"),
    (BASH, "holdfast release --help"),
    (BASH, "holdfast gate list"),
    (BASH, "holdfast releases"),
    (BASH, 'git commit -m "holdfast release"'),
    (BASH, "grep -rn 'holdfast gate answer' docs"),
    (BASH, 'sh -c "holdfast release"'),
    (BASH, "make && holdfast release"),
    (EDIT, ""),
    ("mcp__holdfast__checkpoint", ""),
    ("mcp__plugin_holdfast_holdfast__guard", ""),
]
# What the mod leaves to the shell parser of the hooks, although a person's command runs in it.
LEFT_TO_THE_HOOK = {'sh -c "holdfast release"', "make && holdfast release"}


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip(
            "Node is not installed here: the mod was NOT run. Claude Code brings its own Node."
        )
    return found


def given(command: str) -> dict[str, str]:
    return {"command": command} if command else {"file_path": "parser.py"}


class Both:
    """The mod and the hook, asked about the same tool."""

    def __init__(self, node: str, root: Path, folder: Path) -> None:
        self.node = node
        self.root = root
        self.module = folder / "register.mjs"
        shutil.copyfile(MOD, self.module)

    def mod(self, session: str = "s1", cwd: Path | None = None) -> list[str]:
        cases = [
            {
                "session": session,
                "root": str(self.root),
                "cwd": str(cwd or self.root),
                "tool": tool,
                "input": given(command),
            }
            for tool, command in CALLS
        ]
        done = subprocess.run(
            [self.node, str(Path(__file__).parent / "mod.mjs"), str(self.module)],
            input=json.dumps(cases),
            capture_output=True,
            text=True,
            check=True,
        )
        answers: list[str] = json.loads(done.stdout)
        return answers

    def hook(self, session: str = "s1", cwd: Path | None = None) -> list[str]:
        return [self._hook(tool, command, session, cwd or self.root) for tool, command in CALLS]

    def _hook(self, tool: str, command: str, session: str, cwd: Path) -> str:
        payload = {"session_id": session, "cwd": str(cwd), "tool_name": tool}
        payload |= {"tool_input": given(command), "transcript_path": "/nowhere/s1.jsonl"}  # type: ignore[dict-item]
        answer = respond_to("claude", "PreToolUse", payload, project=str(self.root))
        return str(answer.get("hookSpecificOutput", {}).get("permissionDecisionReason", ""))


@pytest.fixture
def both(node: str, repository: Path, holdfast: Holdfast, tmp_path: Path) -> Both:
    holdfast("note", "There is a journal.")
    return Both(node, repository, tmp_path)


def agree(mod: list[str], hook: list[str], *, left: set[str] = LEFT_TO_THE_HOOK) -> None:
    for (tool, command), own, other in zip(CALLS, mod, hook, strict=True):
        assert own == ("" if command in left else other), (tool, command)


def test_both_refuse_a_persons_commands_and_nothing_else(both: Both) -> None:
    mod = both.mod()
    agree(mod, both.hook())
    refused = {command for (_, command), why in zip(CALLS, mod, strict=True) if why}
    assert len(refused) == 5


def test_the_words_are_the_same_list() -> None:
    (line,) = re.findall(r"^const PERSONS = \[(.*)\]$", MOD.read_text(), re.MULTILINE)
    assert [word.strip(" '") for word in line.split(",")] == [" ".join(w) for w in PERSONS_COMMANDS]


def test_both_refuse_every_tool_at_a_stop(both: Both, holdfast: Holdfast) -> None:
    holdfast("estop", "--reason", 'Everybody "out"')
    mod, hook = both.mod(), both.hook()
    assert all(mod)
    assert mod[0] == hook[0]
    assert 'Everybody "out"' in mod[0]


@pytest.mark.parametrize("text", ["", "damaged", "[]", '{"reason": 5}'])
def test_a_latch_that_cannot_be_understood_holds_in_both(both: Both, text: str) -> None:
    Path(latch.places(discover())[0]).write_text(text)
    assert all(both.mod())
    assert all(both.hook())


def test_both_know_the_stop_of_another_worktree_and_of_a_folder_below(
    both: Both, holdfast: Holdfast, git: Git, tmp_path: Path
) -> None:
    git("worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    holdfast("estop", "--reason", "out")
    both.root = tmp_path / "second"
    below = both.root / "src"
    below.mkdir()
    assert both.mod(cwd=below)[0] == both.hook(cwd=below)[0] != ""


def test_both_refuse_by_a_sessions_alert_and_let_its_ways_out_go(both: Both) -> None:
    Scene(both.root).check(cost=26.5, session="s1")
    ours = {command for _, command in CALLS if "holdfast" in command}
    mod = both.mod()
    persons = {command for _, command in CALLS[3:8]}
    agree(mod, both.hook(), left=ours - persons)
    assert mod[0].startswith("An alert waits for a person: Cost at $26.50")
    assert mod[-3] == mod[0], "an edit"
    assert both.mod("another")[0] == "", "another session goes on"


def test_in_a_budgets_last_turn_the_mod_leaves_it_to_the_hook(both: Both) -> None:
    scene = Scene(both.root)
    scene.now = clock.now() - 10_000
    scene.check(cost=99.0, session="s1")
    mod = both.mod()
    assert [why for (tool, _), why in zip(CALLS, mod, strict=True) if tool == EDIT] == [""]


# What the mod tells


def tell(word: str, **facts: Any) -> dict[str, Any]:
    """What the mod is answered, in this process."""
    told = {"session_id": "s1", "cwd": str(Path.cwd()), **facts}
    return claude_mod.answer(word, told, discover(), clock.now())


def measure(percent: int) -> None:
    context = {"tokens": percent * 2_000, "window": 200_000, "percent": percent}
    assert tell("measure", context=context, cost={"usd": 1.25}, rate_limits=[]) == {}


def test_what_the_client_measures_is_what_budgets_and_the_page_read(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("note", "There is a journal.")
    measure(42)
    spent = measure_session(discover(), session="s1", now=clock.now())
    assert (spent["cost"], spent["context_percent"]) == (1.25, 42.0)


def test_at_60_percent_the_agent_is_asked_once_for_what_cannot_be_observed(
    repository: Path, holdfast: Holdfast
) -> None:
    ask("claude", "SessionStart", source="startup")
    holdfast("note", "There is a journal.")
    measure(59)
    assert "is 59 % full" not in json.dumps(ask("claude", "UserPromptSubmit", prompt="go on"))
    measure(61)
    assert "the context is 61 % full" in json.dumps(ask("claude", "UserPromptSubmit", prompt="on"))
    measure(62)
    assert "% full" not in json.dumps(ask("claude", "UserPromptSubmit", prompt="on"))


def test_a_measured_cost_sets_an_alert(repository: Path, holdfast: Holdfast) -> None:
    configure("thresholds: {warning: {cost: 0.5}, alert: {cost: 1}, stop: {cost: 5}}")
    holdfast("note", "There is a journal.")
    measure(10)
    answer = ask("claude", "PreToolUse", tool_name="Edit", tool_input={"file_path": "a.py"})
    assert "An alert waits for a person: Cost at $1.25" in json.dumps(answer)


@pytest.mark.parametrize(
    "facts", [{}, {"context": 5}, {"context": {}, "cost": None}, {"rate_limits": [None]}]
)
def test_a_measurement_of_another_shape_changes_nothing(
    repository: Path, holdfast: Holdfast, facts: dict[str, Any]
) -> None:
    holdfast("note", "There is a journal.")
    assert tell("measure", **facts) == {}
    assert tell("measure", session_id="") == {}
