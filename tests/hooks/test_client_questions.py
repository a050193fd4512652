"""A client that asks its person something: the session is under what needs a person until it is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.hooks import question_notices as notices
from holdfast.kernel import clock
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from holdfast.people import notices as people_notices
from holdfast.processes import relaunch
from holdfast.session import client_questions
from holdfast.web import page_cache
from tests.hooks.world import USED, ask, payload_of
from tests.session import world as session_world
from tests.session.world import Holdfast
from tests.web import conftest as web
from tests.web.world import Visitor, World

holdfast = session_world.holdfast
world, stranger, visitor = web.world, web.stranger, web.visitor
BASH = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}
CHOICE = {"questions": [{"question": "Which database?", "options": [{"label": "SQLite"}]}]}


@pytest.fixture(autouse=True)
def left(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What a hook would leave to other processes."""
    found: list[list[str]] = []
    monkeypatch.setattr(relaunch, "leave", found.append)
    return found


def asked() -> list[str]:
    return [one["asks"] for one in client_questions.list_waiting(discover(), clock.now())]


@pytest.mark.parametrize(
    ("client", "event", "facts", "told"),
    [
        ("claude", "PermissionRequest", BASH, "May Bash run: make deploy?"),
        ("qwen", "PermissionRequest", BASH, "May Bash run: make deploy?"),
        (
            *split_words("claude PermissionRequest"),
            {"tool_name": "AskUserQuestion", "tool_input": CHOICE},
            "Which database?",
        ),
        (
            *split_words("claude Notification"),
            {"notification_type": "idle_prompt", "message": "Claude is waiting for your input"},
            "Claude is waiting for your input",
        ),
        ("codex", "PermissionRequest", BASH, "May Bash run: make deploy?"),
        (
            *split_words("copilot PermissionRequest"),
            {"toolName": "bash", "toolInput": {"command": "make deploy"}},
            "May bash run: make deploy?",
        ),
        (
            *split_words("gemini Notification"),
            {"notification_type": "ToolPermission", "message": "Tool Shell requires execution"},
            "Tool Shell requires execution",
        ),
        (
            *split_words("claude PreToolUse"),
            {"tool_name": "AskUserQuestion", "tool_input": CHOICE},
            "Which database?",
        ),
        (
            *split_words("copilot PreToolUse"),
            {"toolName": "ask_user", "toolInput": {"question": "Which database?"}},
            "Which database?",
        ),
        ("claude", "Elicitation", {"message": "Approve the plan?"}, "Approve the plan?"),
        (
            *split_words("claude StopFailure"),
            {"error": "server_error", "last_assistant_message": "API Error: 500"},
            "An error ended the turn: API Error: 500",
        ),
    ],
)
def test_what_a_client_asks_is_shown_until_its_next_event(
    repository: Path, holdfast: Holdfast, client: str, event: str, facts: dict[str, Any], told: str
) -> None:
    assert ask(client, event, **facts) == {}, "the question is the client's own"
    assert asked() == [told]
    answer = holdfast("status")
    assert f"s1 waits for you in {repository}: {told}" in answer.out
    (one,) = [one for one in holdfast("status", "--json").data["attention"] if told in one["what"]]
    assert one["next"] == f"cd {repository}"
    ask(client, USED[client], **BASH)
    assert asked() == []
    assert told not in holdfast("status").out


def test_what_is_no_question_waits_for_nobody(repository: Path) -> None:
    for stem in ("claude.Notification", "qwen.Notification.auth_success"):
        client = stem.partition(".")[0]
        ask(client, "Notification", **{**payload_of(stem), "session_id": "s1"})
    assert asked() == []


def test_two_sessions_wait_apart_and_the_longest_is_first(repository: Path) -> None:
    ask("claude", "PermissionRequest", session_id="one", **BASH)
    ask("claude", "Elicitation", session_id="two", message="Approve?")
    assert asked() == ["May Bash run: make deploy?", "Approve?"]
    ask("claude", "UserPromptSubmit", session_id="one", prompt="no")
    assert asked() == ["Approve?"]


def test_the_page_shows_it_under_needs_you(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.root)
    # A copy of the page lasts five seconds; no test waits for that.
    monkeypatch.setattr(page_cache, "LASTS", 0.0)
    monkeypatch.setattr(page_cache, "SHARE", 0)
    assert "Needs you" not in visitor.get("/board").text
    ask("claude", "PermissionRequest", **BASH)
    text = visitor.get("/board").text
    assert "May Bash run: make deploy?" in text
    assert 'id="waits-s1"' in text, "a notification leads there"
    assert "Needs you" in text
    ask("claude", "PostToolUse", **BASH)
    assert "make deploy" not in visitor.get("/board").text


def test_a_person_elsewhere_is_told_once_and_only_while_it_waits(
    repository: Path,
    holdfast: Holdfast,
    left: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holdfast("note", "a journal")
    sent: list[tuple[str, str]] = []
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", "json://127.0.0.1:9/x")
    monkeypatch.setattr(people_notices, "send", lambda url, title, text: sent.append((title, text)))
    for _ in range(2):
        ask("claude", "PermissionRequest", **BASH)
    assert [words[-2:] for words in left] == [["tell-waiting", "s1"]], "once"
    assert notices.tell_waiting(discover(), "s1", grace=0)
    ((title, text),) = sent
    assert title == "Holdfast: Claude Code waits for you"
    assert text.startswith("May Bash run: make deploy?")
    assert str(repository) in text
    monkeypatch.setenv("HOLDFAST_NOTIFY_PAGE", "https://holdfast.example/")
    assert notices.tell_waiting(discover(), "s1", grace=0)
    assert sent.pop()[1].endswith("\nhttps://holdfast.example/board#waits-s1")
    ask("claude", "PostToolUse", **BASH)
    assert not notices.tell_waiting(discover(), "s1", grace=0)
    assert len(sent) == 1
