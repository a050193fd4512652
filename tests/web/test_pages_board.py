"""The board leads to the pages, and stays small with a large fleet."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from holdfast.budgets import alerts
from holdfast.budgets.check import Budget
from holdfast.budgets.stop import SETTLED
from holdfast.estop import stop as estop
from holdfast.kernel import clock, latch
from holdfast.maintenance import status
from holdfast.people.notices import TAMPERED
from tests.gates import test_notices
from tests.gates.test_notices import Service
from tests.web import stories
from tests.web.world import Visitor, World

TITLE = "The page at http://localhost:3000"
# Of apprise's own plugins, on Python 3.11.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
service = test_notices.service


def test_every_card_leads_to_its_page(world: World, visitor: Visitor) -> None:
    stories.capture(world)
    stories.track(world)
    plans = stories.run(world)
    plans.halted()
    world.start("Secondary-A")
    data, text = visitor.data("/board.json"), visitor.get("/board").text
    found = {one["kind"]: one for lane in ("running", "quiet") for one in data[lane]}
    assert set(found) == {"session", "track", "run", "agent"}
    for one in found.values():
        assert visitor.get(one["href"]).status_code == 200
        assert f'href="{one["href"]}"' in text
    assert (found["run"]["word"], found["run"]["lane"]) == ("waiting", "quiet")
    assert (found["run"]["done"], found["run"]["steps"]) == (2, 2)


def test_a_run_that_waits_names_the_question_in_its_lane(world: World, visitor: Visitor) -> None:
    plans = stories.run(world)
    plans.halted()
    (gate,) = plans.open_gates()
    (card,) = [one for one in visitor.data("/board.json")["quiet"] if one["kind"] == "run"]
    assert card["why"] == [f"waits for your answer: {TITLE}"]
    assert card["choices"] == [], "the gate itself has the buttons"
    assert f"waits for your answer: {TITLE}" in visitor.get("/board").text
    plans.answer(gate, "approved")
    assert "waits for your answer" not in visitor.get("/board").text
    (card,) = visitor.data("/board.json")["silent"]
    assert card["why"] == ["its question is answered"]
    assert card["choices"] == [f"holdfast plan resume {plans.id}"]


def test_a_run_whose_runner_is_gone_needs_a_person(world: World, visitor: Visitor) -> None:
    plans = stories.run(world)
    plans.begin()
    (card,) = visitor.data("/board.json")["silent"]
    assert card["choices"] == [f"holdfast plan resume {plans.id}"]
    assert f"holdfast plan resume {plans.id}" in visitor.get("/board").text


def test_two_hundred_dead_agents_stay_a_small_board(world: World, visitor: Visitor) -> None:
    folder = world.root / "agent_checkpoints"
    folder.mkdir()
    for number in range(200):
        known = {
            "agent_id": f"Secondary-{number:03}",
            "status": "IN_PROGRESS",
            "feature": f"feature_{number:03}_with_a_long_name",
            "stage": "S2.P1",
            "current_step": "Writing the acceptance criteria of a long story " * 4,
            "last_checkpoint": clock.stamp(clock.now() - number * clock.MINUTE),
        }
        (folder / f"secondary_{number:03}.json").write_text(json.dumps(known))
    text = visitor.get("/board").text
    assert len(text.encode()) < 150_000
    assert "more that went silent" in text


def test_the_json_of_a_page_is_of_the_same_words(visitor: Visitor) -> None:
    text = visitor.get("/history?q=lost+key&kind=noted").text
    assert 'href="/history.json?kind=noted&amp;q=lost+key"' in text


def test_a_stop_whose_latch_was_removed_is_set_again_and_told(
    world: World, visitor: Visitor, service: Service
) -> None:
    """The records know what holds: the page, the status and a notification say what was removed."""
    estop.stop(world.workspace, "too expensive", by="ada", now=clock.now())
    os.unlink(latch.places(world.workspace)[0])
    data = visitor.data("/board.json")
    assert "too expensive" in data["notices"][0]["what"]
    assert data["notices"][0]["is_stop"]
    assert data["counts"]["needed"] == len(data["notices"]), "a stop is among what needs a person"
    said = "A program tried to lift the emergency stop"
    assert said in visitor.get("/board").text
    assert any(said in one.what for one in status.list_attention(world.workspace))
    (told,) = service.told
    assert told["title"] == TAMPERED
    assert told["message"] == "The file of the emergency stop was removed. It is set again."
    assert latch.read(world.workspace) is not None


def test_an_edit_that_met_a_newer_change_is_shown_with_both_texts(
    world: World, visitor: Visitor
) -> None:
    world.start("Secondary-A", minutes_ago=3)
    file = world.root / "agent_checkpoints" / "secondary_a.json"
    copy = file.read_text()
    world.beat("Secondary-A", "the newer step", minutes_ago=2)
    file.write_text(copy.replace("Reading S2.P1 guide", "written by a person"))
    world.beat("Secondary-A", "the newer step", minutes_ago=1)
    text = visitor.get("/board").text
    assert "written by a person" in text
    assert "the newer step" in text
    assert "holdfast conflicts" in text


def test_an_alert_whose_file_was_removed_is_set_again_and_told(
    world: World, visitor: Visitor, service: Service
) -> None:
    before = clock.now() - 2 * SETTLED
    budget = Budget(world.workspace, actor="ada")
    budget.check({"cost": 26.0}, session="s1", now=before)
    shutil.rmtree(os.path.join(world.workspace.home, "alerts"))
    said = "A program tried to lift the alert of cost"
    assert said in visitor.get("/board").text
    assert any(said in one.what for one in status.list_attention(world.workspace))
    (told,) = service.told
    assert told["message"] == "The file of the alert of cost was removed. It is set again."
    assert alerts.is_waiting(world.workspace, "s1", "cost")
