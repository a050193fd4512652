"""One inbox for all that waits, through each of its faces: the page, `holdfast gate` at a terminal, and the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdfast as library
from holdfast.answers.rules import questions as rules
from holdfast.hooks import question_notices as notices
from holdfast.kernel.workspace import discover
from holdfast.people import notices as people_notices
from tests.answers.test_answers import send
from tests.answers.world import CHOICE, Hook, decision, settled
from tests.cli.conftest import Holdfast
from tests.gates.person import Terminal, answers, does
from tests.web.world import Visitor, World

Asks = Callable[..., Hook]
SCRIPT = """
import holdfast, sys
with holdfast.open() as workspace:
    (one,) = workspace.questions.list()
    workspace.questions.answer(one["id"], "allow")
"""


def test_one_list_has_gates_and_clients_questions(
    asks: Asks, world: World, visitor: Visitor, holdfast: Holdfast
) -> None:
    world.verify(name="dashboard")
    hook = asks(tool_input={"command": "npm publish"})
    question = hook.question()
    listed = holdfast("gate", "list")
    assert "Waiting for you: 1 gate" in listed.out
    assert "Clients that ask you: 1 question" in listed.out
    assert "May Bash run: npm publish?" in listed.out
    assert f"holdfast gate answer {question['id']}" in holdfast("status").out
    data = holdfast("gate", "list", "--json").data
    board = visitor.data("/board.json")
    with library.open() as workspace:
        ids = [one["id"] for one in workspace.questions.list()]
    assert ids == [one["id"] for one in data["clients"]] == [question["id"]]
    assert [one["id"] for one in board["questions"]] == ids
    assert [one["id"] for one in board["gates"]] == ["dashboard"]
    shown = holdfast("gate", "show", question["id"])
    for said in (
        "npm publish",
        "Claude Code s1 in",
        f"holdfast gate answer {question['id']} allow",
    ):
        assert said in shown.out
    send(visitor, world, question, answer="leave")
    hook.end()
    assert "left to the terminal" in holdfast("gate", "show", question["id"]).out
    assert holdfast("gate", "list", "--json").data["clients"] == []


def test_each_face_records_the_same_answer(asks: Asks, world: World, visitor: Visitor) -> None:
    """But for the channel by which the person was seen."""

    def at_page(question: dict[str, Any]) -> None:
        send(visitor, world, question, answer="allow")

    def at_terminal(question: dict[str, Any]) -> None:
        assert answers(question["id"], "allow").code == 0

    def by_library(question: dict[str, Any]) -> None:
        terminal = Terminal(script=SCRIPT)
        terminal.type_back()
        assert terminal.leave().code == 0

    records = {}
    for face in (at_page, at_terminal, by_library):
        hook = asks()
        question = hook.question()
        face(question)
        assert decision(hook.end().said) == {"behavior": "allow"}
        known = settled(question["id"])
        records[face.__name__] = known["answer"]["person"]["channel"]
        same = {name: known["answer"][name] for name in ("verdict", "text", "chosen")}
        assert same == {"verdict": "allow", "text": "", "chosen": []}
        assert known["ended"] == rules.GIVEN
    assert records == {"at_page": "page", "at_terminal": "terminal", "by_library": "terminal"}


def test_a_person_denies_and_chooses_at_a_terminal(asks: Asks) -> None:
    hook = asks()
    assert does("gate", "answer", hook.question()["id"], "--no", "Not today.").code == 0
    assert decision(hook.end().said) == {"behavior": "deny", "message": "Not today."}
    hook = asks(CHOICE)
    done = answers(hook.question()["id"], "Postgres")
    assert "Which database?" in done.screen
    assert decision(hook.end().said)["updatedInput"]["answers"] == {"Which database?": "Postgres"}


def test_an_answer_that_fits_nothing_says_what_does(asks: Asks, holdfast: Holdfast) -> None:
    question = asks().question()
    assert "allow" in holdfast("gate", "answer", question["id"]).err
    assert holdfast("gate", "show", "q-00000000").code == 3


def test_a_notification_leads_to_the_question(
    asks: Asks, world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, ...]] = []
    monkeypatch.setattr(people_notices, "send", lambda *words: told.append(words))
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", "json://127.0.0.1")
    monkeypatch.setenv("HOLDFAST_NOTIFY_PAGE", "https://page.example/")
    hook = asks(variables={"HOLDFAST_NOTIFY_URLS": ""})
    question = hook.question()
    assert notices.tell_waiting(discover(), "s1", grace=0)
    ((_, title, text),) = told
    assert title == "Holdfast: Claude Code waits for you"
    assert text.endswith("https://page.example/waits/s1")
    assert question["id"] in visitor.get("/waits/s1").text


def test_a_stranger_gets_no_open_port(holdfast: Holdfast) -> None:
    explained = holdfast("serve", "--share")
    assert explained.code == 0
    for said in (
        "ssh -N -L 4653:localhost:4653",
        "tailscale serve",
        "works once",
        "--behind-proxy",
    ):
        assert said in explained.out
    refused = holdfast("serve", "--share", "--host", "0.0.0.0")
    assert refused.code == 2
    assert "others could listen" in refused.err
