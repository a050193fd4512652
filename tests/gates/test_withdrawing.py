"""A question that is taken back: nobody is asked any more, and nobody has answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.gates import lookup
from holdfast.gates.ask import AskRequest, WithdrawRequest, ask, withdraw, withdraw_any
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import verify
from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict, NotAllowed, Usage
from holdfast.kernel.workspace import Workspace, discover
from tests.cli.conftest import Holdfast

LOOK = ("gate", "verify", "--built", "The page", "--how", "Look at it", "--name", "page")


@pytest.fixture
def workspace(repository: Path) -> Iterator[Workspace]:
    found = discover(str(repository))
    yield found
    found.close()


def _by(actor: str, workspace: Workspace) -> GateContext:
    return GateContext(workspace, actor, clock.now())


def _asked(workspace: Workspace) -> str:
    content = verify("The page", ["Look at it"])
    return ask(_by("agent", workspace), AskRequest(content=content, name="page"))["id"]


def test_who_asked_can_withdraw_and_nobody_else(workspace: Workspace) -> None:
    id = _asked(workspace)
    with pytest.raises(NotAllowed, match="asked by agent"):
        withdraw(_by("other", workspace), WithdrawRequest(gate=id, reason="no need"))
    with pytest.raises(Usage):
        withdraw_any(_by("agent", workspace), id, " ")
    assert [one["id"] for one in lookup.open_gates(workspace)] == [id]
    state = withdraw(_by("agent", workspace), WithdrawRequest(gate=id, reason="no need"))
    known = rules.withdrawn_of(state)
    assert known is not None
    assert (known["by"], known["why"], state["answer"]) == ("agent", "no need", None)
    assert lookup.open_gates(workspace) == []


def test_a_withdrawn_gate_cannot_be_answered_and_is_asked_anew(workspace: Workspace) -> None:
    id = _asked(workspace)
    state = withdraw_any(_by("agent", workspace), id, "no need")
    command = {"do": "answer", "answer": "approved", "key": "k", "saw": ""}
    person = {"name": "ada", "channel": "terminal", "terminal": "", "at": "2026-11-15T12:00:00Z"}
    with pytest.raises(Conflict, match="was withdrawn by agent"):
        rules.Answering("k").decide(state, {**command, "person": person}, clock.now())
    assert not rules.decide(state, {"do": "withdraw", "by": "x", "why": "y"}, 0).records
    with pytest.raises(Conflict, match="was withdrawn by agent"):
        withdraw(_by("agent", workspace), WithdrawRequest(gate=id, reason="again"))
    assert _asked(workspace) == f"{id}.2"


def test_the_verbs_say_withdrawn(holdfast: Holdfast, repository: Path) -> None:
    assert holdfast(*LOOK).code == 0
    assert holdfast("gate", "withdraw", "page").code == 2, "a reason is needed"
    answer = holdfast("gate", "withdraw", "page", "--reason", "built anew")
    assert (answer.code, answer.out) == (0, "Withdrew page: built anew\n")
    shown = holdfast("gate", "show", "page").out
    assert "Withdrawn by " in shown
    assert "built anew" in shown
    assert "withdrawn: built anew" in holdfast("gate", "list", "--all").out
    assert holdfast("gate", "list").out == "No gate waits for you.\n"
    waited = holdfast("gate", "wait", "page", "--timeout", "0", "--json")
    assert (waited.code, waited.envelope["error"]["kind"]) == (5, "gate_withdrawn")
