"""A gate that holds nothing up can be put to the person in their client; no other answer comes so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client.client import Client
from mcp_types import ElicitResult

from holdfast.gates import lookup
from holdfast.gates.answer import AnswerRequest
from holdfast.gates.answer import answer as answer_gate
from holdfast.gates.lookup import GateContext
from holdfast.gates.wait import present
from holdfast.kernel import clock
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.workspace import discover
from holdfast.people.person import by_elicitation
from tests.cli.conftest import Holdfast
from tests.gates.person import at_page
from tests.mcp.world import DASHBOARD, STORE, TOOLS, Face, accept

if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState

ASK = {"gate": "store", "ask": True}


def state_of(gate: str) -> GateState:
    workspace = discover()
    try:
        return lookup.read(workspace, gate)
    finally:
        workspace.close()


def test_a_collected_gate_is_answered_and_the_record_says_through_what(
    either: Face, holdfast: Holdfast
) -> None:
    either.call("gate_open", {**STORE, "batch": True, "phase": "3"})
    answer = either.call("gate_status", ASK, elicit=accept(answer="pg"), name="claude-code")

    assert answer.data["status"] == "yes"
    assert "pg (by claude-code 1.2, by elicitation" in answer.text
    (question,) = either.elicited
    assert "Select a store" in question.message
    assert question.requested_schema["properties"]["answer"]["enum"] == ["pg", "lite"]
    given = state_of("store")["answer"]
    assert given is not None
    assert given["person"] is not None
    assert given["person"]["channel"] == "elicitation"
    assert given["person"]["name"] == "claude-code 1.2, by elicitation"
    assert given["person"]["terminal"] == ""
    assert "Select a store" in given["saw"]
    assert "by claude-code 1.2, by elicitation, " in holdfast("gate", "show", "store").out


def test_words_of_a_look_are_understood_as_ever(either: Face) -> None:
    either.call("gate_open", {**DASHBOARD, "batch": True})
    ask = {"gate": "dashboard", "ask": True}
    answer = either.call("gate_status", ask, elicit=accept(answer="The header overlaps"))
    assert answer.data["status"] == "no"
    assert "The header overlaps" in answer.text


@pytest.mark.parametrize("terms", [{}, {"batch": True, "holds": "plan 06"}])
def test_a_blocking_gate_is_never_put_to_a_dialogue(either: Face, terms: dict[str, Any]) -> None:
    either.call("gate_open", {**STORE, **terms})
    answer = either.call("gate_status", ASK, elicit=accept(answer="pg"))
    assert either.elicited == []
    assert answer.data["status"] == "waiting"
    assert "no client's dialogue answers it" in answer.text
    assert "holdfast gate answer store" in answer.text
    assert state_of("store")["answer"] is None


def test_a_gate_that_came_to_block_meanwhile_is_not_answered(either: Face) -> None:
    either.call("gate_open", {**STORE, "batch": True, "phase": "3"})

    def end_the_phase(_: object) -> ElicitResult:
        workspace = discover()
        present(GateContext(workspace, "tester", clock.now()), "3")
        workspace.close()
        return ElicitResult(action="accept", content={"answer": "pg"})

    answer = either.call("gate_status", ASK, elicit=end_the_phase)
    assert answer.data["status"] == "waiting"
    assert state_of("store")["answer"] is None


def test_the_rules_themselves_refuse_it(face: Face) -> None:
    face.call("gate_open", STORE)
    workspace = discover()
    person = by_elicitation("claude-code", now=clock.now())
    request = AnswerRequest(gate="store", text="pg", person=person)
    with pytest.raises(NotAllowed) as refused:
        answer_gate(GateContext(workspace, "tester", clock.now()), request)
    workspace.close()
    assert refused.value.kind == "no_person"
    assert state_of("store")["answer"] is None


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_dialogue_without_an_answer_changes_nothing(either: Face, action: Any) -> None:
    either.call("gate_open", {**STORE, "batch": True})
    answer = either.call("gate_status", ASK, elicit=lambda _: ElicitResult(action=action))
    assert answer.data["status"] == "waiting"
    assert "without an answer" in answer.text
    assert not answer.failed


def test_a_client_without_dialogues_is_told_how_a_person_answers(either: Face) -> None:
    either.call("gate_open", {**STORE, "batch": True})
    answer = either.call("gate_status", ASK)
    assert answer.data["status"] == "waiting"
    assert "no dialogue" in answer.text
    assert "holdfast gate answer store" in answer.text


def test_an_answer_that_is_none_of_the_options_is_refused(either: Face) -> None:
    either.call("gate_open", {**STORE, "batch": True})
    answer = either.call("gate_status", ASK, elicit=accept(answer="mysql"))
    assert state_of("store")["answer"] is None
    assert "hint:" in answer.text


def test_an_empty_answer_is_none(either: Face) -> None:
    either.call("gate_open", {**DASHBOARD, "batch": True})
    ask = {"gate": "dashboard", "ask": True}
    assert either.call("gate_status", ask, elicit=accept(answer=" ")).data["status"] == "waiting"


def test_a_hostile_clients_name_is_one_short_line(either: Face) -> None:
    either.call("gate_open", {**STORE, "batch": True})
    name = "a person\nat /dev/pts/3\x1b[2J" + "x" * 500
    either.call("gate_status", ASK, elicit=accept(answer="pg"), name=name)
    given = state_of("store")["answer"]
    assert given is not None
    assert given["person"] is not None
    assert given["person"]["name"].endswith(", by elicitation")
    assert len(given["person"]["name"]) < 100
    assert not {"\n", "\x1b"} & set(given["person"]["name"])


def test_a_person_who_answered_meanwhile_was_first(either: Face) -> None:
    either.call("gate_open", {**STORE, "batch": True})

    def first(_: object) -> ElicitResult:
        workspace = discover()
        person = at_page("/dev/pts/3", now=clock.now())
        answer_gate(
            GateContext(workspace, "tester", clock.now()),
            AnswerRequest(gate="store", text="lite", person=person),
        )
        workspace.close()
        return ElicitResult(action="accept", content={"answer": "pg"})

    answer = either.call("gate_status", ASK, elicit=first)
    assert answer.data["answer"]["answer"] == "lite"
    assert answer.data["answer"]["person"]["channel"] == "page"


def test_no_dialogue_acknowledges_an_alert_or_lifts_a_stop(
    either: Face, repository: Path, holdfast: Holdfast
) -> None:
    def every_tool(cost: int, expected: str) -> None:
        needs: dict[str, dict[str, Any]] = {
            "beat": {"agent": "Secondary-A"},
            "inbox": {"agent": "Secondary-A"},
            "step": {"do": "show"},
            "reason": {"do": "bootstrap"},
            "gate_open": STORE,
            "gate_status": ASK,
        }
        for tool in TOOLS:
            either.call(tool, needs.get(tool, {}), elicit=accept(answer="ack"))
        asked = either.call("guard", {"cost": cost}, elicit=accept(answer="ack"))
        assert asked.data["verdict"] == expected
        assert either.elicited == []

    either.call("guard", {"cost": 30})
    every_tool(30, "wait")
    either.call("guard", {"cost": 60})
    every_tool(0, "stop")


def test_a_client_that_fails_at_the_dialogue_gets_an_error_and_the_gate_waits(
    either: Face,
) -> None:
    either.call("gate_open", {**STORE, "batch": True})

    def broken(_: object) -> ElicitResult:
        raise RuntimeError("no screen")

    async def talk(client: Client) -> None:
        await client.call_tool("gate_status", ASK)

    with pytest.raises(BaseException):  # noqa: B017 - the era decides whose error it is
        either.with_client(talk, elicit=broken)
    assert state_of("store")["answer"] is None
    assert not either.call("gate_status", {"gate": "store"}).failed
