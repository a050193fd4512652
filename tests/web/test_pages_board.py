"""The board leads to the pages, and stays small with a large fleet."""

from __future__ import annotations

import json

from holdfast.kernel import clock
from tests.web import stories
from tests.web.world import Visitor, World


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
    assert (found["run"]["done"], found["run"]["steps"]) == (2, 3)


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
