"""At a stop, in all four clients: captured, driven on while tasks are open, and never for ever."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.clients.table import NAMES as CLIENTS
from holdfast.kernel import failures
from holdfast.kernel.workspace import discover
from holdfast.session import session_files
from holdfast.session.rules.stop_gate import MOST_IN_A_ROW, judge
from tests.hooks import world
from tests.hooks.world import PROMPT, STOP, ask, driven, said, send
from tests.session import world as session_world
from tests.session.test_claude_hooks import loop
from tests.session.world import PROGRESS, Holdfast
from tests.trackers.fake_linear import FakeLinear

holdfast = session_world.holdfast
linear_server, linear = session_world.linear_server, session_world.linear


def prompt_section() -> str:
    return PROGRESS.read_text("utf-8").partition("## Continuation Prompt\n")[2].strip()


@pytest.mark.clause("AMB-CCC-27", "CCC-54")
@pytest.mark.parametrize("client", CLIENTS)
def test_open_tasks_answer_the_stop_with_the_continuation_prompt(
    repository: Path, client: str
) -> None:
    loop()
    answer = said(client, STOP[client], send(client, STOP[client], world.given()))
    assert driven(client, answer) == prompt_section()
    assert prompt_section().startswith("Resume ENG-12. Current task: task 2 of 3.")


@pytest.mark.clause("AMB-CCC-27", "CCC-65")
@pytest.mark.parametrize("client", CLIENTS)
def test_a_waiting_gate_runs_steps_one_and_three_and_lets_go(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, client: str
) -> None:
    loop(awaitingGate=2)
    assert said(client, STOP[client], send(client, STOP[client], world.given())) == {}
    assert PROGRESS.exists()
    assert len(linear.on("ENG-12")) == 1


@pytest.mark.clause("AMB-CCC-27")
@pytest.mark.parametrize("client", CLIENTS)
def test_a_gate_of_ours_lets_go_too(repository: Path, holdfast: Holdfast, client: str) -> None:
    loop()
    asked = holdfast(
        "gate",
        "verify",
        "--built",
        "Dashboard at http://localhost:3000",
        "--how",
        "Open http://localhost:3000: cards show data",
    )
    assert asked.code in (0, 8), asked.err
    assert ask(client, STOP[client]) == {}


@pytest.mark.clause("AMB-CCC-27")
@pytest.mark.parametrize("client", CLIENTS)
def test_the_counter_ends_the_loop_in_every_client(repository: Path, client: str) -> None:
    loop(maxTaskIterations=3)
    answers = [driven(client, ask(client, STOP[client], stop_hook_active=True)) for _ in range(6)]
    assert [bool(answer) for answer in answers] == [True] * 3 + [False] * 3
    # Some clients tell their hooks of the prompt that a hook gave.
    ask(client, PROMPT[client], prompt=f"<hook>{answers[0]}</hook>")
    assert not driven(client, ask(client, STOP[client]))
    ask(client, PROMPT[client], prompt="Try once more, please.")
    assert driven(client, ask(client, STOP[client])), "a person asked for it"


@pytest.mark.clause("AMB-CCC-27")
def test_another_task_begins_its_own_count_within_that_of_all(repository: Path) -> None:
    answers = []
    for number in range(8):
        loop(taskIndex=number // 4, maxTaskIterations=3, maxGlobalIterations=5)
        answers.append(bool(driven("claude", ask("claude", "Stop"))))
    assert answers == [True, True, True, False, True, True, False, False]


@pytest.mark.clause("AMB-CCC-27")
def test_a_loop_that_goes_back_and_forth_ends_as_well(repository: Path) -> None:
    answers = []
    for number in range(9):
        loop(taskIndex=number % 2, maxTaskIterations=20, maxGlobalIterations=8)
        answers.append(bool(driven("codex", ask("codex", "Stop"))))
    assert answers == [True] * 8 + [False]
    state = {"phase": "execution", "taskIndex": 1, "totalTasks": 3}
    assert judge(state, 0, in_a_row=MOST_IN_A_ROW - 1)["blocks"]
    assert not judge(state, 0, in_a_row=MOST_IN_A_ROW)["blocks"]


def test_each_session_has_a_counter_of_its_own(repository: Path) -> None:
    loop(maxTaskIterations=2)
    answers = [
        bool(driven("gemini", ask("gemini", "AfterAgent", session_id=session)))
        for session in ("a", "b", "a", "b", "a", "b")
    ]
    assert answers == [True, True, True, True, False, False]


@pytest.mark.clause("AMB-CCC-27")
def test_a_counter_that_cannot_be_kept_blocks_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(session_files, "keep", full)
    loop()
    for client in CLIENTS:
        assert ask(client, STOP[client]) == {}, client
    assert "No space left" in failures.read(discover())[-1]["reason"]


def test_a_damaged_counter_begins_anew(repository: Path) -> None:
    loop()
    ask("codex", "Stop")
    (path,) = Path(".git/holdfast/worktree/slots").glob("*/stops")
    path.write_text('{"count": "many", "task": 1}')
    assert driven("codex", ask("codex", "Stop"))
    assert json.loads(path.read_text())["count"] == 1


def test_the_same_event_twice_is_one_capture(repository: Path, holdfast: Holdfast) -> None:
    for client in CLIENTS:
        for _ in range(3):
            ask(client, STOP[client], session_id=client)
    sessions = holdfast("resume", "--list", "--json").data["sessions"]
    assert {one["session"]: one["captures"] for one in sessions} == dict.fromkeys(CLIENTS, 1)


def test_what_changed_in_between_is_another_capture(repository: Path, holdfast: Holdfast) -> None:
    ask("claude", "Stop")
    loop()
    ask("claude", "Stop")
    ask("claude", "PreCompact", trigger="auto")
    (state,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert state["captures"] == 3
    assert os.path.exists(PROGRESS)


def test_gemini_says_before_every_call_that_it_may_compress(
    repository: Path, holdfast: Holdfast
) -> None:
    for _ in range(4):
        loop(taskIndex=_ % 3)
        ask("gemini", "PreCompress", trigger="auto")
    (state,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert (state["captures"], state["last"]["reason"]) == (1, "context-threshold")
