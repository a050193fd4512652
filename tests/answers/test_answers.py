"""A person answers what a client asks from the page, and the client goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.answers.rules import questions as rules
from holdfast.kernel import latch
from holdfast.kernel.workspace import discover
from holdfast.people import page_open
from holdfast.session import client_questions
from tests.answers.world import ASKED, CHOICE, PATIENCE, Hook, decision, open_page, settled
from tests.hooks.world import ask as event
from tests.web.world import Visitor, World

Asks = Callable[..., Hook]


def path_of(world: World, question: dict[str, Any]) -> str:
    return f"/w/{world.key}/questions/{question['id']}"


def send(visitor: Visitor, world: World, question: dict[str, Any], **fields: str) -> Any:
    """A button of the question's page."""
    path = path_of(world, question)
    shown = visitor.data(f"{path}.json")["shown"]
    return visitor.send(path, **{"shown": shown, **fields})


def test_allow_once_reaches_the_client_within_a_second(
    asks: Asks, world: World, visitor: Visitor
) -> None:
    hook = asks()
    question = hook.question()
    path = path_of(world, question)
    csrf, shown = visitor.token(path), visitor.data(f"{path}.json")["shown"]
    began = time.monotonic()
    assert visitor.send(path, csrf=csrf, answer="allow", shown=shown).status_code == 303
    ended = hook.end(began)
    assert decision(ended.said) == {"behavior": "allow"}
    assert ended.seconds < 1
    known = settled(question["id"])
    assert known["ended"] == rules.GIVEN
    assert known["answer"]["person"]["channel"] == "page"
    assert "allowed once" in visitor.get(path_of(world, question)).text


def test_a_denial_gives_the_agent_the_reason(asks: Asks, world: World, visitor: Visitor) -> None:
    hook = asks()
    question = hook.question()
    assert send(visitor, world, question, answer="deny").status_code == 400, "no reason"
    send(visitor, world, question, answer="deny", note="Use pnpm publish.")
    said = decision(hook.end().said)
    assert said == {"behavior": "deny", "message": "Use pnpm publish."}


def test_left_to_the_terminal_says_nothing(asks: Asks, world: World, visitor: Visitor) -> None:
    hook = asks()
    question = hook.question()
    send(visitor, world, question, answer="leave")
    assert hook.end().said == {}
    assert settled(question["id"])["ended"] == rules.LEFT
    page = visitor.get(path_of(world, question)).text
    assert "own dialogue has the question" in page
    assert 'name="answer"' not in page, "the buttons are gone"


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        ({"answer": "choose-1"}, "Postgres"),
        ({"answer": "choose", "choice-0": "0"}, "SQLite"),
        ({"answer": "choose", "own-0": "A file of JSON"}, "A file of JSON"),
    ],
)
def test_a_question_with_options_is_answered_with_one_or_in_own_words(
    asks: Asks, world: World, visitor: Visitor, fields: dict[str, str], chosen: str
) -> None:
    hook = asks(CHOICE)
    question = hook.question()
    page = visitor.get(path_of(world, question)).text
    assert "Which database?" in page
    assert send(visitor, world, question, answer="choose").status_code == 400, "nothing chosen"
    assert send(visitor, world, question, answer="allow").status_code == 400
    assert send(visitor, world, question, **fields).status_code == 303
    said = decision(hook.end().said)
    assert said["behavior"] == "allow"
    assert said["updatedInput"] == {
        **hook.payload["tool_input"],
        "answers": {"Which database?": chosen},
    }


def test_several_questions_are_answered_together(
    asks: Asks, world: World, visitor: Visitor
) -> None:
    options = [{"label": "red"}, {"label": "green"}, {"label": "blue"}]
    questions = [
        {"question": "Which one?", "options": options, "multiSelect": False},
        {"question": "Which ones?", "options": options, "multiSelect": True},
    ]
    hook = asks(CHOICE, tool_input={"questions": questions})
    question = hook.question()
    half = {"answer": "choose", "choice-0": "2"}
    assert send(visitor, world, question, **half).status_code == 400
    whole = {**half, "choice-1-0": "0", "choice-1-1": "1"}
    assert send(visitor, world, question, **whole).status_code == 303
    answers = decision(hook.end().said)["updatedInput"]["answers"]
    assert answers == {"Which one?": "blue", "Which ones?": "red, green"}


def test_the_page_shows_the_command_the_folder_the_client_and_the_diff(
    asks: Asks, world: World, visitor: Visitor, repository: Path
) -> None:
    (repository / "fresh.txt").write_text("new\n")
    hook = asks(tool_input={"command": "npm publish", "description": "publish it"})
    question = hook.question()
    page = visitor.get(path_of(world, question)).text
    for shown in ("npm publish", "publish it", str(repository), "Claude Code", "fresh.txt"):
        assert shown in page
    board = visitor.get("/board").text
    assert path_of(world, question) in board
    assert board.count('class="ask ') == 1, "once, and not also as a client at its terminal"
    assert question["id"] in visitor.get("/waits/s1").text, "where a notification leads"


def test_hostile_text_of_a_command_is_shown_as_text(
    asks: Asks, world: World, visitor: Visitor
) -> None:
    hook = asks(
        tool_input={"command": "<script>alert(1)</script>\x1b[2J\u202e token=ghp_" + "a1B2" * 9}
    )
    question = hook.question()
    page = visitor.get(path_of(world, question)).text
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "a1B2a1B2" not in page
    send(visitor, world, question, answer="deny", note="no")
    assert decision(hook.end().said)["behavior"] == "deny"


def test_what_is_too_long_to_read_can_be_denied_and_not_allowed(
    asks: Asks, world: World, visitor: Visitor
) -> None:
    hook = asks(tool_input={"command": "true;" * 9000})
    question = hook.question()
    assert "Allow once" not in visitor.get(path_of(world, question)).text
    assert send(visitor, world, question, answer="allow").status_code == 400
    assert send(visitor, world, question, answer="deny", note="too long").status_code == 303
    assert decision(hook.end().said)["behavior"] == "deny"


# Nothing hangs a client


def test_answered_at_the_terminal_first(asks: Asks, world: World, visitor: Visitor) -> None:
    hook = asks()
    question = hook.question()
    event("claude", "PostToolUse", tool_name="Bash", tool_input={"command": "x"})
    ended = hook.end()
    assert ended.said == {}
    assert ended.seconds < 1
    assert settled(question["id"])["ended"] == rules.WENT_ON
    assert "own terminal" in visitor.get(path_of(world, question)).text
    assert send(visitor, world, question, answer="allow").status_code == 409


def test_nobody_answers_in_time(asks: Asks, world: World, visitor: Visitor) -> None:
    hook = asks(variables={"HOLDFAST_ANSWERS_WAIT_SECONDS": "2"})
    question = hook.question()
    assert hook.end().said == {}
    assert settled(question["id"])["ended"] == rules.TIMED_OUT
    late = send(visitor, world, question, answer="allow")
    assert late.status_code == 409
    assert "waits no longer" in late.text


def test_a_hook_that_was_killed_leaves_no_buttons(
    asks: Asks, world: World, visitor: Visitor
) -> None:
    hook = asks()
    question = hook.question()
    hook.kill()
    page = visitor.get(path_of(world, question)).text
    assert "no longer waits" in page
    assert 'name="answer"' not in page
    assert send(visitor, world, question, answer="allow").status_code == 409
    assert visitor.data("/board.json")["questions"] == []


def test_a_client_that_ended_ends_its_hook(asks: Asks) -> None:
    hook = asks()
    question = hook.question()
    assert hook.process.stdout is not None
    hook.process.stdout.close()
    assert hook.process.wait(PATIENCE) == 0
    assert settled(question["id"])["ended"] == rules.GONE


def test_two_clients_ask_at_once(asks: Asks, world: World, visitor: Visitor) -> None:
    one = asks(session_id="one", tool_input={"command": "first"})
    two = asks(session_id="two", tool_input={"command": "second"})
    first, second = one.question(), two.question()
    send(visitor, world, second, answer="deny", note="not this")
    send(visitor, world, first, answer="allow")
    assert decision(one.end().said) == {"behavior": "allow"}
    assert decision(two.end().said)["message"] == "not this"


def test_the_page_is_open_twice(asks: Asks, world: World, visitor: Visitor) -> None:
    hook = asks()
    question = hook.question()
    shown = visitor.data(f"{path_of(world, question)}.json")["shown"]
    path = path_of(world, question)
    assert visitor.send(path, answer="allow", shown=shown).status_code == 303
    again = visitor.send(path, answer="deny", note="no", shown=shown)
    assert again.status_code == 409
    assert decision(hook.end().said) == {"behavior": "allow"}


def test_a_machine_that_slept_and_a_clock_that_jumped(
    asks: Asks, world: World, visitor: Visitor, repository: Path
) -> None:
    hook = asks()
    question = hook.question()
    os.kill(hook.process.pid, signal.SIGSTOP)
    workspace = discover()
    os.utime(os.path.join(workspace.home, page_open.NAME), (0, 0))
    os.kill(hook.process.pid, signal.SIGCONT)
    send(visitor, world, question, answer="allow")
    assert decision(hook.end().said) == {"behavior": "allow"}


def test_a_locked_journal_leaves_the_question_to_the_client(asks: Asks, world: World) -> None:
    workspace = discover()
    with workspace.lock():
        ended = asks().end()
    assert (ended.code, ended.said) == (0, {})
    assert ended.seconds < 10


def test_a_stop_allows_nothing(asks: Asks, world: World, visitor: Visitor) -> None:
    hook = asks()
    question = hook.question()
    workspace = discover()
    latch.engage(workspace, "enough", by="a person", now=0)
    send(visitor, world, question, answer="allow")
    said = hook.end().said
    assert "hookSpecificOutput" not in said
    assert settled(question["id"])["ended"] == rules.STOPPED


# Off is as it was


def test_without_a_page_nothing_is_asked(repository: Path) -> None:
    ended = Hook().end()
    assert (ended.code, ended.said) == (0, {})
    assert not discover().exists(), "no record"


def test_a_page_that_was_killed_counts_no_longer(repository: Path) -> None:
    open_page(repository)
    os.utime(os.path.join(discover().home, page_open.NAME), (0, 0))
    assert Hook().end().said == {}
    assert not discover().exists()


@pytest.mark.parametrize(
    ("stem", "variables"),
    [
        (ASKED, {"HOLDFAST_ANSWERS_WAIT_SECONDS": "0"}),
        (ASKED, {"CLAUDE_CODE_SESSION_ATTENDED": "0"}),
        ("codex.PermissionRequest", {}),
        ("qwen.PermissionRequest", {}),
        ("copilot.PermissionRequest.bash", {}),
        ("qwen.PermissionRequest.question", {"HOLDFAST_ANSWERS_HOLD_SECONDS": "60"}),
    ],
)
def test_switched_off_or_not_obeyed(asks: Asks, stem: str, variables: dict[str, str]) -> None:
    ended = asks(stem, variables=variables).end()
    assert (ended.code, ended.said) == (0, {})
    assert client_questions.read(discover(), "s1") or stem.startswith("copilot"), "it is shown"


@pytest.mark.parametrize(
    ("stem", "allowed"),
    [
        ("codex.PermissionRequest", {"behavior": "allow"}),
        ("qwen.PermissionRequest", {"behavior": "allow"}),
        ("copilot.PermissionRequest.bash", {"behavior": "allow"}),
    ],
)
def test_clients_whose_dialogue_comes_afterwards_wait_where_a_person_says_so(
    asks: Asks, world: World, visitor: Visitor, stem: str, allowed: dict[str, str]
) -> None:
    hook = asks(stem, variables={"HOLDFAST_ANSWERS_HOLD_SECONDS": "60"})
    question = hook.question()
    send(visitor, world, question, answer="allow")
    said = hook.end().said
    assert decision(said) == allowed
    assert stem[:4] != "copi" or said["behavior"] == "allow"


def test_a_subagents_question_holds_nobody_up(asks: Asks) -> None:
    """Its dialogue comes after the hook."""
    assert asks(agent_id="a1").end().said == {}


def test_a_closed_page_ends_the_wait_of_a_client_without_a_dialogue(
    asks: Asks, world: World
) -> None:
    hook = asks("codex.PermissionRequest", variables={"HOLDFAST_ANSWERS_HOLD_SECONDS": "60"})
    question = hook.question()
    page_open.note_closed(discover())
    assert hook.end().said == {}
    assert settled(question["id"])["ended"] == rules.CLOSED
