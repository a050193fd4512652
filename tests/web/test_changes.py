"""What a person does on the page."""

from __future__ import annotations

import html
import re
import threading
from pathlib import Path

import pytest

from holdfast.budgets.check import Budget
from holdfast.gates import lookup
from holdfast.gates.answer import AnswerRequest
from holdfast.gates.answer import answer as answer_gate
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as gate_content
from holdfast.kernel import clock, latch
from tests.gates.person import at_page
from tests.web.world import Visitor, World

NO = dict.fromkeys(("cli", "api", "file", "server", "data", "script"), False)


def answer_of(world: World, id: str) -> tuple[str, str, str]:
    given = world.gate(id)["answer"]
    assert given is not None
    return given["verdict"], given["answer"], given["text"]


def test_approving_with_a_note(world: World, visitor: Visitor) -> None:
    id = world.verify()
    path = f"/w/{world.key}/gates/{id}"
    answer = visitor.send(path, answer="approved", note="Well done.")
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert answer_of(world, id) == ("yes", "approved", "Well done.")
    given = world.gate(id)["answer"]
    assert given is not None
    assert given["person"] is not None
    assert given["person"]["channel"] == "page"
    assert given["person"]["terminal"] == "/dev/pts/7"
    assert "## Built: Dashboard" in given["saw"]
    assert "Well done." in visitor.get(path).text
    (said,) = lookup.for_a_pack(world.workspace, "")[1][-1][1]
    assert "approved: Well done." in said


def test_describing_issues(world: World, visitor: Visitor) -> None:
    id = world.verify()
    visitor.send(f"/w/{world.key}/gates/{id}", answer="issues", note="The sidebar\r\nis missing")
    assert answer_of(world, id) == ("no", "issues", "The sidebar\nis missing")


@pytest.mark.parametrize("note", ["", "  ", "approved", "Done"])
def test_issues_have_to_be_described(world: World, visitor: Visitor, note: str) -> None:
    id = world.verify()
    answer = visitor.send(f"/w/{world.key}/gates/{id}", answer="issues", note=note)
    assert answer.status_code == 400
    assert world.gate(id)["answer"] is None


def test_choosing(world: World, visitor: Visitor) -> None:
    id = world.decide()
    path = f"/w/{world.key}/gates/{id}"
    assert visitor.send(path, answer="choose").status_code == 400
    assert visitor.send(path, answer="choose", option="mongo").status_code == 400
    visitor.send(path, answer="choose", option="lite", note="One machine will do.")
    assert answer_of(world, id) == ("yes", "lite", "One machine will do.")


def test_none_of_the_options(world: World, visitor: Visitor) -> None:
    id = world.decide()
    visitor.send(f"/w/{world.key}/gates/{id}", answer="no", note="Ask again with Redis.")
    assert answer_of(world, id) == ("no", "declined", "Ask again with Redis.")


def test_done(world: World, visitor: Visitor) -> None:
    content = gate_content.action(
        "Verify the mail", ["Click"], why="In your inbox", cause="email", checklist=NO
    )
    id = world.ask(content, name="mail")
    visitor.send(f"/w/{world.key}/gates/{id}", answer="done")
    assert answer_of(world, id) == ("yes", "done", "")


def test_the_second_answer_is_told_that_it_does_not_count(world: World, visitor: Visitor) -> None:
    id = world.verify()
    person = at_page("/dev/pts/9", now=clock.now())
    answer_gate(
        GateContext(world.workspace, "tester", clock.now()),
        AnswerRequest(gate=id, text="approved", person=person),
    )
    answer = visitor.send(f"/w/{world.key}/gates/{id}", answer="issues", note="No.")
    assert answer.status_code == 409
    assert "Yours does not count" in answer.text
    assert ">No.</textarea>" in answer.text  # what was typed is not lost
    assert f'href="/w/{world.key}/gates/{id}"' in answer.text


@pytest.mark.parametrize("button", ["xyz", "", "done", "choose", "no"])
def test_what_is_no_button_of_the_gate_is_no_answer(
    world: World, visitor: Visitor, button: str
) -> None:
    id = world.verify()
    answer = visitor.send(f"/w/{world.key}/gates/{id}", answer=button, note="x", option="pg")
    assert answer.status_code == 400
    assert world.gate(id)["answer"] is None


def test_a_locked_journal_keeps_no_other_workspace_waiting(world: World, tmp_path: Path) -> None:
    (tmp_path / "other" / ".holdfast").mkdir(parents=True)
    other = World(tmp_path / "other")
    first, second = world.verify(), other.verify()
    with Visitor([str(world.root), str(other.root)]) as visitor:
        visitor.sign_in()
        csrf = visitor.token()
        keys = [place.key for place in visitor.server.site]
        done: list[int] = []

        def answer() -> None:
            path = f"/w/{keys[0]}/gates/{first}"
            done.append(visitor.send(path, csrf=csrf, answer="approved").status_code)

        with world.workspace.lock():
            held = threading.Thread(target=answer)
            held.start()
            path = f"/w/{keys[1]}/gates/{second}"
            assert visitor.send(path, csrf=csrf, answer="approved").status_code == 303
            assert done == []
        held.join()
    assert done == [303]
    other.workspace.close()


def test_an_alert_is_acknowledged(world: World, visitor: Visitor) -> None:
    world.alert()
    path = f"/w/{world.key}/alerts/cost"
    assert visitor.send(path, answer="perhaps").status_code == 400
    assert visitor.send(path, answer="ack", until="$40").status_code == 303
    state = Budget(world.workspace, actor="test").state()
    assert state["pending"] == {}
    assert state["acknowledgments"]["cost"]["until"] == 40
    assert state["acknowledgments"]["cost"]["by"]["channel"] == "page"
    assert visitor.send(path, answer="ack").status_code == 303  # already


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("$20", "It is at $26.50 already."),
        ("9999", "The stop is at $50.00, which comes first."),
        ("<b>much</b>", "The value"),
    ],
)
def test_a_wrong_amount_is_said_in_its_place(
    world: World, visitor: Visitor, typed: str, said: str
) -> None:
    """On the board, at the field, with what was typed still in it; nothing is acknowledged."""
    world.alert()
    sent = visitor.send(f"/w/{world.key}/alerts/cost", answer="ack", until=typed)
    assert sent.status_code == 303
    assert sent.headers["location"].endswith(f"#alert-{world.key}-cost")
    text = visitor.get(sent.headers["location"]).text
    (place,) = re.findall(r'<li class="ask alert.*?</li>', text, re.DOTALL)
    assert said in place
    assert f'value="{html.escape(typed)}"' in place
    assert 'aria-invalid="true"' in place
    assert typed in ("$20", "9999") or typed not in text, "it is text, never markup"
    assert "cost" in Budget(world.workspace, actor="test").state()["pending"]


def test_going_on_with_money_asks_first(world: World, visitor: Visitor) -> None:
    world.alert()
    (button,) = re.findall(r'<button[^>]*value="ack"[^>]*>', visitor.get("/board").text)
    assert 'data-confirm="Let the work go on? Cost is at $26.50, the stop is at $50.00."' in button


def test_an_alert_becomes_a_stop(world: World, visitor: Visitor) -> None:
    world.alert()
    assert visitor.send(f"/w/{world.key}/alerts/cost", answer="stop").status_code == 303
    assert latch.read(world.workspace) is not None
    assert "A person said stop" in visitor.get("/board").text


def test_an_alert_that_was_not_raised(world: World, visitor: Visitor) -> None:
    assert visitor.send(f"/w/{world.key}/alerts/cost", answer="ack").status_code == 404
    assert visitor.send(f"/w/{world.key}/alerts/moon", answer="ack").status_code == 400


@pytest.mark.parametrize("decision", ["defer", "absorb"])
def test_a_silent_agent_is_decided_about(world: World, visitor: Visitor, decision: str) -> None:
    world.start("Agent-Primary", "feature_01")
    world.silence("Secondary-D")
    assert [card["name"] for card in visitor.data("/board.json")["silent"]] == ["Secondary-D"]
    path = f"/w/{world.key}/agents/Secondary-D"
    assert visitor.send(path, decision=decision).status_code == 303
    assert visitor.data("/board.json")["silent"] == []


def test_an_agent_that_came_back_is_not_ended_by_an_old_page(
    world: World, visitor: Visitor
) -> None:
    world.silence("Secondary-D")
    csrf = visitor.token()
    path = f"/w/{world.key}/agents/Secondary-D"
    world.start("Secondary-E")
    world.beat("Secondary-D", "Back at work")
    for agent in ("Secondary-D", "Secondary-E"):
        answer = visitor.send(path.replace("Secondary-D", agent), csrf=csrf, decision="defer")
        assert answer.status_code == 409
        assert "is not silent" in answer.text
    world.beat("Secondary-D", "Still here")


def test_a_decision_about_an_unknown_agent(world: World, visitor: Visitor) -> None:
    path = f"/w/{world.key}/agents/Secondary-Z"
    assert visitor.send(path, decision="defer").status_code == 404
    assert visitor.send(path, decision="shoot").status_code == 400
    assert visitor.send(path, decision="defer", epic="../..").status_code == 404


def test_large_and_broken_forms(world: World, visitor: Visitor) -> None:
    id = world.verify()
    path = f"/w/{world.key}/gates/{id}"
    assert visitor.send(path, answer="approved", note="x" * 20_000).status_code == 400
    assert visitor.send(path, answer="approved", note="x" * 200_000).status_code == 400
    headers = {"origin": visitor.address.origin}
    for content, kind in ((b"\xff\xfe", "x-www-form-urlencoded"), (b"{}", "json")):
        answer = visitor.client.post(
            path, content=content, headers={**headers, "content-type": f"application/{kind}"}
        )
        assert answer.status_code in (400, 403)
    assert world.gate(id)["answer"] is None
