"""A question that its agent takes back: no person is asked any more, and none has answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.gates import lookup
from holdfast.gates.ask import AskRequest, ask, withdraw
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import verify
from holdfast.gates.rules.gate import GateState
from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict, NotAllowed, Usage
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace, discover
from tests.cli.conftest import Holdfast
from tests.gates.person import Terminal, seen

PERSON = seen(Person(name="ada", channel="terminal", terminal="", at="2026-11-15T12:00:00Z"))
LOOK = ("gate", "verify", "--built", "The page", "--how", "Look at it", "--name", "page")


@pytest.fixture
def workspace(repository: Path) -> Iterator[Workspace]:
    found = discover(str(repository))
    yield found
    found.close()


def _by(actor: str, workspace: Workspace) -> GateContext:
    return GateContext(workspace, actor, clock.now())


def _withdrawn(workspace: Workspace, id: str) -> GateState:
    return withdraw(_by("agent", workspace), id, "no need", person=PERSON)


def _asked(workspace: Workspace) -> str:
    content = verify("The page", ["Look at it"])
    return ask(_by("agent", workspace), AskRequest(content=content, name="page"))["id"]


def test_a_person_can_withdraw_and_no_agent(workspace: Workspace) -> None:
    id = _asked(workspace)
    made_up: Any = dict(PERSON)
    for person in (None, made_up):
        with pytest.raises(NotAllowed, match="Only a person may withdraw gate page"):
            withdraw(_by("agent", workspace), id, "x", person=person)
    with pytest.raises(Usage):
        withdraw(_by("agent", workspace), id, " ", person=PERSON)
    assert [one["id"] for one in lookup.open_gates(workspace)] == [id]
    state = _withdrawn(workspace, id)
    known = rules.withdrawn_of(state)
    assert known is not None
    assert (known["by"], known["why"], state["answer"]) == ("ada", "no need", None)
    assert lookup.open_gates(workspace) == []


def test_a_withdrawn_gate_cannot_be_answered_and_is_asked_anew(workspace: Workspace) -> None:
    id = _asked(workspace)
    state = _withdrawn(workspace, id)
    command = {"do": "answer", "answer": "approved", "saw": "", "person": PERSON}
    with pytest.raises(Conflict, match="was withdrawn by ada"):
        rules.decide(state, command, clock.now())
    assert not rules.decide(state, {"do": "withdraw", "person": PERSON, "why": "y"}, 0).records
    with pytest.raises(Conflict, match="was withdrawn by ada"):
        withdraw(_by("agent", workspace), id, "again")
    assert _asked(workspace) == f"{id}.2"


def test_the_verbs_say_withdrawn(holdfast: Holdfast, repository: Path) -> None:
    assert holdfast(*LOOK).code == 0
    assert holdfast("gate", "withdraw", "page").code == 2, "a reason is needed"
    refused = holdfast("gate", "withdraw", "page", "--reason", "built anew")
    assert refused.code == 4, "no person sits here"
    terminal = Terminal("gate", "withdraw", "page", "--reason", "built anew")
    terminal.type_back()
    seen = terminal.leave()
    assert seen.code == 0
    assert "Withdrew page: built anew" in seen.screen
    shown = holdfast("gate", "show", "page").out
    assert "Withdrawn by " in shown
    assert "built anew" in shown
    assert "withdrawn: built anew" in holdfast("gate", "list", "--all").out
    assert holdfast("gate", "list").out == "No gate waits for you.\n"
    waited = holdfast("gate", "wait", "page", "--timeout", "0", "--json")
    assert (waited.code, waited.envelope["error"]["kind"]) == (5, "gate_withdrawn")
