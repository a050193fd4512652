"""The command line of a track: its words, its answers, and everything that can be said wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Holdfast
from tests.gates.person import does
from tests.loop.world import World

TRACK = ("--track", "demo")


def test_a_track_from_its_plan_to_its_end(world: World, holdfast: Holdfast) -> None:
    for words in (
        ["start", "superpowers:writing-plans", *TRACK],
        ["progress", "--current-phase", "1"],
        ["pass", "--output", "plan.md", "--notes", "two tasks"],
        ["advance"],
        ["start", "EVALUATE_PLAN"],
        ["pass"],
        ["advance"],
        ["start", "EXECUTE", "--tasks-total", "2"],
        ["task-done", "1.1", "--commit", "abc"],
        ["task-done", "1.2"],
        ["pass"],
        ["advance"],
        ["start", "evaluate-execution"],
        ["fail", "one test fails"],
        ["advance"],
        ["start", "FIX", "--issues-total", "1"],
        ["task-done", "the test"],
        ["pass", "--notes", "fixed"],
        ["advance"],
        ["start", "EVALUATE_EXECUTION"],
        ["pass"],
        ["advance"],
    ):
        answer = holdfast("loop", *words)
        assert answer.code == 0, f"{words}: {answer.err}"
    assert answer.out == "demo is complete\n"
    shown = holdfast("loop", "show").out
    assert "✓ EXECUTE             PASSED" in shown
    assert "2 of 2 tasks  last 1.2" in shown
    assert "✓ complete" in shown
    everything = holdfast("loop", "show", "--history").out
    assert everything.count("\n") == len(world.kinds()) == 22


def test_every_answer_is_an_envelope(world: World, holdfast: Holdfast) -> None:
    started = holdfast("loop", "start", "EXECUTE", *TRACK, "--tasks-total", "2", "--json").data
    assert (started["step"], started["status"]) == ("EXECUTE", "IN_PROGRESS")
    assert started["checkpoint"]["tasks_total"] == 2
    assert holdfast("loop", "task-done", "1.1", "--json").data["duplicate"] is False
    again = holdfast("loop", "task-done", "1.1", "--json").data
    assert (again["duplicate"], again["records"]) == (True, [])
    shown = holdfast("loop", "show", "--json").data
    assert shown["loop_state"]["checkpoints"]["EXECUTE"]["tasks_completed"] == 1
    assert [event["event"] for event in shown["history"]] == ["started", "task_done"]
    refused = holdfast("loop", "pass", "--json")
    assert (refused.code, refused.envelope["error"]["kind"]) == (5, "open_tasks")


def test_a_task_that_was_reported_before_is_fine_and_said(world: World, holdfast: Holdfast) -> None:
    holdfast("loop", "start", "EXECUTE", *TRACK, "--tasks-total", "2")
    holdfast("loop", "task-done", "1.1")
    before = world.metadata.read_bytes()
    for name in ("1.1", "Task 1.1"):
        answer = holdfast("loop", "task-done", name)
        assert (answer.code, answer.out) == (0, f"{name} was reported before; nothing changed.\n")
    assert world.metadata.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["task-done", "1.9"], 2, "3 tasks done of 2 are more than there are"),
        (["progress", "--tasks-completed", "9"], 2, "9 tasks done of 2 are more than there are"),
        (["progress", "--tasks-total", "1"], 2, "2 tasks done of 1 are more than there are"),
        (["progress", "--current-phase", "-1"], 2, "must be a whole number that is not negative"),
        (["progress", "--current-phase", "x"], 2, "'x' is not a whole number"),
        (["progress"], 2, "There is no progress in that"),
        (["task-done", " "], 2, "A task needs a name"),
        (["fail", ""], 2, "FAILED needs a reason"),
        (["start", "EXEUTE"], 2, "Did you mean EXECUTE?"),
        (["start", "superpowers:writing-plan"], 2, "Did you mean superpowers:writing-plans?"),
        (["start", "COMPLETE"], 2, "where a track ends"),
        (["pass", "--step", "PLAN"], 5, "PLAN is NOT_STARTED: it cannot become PASSED"),
        (["advance"], 5, "EXECUTE is IN_PROGRESS: there is no step after that"),
        (["show", "--track", "dem"], 3, "Did you mean demo?"),
        (["task-done", "1", "--track", "nowhere"], 3, "There is no track nowhere"),
        (["show", "--track", "../../etc"], 2, "cannot be the id of a track"),
        (["show", "--track", "a/b"], 2, "cannot be the id of a track"),
        (["show", "--track", ".."], 2, "cannot be the id of a track"),
        (["show", "--track", "x" * 101], 2, "cannot be the id of a track"),
        (["show", "--track", "a\nb"], 2, "cannot be the id of a track"),
        (["show", "--track-dir", "/etc"], 4, "not a folder inside the workspace"),
        (["show", "--track-dir", ".."], 4, "not a folder inside the workspace"),
        (["show", "--metadata", "README.md"], 2, "the path of a metadata.json"),
        (["show", "--log"], 3, "has no attempt yet"),
        (["shw"], 2, "Did you mean show?"),
    ],
)
def test_what_is_said_wrongly_is_refused_and_changes_nothing(
    world: World, holdfast: Holdfast, words: list[str], code: int, said: str
) -> None:
    holdfast("loop", "start", "EXECUTE", *TRACK, "--tasks-total", "2")
    holdfast("loop", "task-done", "1.1")
    holdfast("loop", "task-done", "1.2")
    before = world.metadata.read_bytes(), world.kinds()
    answer = holdfast("loop", *words)
    assert (answer.code, said in answer.err) == (code, True), answer.err
    assert (world.metadata.read_bytes(), world.kinds()) == before
    assert not Path("conductor/tracks/nowhere").exists()


@pytest.mark.clause("AMB-LOOP-17")
def test_the_flags_that_users_know(world: World, holdfast: Holdfast) -> None:
    folder = "conductor/tracks/demo"
    world.folder.mkdir(parents=True)
    for flags in (
        ["--track-id", "demo"],
        ["--track-dir", folder],
        ["--metadata", f"{folder}/metadata.json"],
        ["--track-dir", folder, "--track-id", "demo"],
        [],
    ):
        assert holdfast("loop", "start", "EXECUTE", "--tasks-total", "3", *flags).code == 0, flags
    holdfast("loop", "task-done", "1.1")
    went_on = holdfast("loop", "start", "EXECUTE", "--resume-from", "1.1")
    assert (went_on.code, went_on.err) == (0, "")
    doubted = holdfast("loop", "start", "EXECUTE", "--resume-from", "1.3")
    assert "the last task that is done is 1.1" in doubted.err
    assert holdfast("loop", "show", "--track-dir", folder, "--track", "other").code == 2


def test_a_track_in_another_folder(world: World, holdfast: Holdfast) -> None:
    place = Path("packages/api/conductor/tracks/login")
    place.mkdir(parents=True)
    assert holdfast("loop", "start", "PLAN", "--track-dir", str(place)).code == 0
    assert json.loads((place / "metadata.json").read_text())["track_id"] == "login"
    assert holdfast("loop", "progress", "--track", "login", "--notes", "begun").code == 0
    assert not Path("conductor/tracks/login").exists(), "the name leads to where the track is"


def test_without_a_name_the_only_track_is_meant(world: World, holdfast: Holdfast) -> None:
    assert holdfast("loop", "show").code == 3
    holdfast("loop", "start", "PLAN", "--track", "one")
    assert holdfast("loop", "show", "--json").data["track"] == "one"
    holdfast("loop", "start", "PLAN", "--track", "two")
    answer = holdfast("loop", "show")
    assert (answer.code, "--track one, --track two" in answer.err) == (2, True)


def test_the_plan_says_how_many_tasks_there_are(world: World, holdfast: Holdfast) -> None:
    world.plan("- [ ] 1.1 One", "- [ ] 1.2 Two")
    holdfast("loop", "start", "EXECUTE", *TRACK)
    assert world.checkpoint("EXECUTE")["tasks_total"] == 2
    unknown = holdfast("loop", "start", "EXECUTE", "--track", "unplanned")
    assert (unknown.code, "Say --tasks-total N" in unknown.err) == (0, True)


def test_escalation_reads_as_the_protocol_says(world: World, holdfast: Holdfast) -> None:
    holdfast("loop", "start", "EXECUTE", *TRACK, "--tasks-total", "2")
    holdfast("loop", "block", "no key for the API")
    answer = holdfast("loop", "advance")
    assert answer.code == 8
    assert answer.out.startswith("Orchestrator Paused — User Input Required\n")
    for line in (
        "Track: demo",
        "Current Step: EXECUTE",
        "Reason: no key for the API",
        "Context:",
        "Options:",
    ):
        assert f"\n{line}\n" in answer.out
    assert holdfast("loop", "resume").code == 8
    assert does("loop", "start", "EXECUTE").code == 0
    assert holdfast("loop", "resume").code == 0


def test_hostile_text_reaches_neither_terminal_nor_shell(world: World, holdfast: Holdfast) -> None:
    hostile = "\x1b[31mred\x1b]0;title\x07 `touch pwned` $(touch pwned)"
    holdfast("loop", "start", "EXECUTE", *TRACK, "--tasks-total", "5", "--agent", hostile)
    holdfast("loop", "task-done", hostile, "--commit", hostile, "--message", hostile)
    holdfast("loop", "fail", hostile)
    for words in (["show"], ["show", "--history"], ["resume"], ["start", "EXECUTE"]):
        answer = holdfast("loop", *words)
        assert "\x1b" not in answer.out + answer.err
        assert "\x07" not in answer.out + answer.err
    assert not Path("pwned").exists()


def test_a_track_is_seen_in_status_and_history(world: World, holdfast: Holdfast) -> None:
    holdfast("loop", "start", "PLAN", *TRACK)
    assert "loop:demo" in holdfast("status").out
    assert "started" in holdfast("history").out
    assert "metadata.json" in holdfast("show", "loop:demo").out
    assert holdfast("verify").code == 0
    assert holdfast("doctor").code == 0


def test_restore_takes_the_track_back(world: World, holdfast: Holdfast) -> None:
    holdfast("loop", "start", "EXECUTE", *TRACK, "--tasks-total", "3")
    first = holdfast("loop", "task-done", "1.1", "--json").data["id"]
    holdfast("loop", "task-done", "1.2")
    assert holdfast("restore", first[:8]).code == 0
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1"]
    holdfast("loop", "task-done", "1.3")
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.3"]
    assert not world.lock.exists()
    assert [event["event"] for event in world.events()][-2:] == ["restored", "task_done"]
