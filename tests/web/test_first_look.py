"""What a person sees first: a workspace in which nothing was recorded, and the story of a session."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from scripts import readme

from holdfast.clients.claude import usage as claude
from holdfast.hooks.after_turn import after_turn
from holdfast.kernel import clock
from tests.web import stories
from tests.web.world import Visitor, World

SESSION = "022bdfed-56c0-4976-b946-1579523829e7"
PATIENCE = 20.0


@pytest.fixture
def transcript(repository: Path) -> Path:
    """A session of Claude Code in this repository that was killed in the middle of a turn."""
    content = readme.begun_session().replace(b"/home/dev/tally", bytes(repository))
    path = Path(claude.folder_of(str(repository))) / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def found_on_board(visitor: Visitor) -> Any:
    """The workspace of the board, once the search beside the page has ended."""
    end = time.monotonic() + PATIENCE
    while True:
        (place,) = visitor.data("/board.json")["workspaces"]
        if place["found"] is not None or not place["is_new"]:
            return place
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_empty_workspace_shows_the_sessions_that_clients_left(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    place = found_on_board(visitor)
    assert place["is_new"]
    (found,) = place["found"]
    assert (found["client"], found["session"], found["open_tasks"]) == ("claude", SESSION, 2)
    text = visitor.get("/board").text
    assert "Sessions found here" in text
    assert "Amounts such as 1,250.00 are refused" in text
    assert 'data-copy="holdfast resume --session 022bdfed"' in text
    assert "Three first steps" in text
    assert 'data-copy="holdfast init --client claude"' in text
    assert not world.workspace.exists(), "a look writes no journal"


def test_without_any_session_the_first_steps_are_shown(world: World, visitor: Visitor) -> None:
    assert found_on_board(visitor)["found"] == []
    text = visitor.get("/board").text
    assert "No client has left a session" in text
    assert "Three first steps" in text


def test_a_workspace_with_work_shows_no_first_steps(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    world.verify()
    assert not found_on_board(visitor)["is_new"]
    assert "Three first steps" not in visitor.get("/board").text


def test_a_sessions_page_tells_its_story(world: World, transcript: Path, visitor: Visitor) -> None:
    stories.capture(world, SESSION)
    after_turn(world.workspace, "claude", SESSION, str(transcript), clock.now())
    path = f"/w/{world.key}/sessions/{SESSION}"
    story = visitor.data(f"{path}.json")["story"]
    kinds = [one["kind"] for one in story["events"]]
    assert kinds.count("asked") == 3
    assert kinds.index("asked") < kinds.index("still fails") < kinds.index("said")
    assert [one["call"] for one in story["events"]] == sorted(
        one["call"] for one in story["events"]
    )
    assert story["files"][0] == {"path": "tally/amounts.py", "edits": 5}
    assert [one["state"] for one in story["tasks"]].count("done") == 4
    text = visitor.get(path).text
    assert "python3 -m unittest tests.test_export" in text
    assert "AssertionError" in text
    assert "Write rows with csv.writer in to_csv" in text
    assert "Request under way" in text, "what the pack would say"


def test_the_history_says_what_was_seen_in_words(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    stories.capture(world, SESSION)
    after_turn(world.workspace, "claude", SESSION, str(transcript), clock.now())
    seen = next(
        one for one in visitor.data("/history.json")["records"] if one["kind"] == "observed"
    )
    assert seen["word"] == "seen at work"
    assert "asked: The CSV export breaks" in seen["what"]
    assert seen["subject"] == "session 022bdfed"


def test_a_run_says_which_answer_it_waits_for(world: World, visitor: Visitor) -> None:
    plans = stories.run(world)
    plans.halted()
    data = visitor.data("/board.json")
    (card,) = [one for one in data["quiet"] if one["kind"] == "run"]
    (gate,) = data["gates"]
    assert card["why"] == [f"waits for your answer: {gate['title']}"]
    assert card["why"][0] in visitor.get("/board").text
