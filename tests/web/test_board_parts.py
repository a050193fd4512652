"""The parts of the board: their order, their titles, and what stands in them once."""

from __future__ import annotations

from holdfast.estop import stop as estop
from holdfast.kernel import clock
from tests.web import stories
from tests.web.world import Visitor, World


def names(visitor: Visitor) -> list[str]:
    return [part["name"] for part in visitor.data("/board.json")["parts"]]


def test_the_board_answers_in_order(world: World, visitor: Visitor) -> None:
    """What needs me, what runs, what happened, what it costs."""
    world.alert()
    world.start("Secondary-A")
    stories.capture(world)
    assert names(visitor) == ["needs", "running", "quiet", "limits"]
    text = visitor.get("/board").text
    places = [text.index(f'id="part-{name}"') for name in names(visitor)]
    assert places == sorted(places)


def test_a_stop_is_counted_among_what_needs_a_person(world: World, visitor: Visitor) -> None:
    stories.capture(world)
    assert "Nothing waits for you." in visitor.get("/board").text
    estop.stop(world.workspace, "the key leaked", by="ada", now=clock.now())
    text = visitor.get("/board").text
    assert text.count("the key leaked") == 1
    assert "holdfast release" in text
    assert "Nothing waits for you." not in text
    assert "<title>(1) Board" in text


def test_a_session_has_one_title_everywhere(world: World, visitor: Visitor) -> None:
    stories.capture(world, issue="CIA-7", title="A parser")
    title = "CIA-7 · A parser"
    (card,) = visitor.data("/board.json")["quiet"]
    (row,) = visitor.data("/work.json")["sessions"]
    page = visitor.data(f"/w/{world.key}/sessions/{stories.SESSION}.json")
    assert {card["name"], row["name"], page["name"]} == {title}


def test_work_names_what_there_is_none_of_after_what_there_is(
    world: World, visitor: Visitor
) -> None:
    stories.capture(world)
    text = visitor.get("/work").text
    assert text.index('id="sessions"') < text.index("Plan runs: none yet.")
    assert 'id="runs"' not in text
