"""History and its search, the fleet, budgets, the doctor: with much to show, and little to send."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.budgets.check import Budget
from holdfast.journal.interface import Append
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.stream_write import draft
from holdfast.kernel.streams import open_writer
from holdfast.maintenance import doctor
from holdfast.web import background
from holdfast.web.pages import history
from holdfast.web.pages.history import AT_ONCE
from tests.web import stories
from tests.web.world import Visitor, World

LARGEST_PAGE = 150_000


AT = "2026-11-16T10:00:00Z"


def write(world: World, texts: list[str], stream: str = "note:log") -> None:
    """Many records at once."""
    writer, journal = open_writer(world.workspace), world.workspace.journal
    drafts = [
        draft(
            writer.redactor,
            new_id(),
            [("noted", {"text": text, "by": "agent-1", "at": AT})],
            "agent-1",
            clock.now(),
        )[0]
        for text in texts
    ]
    head = journal.head(stream)
    journal.commit([Append(stream, drafts, expected=head["version"] if head else 0)])


def pages(visitor: Visitor, path: str) -> list[dict[str, Any]]:
    """Every page of a history, by its own links."""
    found, before = [], 0
    for _ in range(100):
        found.append(visitor.data(f"{path}&before={before}" if before else path))
        before = found[-1]["older"]
        if not before:
            return found
    raise AssertionError("there is no end")


def test_every_record_stands_on_one_page(world: World, visitor: Visitor) -> None:
    write(world, [f"Step {number} <done>" for number in range(137)])
    seen = [one["seq"] for page in pages(visitor, "/history.json?q=") for one in page["records"]]
    assert seen == list(range(137, 0, -1))
    text = visitor.get("/history").text
    assert "Step 136 &lt;done&gt;" in text
    assert len(text) < LARGEST_PAGE


def test_a_search_finds_old_records_a_look_at_a_time(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 2 * AT_ONCE
    monkeypatch.setattr(history, "MOST_LOOKED", most)
    write(world, [f"Needle {number}" for number in range(3)])
    write(world, ["hay"] * (2 * most))
    read: list[int] = []
    latest = SqliteJournal.latest

    def counted(self: SqliteJournal, **words: Any) -> Any:
        found = latest(self, **words)
        read.append(len(found))
        return found

    monkeypatch.setattr(SqliteJournal, "latest", counted)
    first = visitor.data("/history.json?q=needle")
    assert first["records"] == []
    assert first["older"]
    assert most <= sum(read) <= most + 2 * AT_ONCE
    assert "Look further back" in visitor.get("/history?q=needle").text
    found = [one for page in pages(visitor, "/history.json?q=needle") for one in page["records"]]
    assert [one["what"] for one in found] == ["Needle 2", "Needle 1", "Needle 0"]


def test_a_search_takes_words_ids_streams_and_kinds(world: World, visitor: Visitor) -> None:
    write(world, ["the quick brown agent", "the lazy test"])
    write(world, ["the quick test"], "note:other")
    id = world.workspace.journal.latest(stream="note:other", limit=1)[0]["id"]

    def found(query: str) -> list[str]:
        return [one["what"] for one in visitor.data(f"/history.json?{query}")["records"]]

    assert found("q=QUICK+the") == ["the quick test", "the quick brown agent"]
    assert found("q=quick&stream=note:log") == ["the quick brown agent"]
    assert found("stream=note:*&kind=noted&q=lazy") == ["the lazy test"]
    assert found(f"q={id[:10]}") == ["the quick test"]
    assert found("kind=nothing") == []
    assert found("q=%25") == []


def test_an_erased_record_is_not_found_by_what_it_said(world: World, visitor: Visitor) -> None:
    write(world, ["the secret word"])
    (record,) = visitor.data("/history.json?q=secret")["records"]
    world.workspace.journal.erase([record["id"]])
    write(world, ["something else"])
    assert visitor.data("/history.json?q=secret")["records"] == []
    assert "erased" in visitor.get("/history").text


def test_a_long_stream_is_paged_by_its_versions(world: World, visitor: Visitor) -> None:
    for number in range(100):
        Budget(world.workspace, actor="builder").check(
            {"cost": number / 100}, session="one", now=clock.now()
        )
    first = visitor.data("/budget.json")["workspaces"][0]["timeline"]
    seen = [one["version"] for one in first["records"]]
    # A hundred checks, and what the stream says of its own snapshots.
    assert seen[0] == first["total"] >= 100
    older = visitor.data(f"/budget.json?before={first['older']}")["workspaces"][0]["timeline"]
    assert older["records"][0]["version"] == seen[-1] - 1
    newer = visitor.data(f"/budget.json?before={older['newer']}")["workspaces"][0]["timeline"]
    assert [one["version"] for one in newer["records"]] == seen


def test_no_page_reads_a_whole_journal(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories.capture(world)
    world.alert()
    write(world, [f"Step {number}" for number in range(history.MOST_LOOKED + 2000)])
    record = world.workspace.journal.latest(limit=1)[0]["id"]
    read: list[int] = []

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def count(*given: Any, **words: Any) -> Any:
            found = real(*given, **words)
            read.append(len(found))
            return found

        return count

    for name in ("read", "latest", "since"):
        monkeypatch.setattr(SqliteJournal, name, counted(getattr(SqliteJournal, name)))
    here = f"/w/{world.key}"
    for path, most in (
        ("/board", 100),
        ("/work", 100),
        ("/fleet", 100),
        ("/budget", 100),
        ("/history", 100),
        ("/history?q=nothing", history.MOST_LOOKED + AT_ONCE),
        (f"{here}/sessions/{stories.SESSION}", 100),
        (f"{here}/records/{record}", 100),
    ):
        read.clear()
        assert visitor.get(path).status_code == 200
        assert sum(read) <= most, path


# Budgets


def test_a_gauge_with_its_marks_and_a_line_over_time(world: World, visitor: Visitor) -> None:
    now = clock.now()
    for number in range(20):
        Budget(world.workspace, actor="builder").check(
            {"cost": number * 1.4, "context": 5.0},
            session="one",
            now=now - (20 - number) * clock.MINUTE,
        )
    (place,) = visitor.data("/budget.json")["workspaces"]
    cost = place["gauges"][0]
    assert (cost["shown"], cost["level"]) == ("$26.60", "alert")
    marks = cost["gauge"]["marks"]
    assert [(one["name"], one["label"]) for one in marks] == [
        ("warning", "$10"),
        ("alert", "$25"),
        ("stop", "$50"),
    ]
    assert marks[1]["at"] < cost["gauge"]["filled"] < marks[2]["at"]
    heights = [float(point.split(",")[1]) for point in cost["chart"]["lines"][0]["points"].split()]
    assert heights == sorted(heights, reverse=True)  # up is less in a picture
    assert place["gauges"][2]["shown"] == "unknown"
    text = visitor.get("/budget").text
    assert "waits for you" in text
    assert "warning $10, alert $25" not in text, "one figure for each level"
    assert "warning $10 · alert $25 · stop $50" in text


def test_a_budget_whose_file_is_wrong_says_so(world: World, visitor: Visitor) -> None:
    world.verify()
    (world.root / ".autopilot").mkdir()
    (world.root / ".autopilot" / "config.yaml").write_text(
        "thresholds:\n  alert:\n    cost: 2\n  stop:\n    cost: 1\n"
    )
    text = visitor.get("/budget").text
    assert "It cannot be read." in text


# The fleet


def test_two_hundred_agents_and_many_records_stay_small(world: World, visitor: Visitor) -> None:
    folder = world.root / "agent_checkpoints"
    folder.mkdir()
    for number in range(200):
        step = f"{number} " + "Writing the acceptance criteria of a long story " * 4
        known = {
            "agent_id": f"Secondary-{number:03}",
            "agent_type": "secondary",
            "session_id": f"session-{number}",
            "status": "IN_PROGRESS",
            "feature": f"feature_{number:03}_with_a_long_name",
            "stage": "S2.P1",
            "current_step": step,
            "completed_steps": ["one"],
            "next_steps": ["two"],
            "blockers": [],
            "last_checkpoint": clock.stamp(clock.now()),
        }
        (folder / f"secondary_{number:03}.json").write_text(json.dumps(known))
    write(world, [f"Step {number} of a story that is long enough" for number in range(3000)])
    data = visitor.data("/fleet.json")
    assert data["all"] == 200
    second = visitor.data(f"/fleet.json?from={data['older']}")
    names = {one["name"] for one in (*data["agents"], *second["agents"])}
    assert len(names) == 200
    for path in ("/fleet", "/fleet?from=100", "/history", "/work", "/budget"):
        assert len(visitor.get(path).text) < LARGEST_PAGE, path
    (found,) = visitor.data("/fleet.json?q=feature_042")["agents"]
    assert found["name"] == "Secondary-042"
    assert visitor.data("/fleet.json?verdict=dead")["agents"] == []


def test_the_loudest_agents_come_first(world: World, visitor: Visitor) -> None:
    world.silence("Secondary-D")
    world.start("Secondary-A")
    agents = visitor.data("/fleet.json")["agents"]
    assert [(one["name"], one["word"]) for one in agents] == [
        ("Secondary-D", "dead"),
        ("Secondary-A", "active"),
    ]


# The doctor


def test_the_doctor_says_what_is_wrong(world: World, visitor: Visitor) -> None:
    world.verify()
    (world.root / "holdfast.toml").write_text("[redact\n")
    (place,) = visitor.data("/doctor.json")["workspaces"]
    if place["looking"]:
        _until_examined(visitor)
        (place,) = visitor.data("/doctor.json")["workspaces"]
    assert place["checks"][0]["status"] == "problem"
    assert re.search(r"<title>\(\d\) Doctor", visitor.get("/doctor").text)


def test_a_page_does_not_wait_for_a_long_examination(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, free = threading.Event(), threading.Event()
    examine = doctor.examine

    def long(*words: Any, **more: Any) -> Any:
        begun.set()
        assert free.wait(60)
        return examine(*words, **more)

    monkeypatch.setattr(doctor, "examine", long)
    monkeypatch.setattr(background, "PATIENCE", 0.01)
    (place,) = visitor.data("/doctor.json")["workspaces"]
    assert begun.wait(60)
    assert (place["checks"], place["looking"]) == ([], True)
    assert "is being checked" in visitor.get("/doctor").text
    assert visitor.get("/board").status_code == 200
    free.set()
    _until_examined(visitor)
    visitor.server.cache._copies.clear()
    (place,) = visitor.data("/doctor.json")["workspaces"]
    assert place["checks"]


def _until_examined(visitor: Visitor) -> None:
    for thread in threading.enumerate():
        if thread.name == "holdfast-doctor":
            thread.join(60)
    visitor.server.cache._copies.clear()


def test_a_workspace_that_is_away_does_not_take_the_others_with_it(
    world: World, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / ".holdfast").mkdir(parents=True)
    (other / ".holdfast" / "journal.db").write_bytes(b"this is no database" * 100)
    world.start("Secondary-A")
    with Visitor([str(world.root), str(other)]) as visitor:
        visitor.sign_in()
        for path in ("/work", "/fleet", "/budget", "/doctor", "/history"):
            answer = visitor.get(path)
            assert answer.status_code == 200, path
        assert len(visitor.data("/fleet.json")["agents"]) == 1
        assert visitor.data("/fleet.json")["away"] or visitor.data("/work.json")["away"]
        assert visitor.get("/history?workspace=other").status_code in (400, 503)
