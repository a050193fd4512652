"""What a person sees first: a workspace in which nothing was recorded, and the story of a session."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from scripts.page_stories import FOUND as SESSION
from scripts.page_stories import leave_session

from holdfast.hooks.after_turn import after_turn
from holdfast.kernel import clock
from tests.web import stories
from tests.web.world import Visitor, World

PATIENCE = 20.0


@pytest.fixture
def transcript(repository: Path) -> Path:
    return leave_session(repository)


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
    assert "The CSV export breaks when a payee contains a comma" in text
    assert 'data-copy="holdfast resume --session 022bdfed"' in text
    assert "Three first steps" in text
    assert 'data-copy="holdfast init --client claude"' in text
    assert not world.workspace.exists(), "a look writes no journal"


def read_session(visitor: Visitor, path: str) -> Any:
    """The data of a session's page, once its transcript was read beside the page."""
    end = time.monotonic() + PATIENCE
    while True:
        data = visitor.data(f"{path}.json")
        if data["course"] or data["unread"]:
            return data
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_found_session_leads_to_its_story_and_its_pack(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    found_on_board(visitor)
    path = f"/w/{world.key}/sessions/{SESSION}"
    assert f'href="{path}"' in visitor.get("/board").text
    assert f'href="{path}"' in visitor.get("/work").text
    data = read_session(visitor, path)
    assert not data["recorded"]
    kinds = [one["kind"] for one in data["story"]["events"]]
    assert kinds.count("asked") == 3
    assert "still fails" in kinds
    assert "Request under way" in data["handoff"]["pack"]
    text = visitor.get(path).text
    assert "Known from Claude Code's transcript alone" in text
    assert "All that it reads: the pack" in text
    assert 'data-copy="holdfast resume --session 022bdfed"' in text
    assert 'data-copy="holdfast init --client claude"' in text
    assert visitor.get(f"/w/{world.key}/sessions/{SESSION[:8]}").status_code == 200
    assert visitor.get(f"/w/{world.key}/sessions/ffffffff").status_code == 404
    assert not world.workspace.exists(), "a look writes no journal"


def test_a_found_session_beside_recorded_ones(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    stories.capture(world)
    data = read_session(visitor, f"/w/{world.key}/sessions/{SESSION}")
    assert not data["recorded"]
    assert data["story"]["tasks"]
    records = visitor.data("/history.json")["records"]
    assert all(SESSION not in one["stream"] for one in records)


def test_secrets_of_a_found_session_are_not_shown(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    secret = "ghp_" + "a1B2" * 9
    transcript.write_bytes(transcript.read_bytes().replace(b"1,250.00", secret.encode()))
    path = f"/w/{world.key}/sessions/{SESSION}"
    read_session(visitor, path)
    assert "[redacted:github-token]" in visitor.get(path).text
    assert secret not in visitor.get(path).text
    assert secret not in visitor.get(f"{path}.json").text


def test_a_session_is_no_page_where_transcripts_are_not_read(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    (world.root / "holdfast.toml").write_text("[session]\nobserve = false\n")
    answer = visitor.get(f"/w/{world.key}/sessions/{SESSION}")
    assert answer.status_code == 404


def test_a_session_has_a_chart_of_its_course(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    stories.capture(world, SESSION)
    path = f"/w/{world.key}/sessions/{SESSION}"
    course = read_session(visitor, path)["course"]
    totals = {lane["kind"]: lane["total"] for lane in course["lanes"]}
    assert totals == {"request": 3, "edit": 12, "failure": 4, "task": 4}
    assert sum(mark["count"] for mark in course["lanes"][1]["marks"]) == totals["edit"]
    for number, lane in enumerate(course["lanes"]):
        assert sum(row["counts"][number] for row in course["rows"]) == lane["total"]
    assert course["cost"]["total"] > 0
    assert sum(row["cost"] for row in course["rows"]) == pytest.approx(course["cost"]["total"])
    text = visitor.get(path).text
    assert re.search(r'role="img" aria-label="3 requests, 12 edits, 4 failures, 4 tasks done', text)
    assert "The same as a table" in text


def test_the_budget_shows_what_sessions_cost_by_day_and_by_session(
    world: World, transcript: Path, visitor: Visitor
) -> None:
    end = time.monotonic() + PATIENCE
    while not (place := visitor.data("/budget.json")["workspaces"][0])["sessions"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    (session,) = place["sessions"]
    path = f"/w/{world.key}/sessions/{SESSION}"
    assert session["href"] == path
    assert session["request"].startswith("The CSV export breaks"), "the request under way"
    assert place["days"]["total"] == pytest.approx(session["cost"])
    course = read_session(visitor, path)["course"]
    assert course["cost"]["total"] == pytest.approx(session["cost"])
    text = visitor.get("/budget").text
    assert re.search(r'aria-label="Cost by day, [\d-]+ to [\d-]+: \$6\.\d\d in all', text)
    assert f'<a href="{path}">The CSV export breaks' in text


def test_without_a_transcript_the_page_says_why_there_is_no_chart(
    world: World, visitor: Visitor
) -> None:
    stories.capture(world)
    path = f"/w/{world.key}/sessions/{stories.SESSION}"
    read_session(visitor, path)
    text = visitor.get(path).text
    assert "No chart: Its client&#39;s transcript is not on this machine." in text


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
