"""Step 1: `.ccc-progress.md`, line by line, and what people do to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.kernel import clock
from holdfast.kernel.text import split_words
from holdfast.session.rules import progress
from holdfast.session.rules.model import empty_progress
from tests.session import world
from tests.session.world import PROGRESS, Holdfast, set_state

if TYPE_CHECKING:
    from holdfast.session.rules.model import Progress

FULL = (
    "--issue",
    "CIA-42",
    "--title",
    "Parse dates",
    "--mode",
    "tdd",
    "--done",
    "Read the issue",
    "--done",
    "Write a test",
    "--task",
    "Write the parser",
    "--status",
    "the month is missing",
    "--remaining",
    "Write the docs",
    "--remaining",
    "Ask for a review",
    "--decision",
    "No regular expressions: they were too slow",
    "--blocker",
    "The fixture is private (unblocked by: access for the team)",
    "--file",
    "a.py",
    "--file",
    "b.py",
    "--next",
    "parse the month in a.py",
)
LAYOUT = """# Session Progress

**Issue:** CIA-42 — Parse dates
**Session:** {time}
**Execution Mode:** exec:tdd

## Completed Tasks
- Read the issue ✓
- Write a test ✓

## Current Task
- Write the parser — the month is missing

## Remaining Tasks
- Write the docs
- Ask for a review

## Decisions Made
- No regular expressions: they were too slow

## Blockers
- The fixture is private (unblocked by: access for the team)

## Continuation Prompt
Resume CIA-42. Current task: task 3 of 5. Key files: a.py, b.py.
Next action: parse the month in a.py.
"""
EMPTY = """# Session Progress

**Issue:** CIA-42 — untitled
**Session:** {time}
**Execution Mode:** exec:checkpoint

## Completed Tasks
- None

## Current Task
- None

## Remaining Tasks
- None

## Decisions Made
- None

## Blockers
- None

## Continuation Prompt
Resume CIA-42. Current task: not stated. Key files: see git status.
Next action: not stated; read git log and git status, then continue.
"""


def text() -> str:
    return PROGRESS.read_text("utf-8")


def section(name: str) -> list[str]:
    """The lines of one section of the file."""
    (body,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", text(), re.MULTILINE | re.DOTALL)
    return [line for line in str(body).split("\n") if line]


def session_time() -> str:
    (time,) = re.findall(r"^\*\*Session:\*\* (.+)$", text(), re.MULTILINE)
    return str(time)


def edit(old: str, new: str) -> None:
    """As a person with an editor does."""
    before = text()
    assert before.count(old) == 1
    PROGRESS.write_text(before.replace(old, new), "utf-8")


@pytest.mark.clause(
    *split_words("CCC-13 CCC-14 CCC-15 CCC-16 CCC-17 CCC-18"),
    *split_words("CCC-19 CCC-20 CCC-21 CCC-22 CCC-23"),
)
def test_the_layout_to_the_letter(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *FULL)
    assert text() == LAYOUT.format(time=session_time())


@pytest.mark.clause("CCC-13")
def test_it_begins_with_its_title(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint")
    assert text().split("\n")[:2] == ["# Session Progress", ""]


@pytest.mark.clause("CCC-14")
@pytest.mark.parametrize("issue", ["CIA-42", "A1-7", "#12"])
def test_the_issue_line(project: Path, holdfast: Holdfast, issue: str) -> None:
    holdfast("checkpoint", "--issue", issue, "--title", "Parse dates — all of them")
    line = text().split("\n")[2]
    assert re.fullmatch(r"\*\*Issue:\*\* ([A-Z][A-Z0-9]*-\d+|#\d+) \u2014 .+", line)
    assert line == f"**Issue:** {issue} — Parse dates — all of them"


@pytest.mark.clause("CCC-14")
def test_an_unknown_issue_is_a_warning_where_there_is_a_tracker(
    project: Path, holdfast: Holdfast, request: pytest.FixtureRequest
) -> None:
    assert "issue" not in holdfast("checkpoint", "--task", "It", "--next", "begin").err
    request.getfixturevalue("linear")
    answer = holdfast("checkpoint", "--task", "It")
    assert answer.code == 0
    assert ".ccc-progress.md: its issue line is not `ID — title`." in answer.err
    assert "- It — not started" in text()


@pytest.mark.clause("CCC-15")
def test_the_session_line_holds_the_time(project: Path, holdfast: Holdfast) -> None:
    before = clock.now() - 1000
    holdfast("checkpoint")
    assert before <= clock.parse(session_time()) <= clock.now()


@pytest.mark.clause("CCC-16")
def test_the_mode_comes_from_the_engine(project: Path, holdfast: Holdfast) -> None:
    set_state(executionMode="swarm")
    holdfast("checkpoint")
    assert re.fullmatch(r"\*\*Execution Mode:\*\* exec:\w+", text().split("\n")[4])
    assert text().split("\n")[4] == "**Execution Mode:** exec:swarm"


@pytest.mark.clause("CCC-17", "CCC-18", "CCC-19", "CCC-20", "CCC-21", "AMB-CCC-21")
def test_empty_lists_hold_a_single_none(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--issue", "CIA-42")
    assert text() == EMPTY.format(time=session_time())
    assert progress.parse(text())["remaining"] == []


@pytest.mark.clause("CCC-17")
def test_completed_tasks_end_with_a_tick(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--done", "one", "--done", "two")
    assert section("Completed Tasks") == ["- one \u2713", "- two \u2713"]
    assert progress.parse(text())["completed"] == ["one", "two"]


@pytest.mark.clause("CCC-18")
def test_the_current_task_has_a_status(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--task", "one")
    assert section("Current Task") == ["- one — not started"]
    holdfast("checkpoint", "--status", "begun")
    assert section("Current Task") == ["- one — begun"]


@pytest.mark.clause("CCC-19")
def test_remaining_tasks_come_back_as_they_were(project: Path, holdfast: Holdfast) -> None:
    tasks = ["one", "two: with a colon", "three — with a dash", "- four"]
    words = [word for task in tasks for word in ("--remaining", task)]
    holdfast("checkpoint", *words)
    assert section("Remaining Tasks") == [f"- {task}" for task in tasks]
    assert progress.parse(text())["remaining"] == tasks


@pytest.mark.clause("CCC-20")
@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("SQLite: one file: no server", "- SQLite: one file: no server"),
        ("SQLite", "- SQLite: not given"),
        ("SQLite: ", "- SQLite: not given"),
        (": because", "- unnamed: because"),
    ],
)
def test_a_decision_has_two_parts(project: Path, holdfast: Holdfast, given: str, line: str) -> None:
    holdfast("checkpoint", "--decision", given)
    assert section("Decisions Made") == [line]
    decision, colon, reason = line[2:].partition(": ")
    assert decision
    assert colon
    assert reason


@pytest.mark.clause("CCC-21")
@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("No key (unblocked by: an admin)", "- No key (unblocked by: an admin)"),
        ("No key", "- No key (unblocked by: not given)"),
        ("No key (unblocked by: f(x))", "- No key (unblocked by: f(x))"),
    ],
)
def test_a_blocker_says_what_would_unblock_it(
    project: Path, holdfast: Holdfast, given: str, line: str
) -> None:
    holdfast("checkpoint", "--blocker", given)
    assert section("Blockers") == [line]
    assert re.fullmatch(r"- .+ \(unblocked by: .+\)", line)
    edit("- None\n\n## Remaining", "- None\n\n\n## Remaining")
    holdfast("checkpoint")
    assert section("Blockers") == [line]
    holdfast("checkpoint", "--blocker", "")
    assert section("Blockers") == ["- None"]


@pytest.mark.clause("CCC-22")
def test_the_two_lines_of_the_prompt(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *FULL)
    first, second = section("Continuation Prompt")
    assert re.fullmatch(
        r"Resume [A-Z]+-\d+\. Current task: task \d+ of \d+\. Key files: .+\.", first
    )
    assert re.fullmatch(r"Next action: .+\.", second)


@pytest.mark.clause("CCC-22", "CCC-24")
def test_the_prompt_follows_the_tasks(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *FULL)
    holdfast("checkpoint", "--done", "Write the parser")
    assert section("Continuation Prompt") == [
        "Resume CIA-42. Current task: task 4 of 5. Key files: a.py, b.py.",
        "Next action: parse the month in a.py.",
    ]
    holdfast("checkpoint", "--next", "write docs/dates.md", "--file", "docs/dates.md")
    assert section("Continuation Prompt") == [
        "Resume CIA-42. Current task: task 4 of 5. Key files: docs/dates.md.",
        "Next action: write docs/dates.md.",
    ]
    holdfast("checkpoint", "--issue", "CIA-43")
    assert section("Continuation Prompt")[0].startswith("Resume CIA-43. Current task: task 4 of 5.")


@pytest.mark.clause("CCC-22")
def test_a_task_that_is_begun_leaves_the_remaining_ones_and_inherits_no_status(
    project: Path, holdfast: Holdfast
) -> None:
    tasks = ("--task", "Parser", "--remaining", "Renderer", "--remaining", "Docs")
    holdfast("checkpoint", *tasks, "--status", "half of it")
    holdfast("checkpoint", "--done", "Parser", "--task", "Renderer")
    assert section("Completed Tasks") == ["- Parser ✓"]
    assert section("Current Task") == ["- Renderer — not started"]
    assert section("Remaining Tasks") == ["- Docs"]
    assert "Current task: task 2 of 3." in section("Continuation Prompt")[0]


@pytest.mark.clause("CCC-22")
def test_a_next_action_that_was_the_task_itself_goes_with_it(
    project: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", "--issue", "CIA-1", "--task", "one", "--remaining", "two")
    assert section("Continuation Prompt")[1] == "Next action: one."
    holdfast("checkpoint", "--done", "one")
    assert section("Continuation Prompt")[1] == "Next action: two."


@pytest.mark.clause("CCC-22")
def test_a_file_name_cannot_begin_a_section(project: Path, holdfast: Holdfast) -> None:
    set_state(linearIssue="CIA-1", activeTaskFiles=["a\n## Blockers\n- forged"])
    holdfast("checkpoint")
    assert text().count("## Blockers") == 2
    assert section("Blockers") == ["- None"]
    assert 'Key files: "a ## Blockers - forged".' in text()


@pytest.mark.clause("CCC-23")
def test_what_we_write_is_whole(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *FULL)
    assert progress.shortcomings(text()) == []


@pytest.mark.clause("CCC-23")
@pytest.mark.parametrize(
    "line",
    [
        "# Session Progress",
        "**Issue:** CIA-42 — Parse dates",
        "**Session:** 2026-01-01T00:00:00Z",
        "**Execution Mode:** exec:tdd",
        *(f"## {name}" for name in progress.SECTIONS),
    ],
)
def test_a_file_that_lacks_anything_is_found_out(line: str) -> None:
    whole = LAYOUT.format(time="2026-01-01T00:00:00Z")
    assert progress.shortcomings(whole) == []
    (found,) = progress.shortcomings(whole.replace(f"{line}\n", ""))
    assert re.sub(" (CIA|2026|exec).*", "", line) in found


@pytest.mark.clause("CCC-23")
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("## Blockers", "## Remaining Tasks", "it has no section `## Blockers`"),
        ("**Session:** 2026-01-01T00:00:00Z", "**Session:** today", "session line"),
        ("CIA-42 — Parse dates", "CIA-42", "issue line"),
        ("CIA-42 — Parse dates", "unknown issue — Parse dates", "issue line"),
    ],
)
def test_a_file_with_something_wrong_is_found_out(old: str, new: str, found: str) -> None:
    whole = LAYOUT.format(time="2026-01-01T00:00:00Z")
    assert found in " ".join(progress.shortcomings(whole.replace(old, new, 1)))


@pytest.mark.clause("CCC-23")
def test_the_order_is_looked_at() -> None:
    whole = LAYOUT.format(time="2026-01-01T00:00:00Z")
    head, *sections = whole.split("\n## ")
    swapped = "\n## ".join([head, sections[1], sections[0], *sections[2:]])
    assert progress.shortcomings(swapped) == ["its sections are out of order"]
    lines = whole.split("\n")
    lines[2], lines[3] = lines[3], lines[2]
    assert progress.shortcomings("\n".join(lines)) == ["its header lines are out of order"]


@pytest.mark.clause("CCC-12")
@pytest.mark.parametrize("profile", [[], ["--auto"]], ids=["manual", "automated"])
def test_a_file_that_was_removed_is_created_again(
    project: Path, holdfast: Holdfast, profile: list[str]
) -> None:
    holdfast("checkpoint", *FULL)
    PROGRESS.unlink()
    answer = holdfast("checkpoint", *profile)
    count = "2/2" if profile else "4/4"
    assert answer.out.endswith(f"Checkpoint complete: {count} steps succeeded.\n")
    assert text() == LAYOUT.format(time=session_time())


@pytest.mark.clause("CCC-27")
def test_headings_are_never_doubled(project: Path, holdfast: Holdfast) -> None:
    for _ in range(3):
        holdfast("checkpoint", *FULL)
    assert text() == LAYOUT.format(time=session_time())
    headings = [line for line in text().split("\n") if line.startswith("#")]
    assert len(headings) == len(set(headings)) == 7


@pytest.mark.clause("CCC-12")
def test_what_is_not_given_is_kept(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *FULL)
    holdfast("checkpoint", "--status", "the year is missing")
    wanted = LAYOUT.replace("the month is missing", "the year is missing")
    assert text() == wanted.format(time=session_time())


@pytest.mark.clause("AMB-CCC-23")
def test_only_new_decisions_are_new(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--issue", "CIA-42", "--decision", "a: b")
    edit("- a: b", "- a: b\n- by hand: c")
    holdfast("checkpoint", "--decision", "a: b", "--decision", "d: e")
    assert section("Decisions Made") == ["- a: b", "- by hand: c", "- d: e"]


def test_a_save_of_an_older_copy_takes_no_decision_and_no_blocker_out(
    project: Path, holdfast: Holdfast
) -> None:
    """An editor read the file before the second checkpoint, and saves it after."""
    holdfast("checkpoint", *FULL, "--decision", "a: b", "--blocker", "x until y")
    copy = text()
    holdfast("checkpoint", "--decision", "c: d", "--blocker", "later", "--remaining", "new task")
    PROGRESS.write_text(copy.replace("- a: b", "- a: b\n- by hand: e"))
    holdfast("checkpoint", "--status", "going on")
    made = section("Decisions Made")
    assert {"- a: b", "- c: d", "- by hand: e"} <= set(made)
    assert len(made) == len(set(made)), "and nothing is doubled"
    assert any("later" in one for one in section("Blockers"))
    assert section("Remaining Tasks") == ["- new task"]


def test_what_both_changed_is_shown_and_not_decided(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--issue", "CIA-42", "--task", "first", "--status", "begun")
    copy = text()
    holdfast("checkpoint", "--task", "of the session")
    PROGRESS.write_text(copy.replace("- first", "- of the editor"))
    holdfast("note", "takes nothing in")
    holdfast("checkpoint", "--status", "going on")
    assert section("Current Task") == ["- of the session — going on"]
    (shown,) = section("Blockers")
    assert shown == (
        '- current was edited by hand to "of the editor", and the session said "of the session" '
        "meanwhile (unblocked by: choosing one of them)"
    )
    assert "edited by hand" in holdfast("resume").out
    holdfast("checkpoint", "--status", "still")
    assert len(section("Blockers")) == 1, "said once"


# What people and other tools do to the file


@pytest.mark.clause("AMB-CCC-16")
def test_sections_of_ones_own_are_kept_as_they_are(project: Path, holdfast: Holdfast) -> None:
    own = (
        "## Learnings\n- [2026-01-01 10:00] tabs  matter\n\n  an indented line\n\n"
        "```markdown\n## Blockers\n- not really\n```\n\n### Deeper\ntext\n\n## Notes\n* one"
    )
    holdfast("checkpoint", *FULL)
    PROGRESS.write_text(f"{text()}\n{own}\n", "utf-8")
    for status in ("x", "y"):
        holdfast("checkpoint", "--status", status)
        wanted = LAYOUT.replace("the month is missing", status).format(time=session_time())
        assert text() == f"{wanted}\n{own}\n"


@pytest.mark.clause("AMB-CCC-16")
def test_sections_in_between_go_behind_ours(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *FULL)
    edit("\n## Blockers", "\n## Mood\ngood\n\n## Blockers")
    holdfast("checkpoint", "--auto")
    assert text() == LAYOUT.format(time=session_time()) + "\n## Mood\ngood\n"


@pytest.mark.clause("AMB-CCC-16")
def test_sections_of_ones_own_outlive_the_session(project: Path, holdfast: Holdfast) -> None:
    world.said(world.hook("SessionStart", "SessionStart.startup", session_id="first"))
    holdfast("checkpoint", *FULL, "--session", "first")
    PROGRESS.write_text(f"{text()}\n## Mood\ngood\n", "utf-8")
    world.said(world.hook("SessionEnd", "SessionEnd.other", session_id="first"))
    holdfast("checkpoint", "--session", "second", "--status", "going on")
    assert "## Mood\ngood\n" in text()
    assert "- Read the issue ✓" in text()
    assert "- Write the parser — going on" in text()


@pytest.mark.clause("AMB-CCC-16")
def test_edits_by_hand_are_taken_over(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *FULL)
    edit("- Write the docs", "- Write the manual\n  with pictures")
    edit("- Read the issue ✓\n", "")
    edit("— Parse dates", "— Parse all dates")
    holdfast("checkpoint", "--auto")
    assert section("Remaining Tasks") == ["- Write the manual with pictures", "- Ask for a review"]
    assert "- Read the issue ✓" in section("Completed Tasks"), "a completed task never goes"
    assert "**Issue:** CIA-42 — Parse all dates\n" in text()


@pytest.mark.clause("AMB-CCC-16")
def test_an_edit_elsewhere_leaves_hard_names_alone(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--task", "parse — or guess", "--status", "begun", "--remaining", "x")
    edit("- x", "- y")
    holdfast("checkpoint", "--status", "half")
    assert section("Current Task") == ["- parse — or guess — half"]
    assert section("Remaining Tasks") == ["- y"]


@pytest.mark.clause("CCC-12", "AMB-CCC-16")
def test_a_file_that_was_there_before_us(project: Path, holdfast: Holdfast) -> None:
    PROGRESS.write_text(
        "# Session Progress\n\n**Issue:** CIA-42 — Parse dates\n\n## Goal\nDates.\n\n"
        "## Completed Tasks\n- [x] Task 0: read -- 1a2b3c (2 min)\n\n"
        "## Continuation Prompt\nAsk Ada about leap years.\nThen write the parser.\n",
        "utf-8",
    )
    holdfast("checkpoint", "--task", "Write the parser")
    assert section("Completed Tasks") == ["- Task 0: read -- 1a2b3c (2 min) ✓"]
    assert section("Continuation Prompt") == ["Ask Ada about leap years.", "Then write the parser."]
    assert "**Issue:** CIA-42 — Parse dates\n" in text()
    assert text().endswith("\n## Goal\nDates.\n")


@pytest.mark.matrix
@pytest.mark.parametrize("profile", [[], ["--auto"]], ids=["manual", "automated"])
@pytest.mark.parametrize(
    "broken", [b"# Something else\n\nMy thoughts.\n", b"\xff\xfe\x00", b""], ids=repr
)
def test_a_broken_file_is_kept_elsewhere_and_said(
    project: Path, holdfast: Holdfast, profile: list[str], broken: bytes
) -> None:
    holdfast("checkpoint", *FULL)
    PROGRESS.write_bytes(broken)
    answer = holdfast("checkpoint", *profile)
    (kept,) = re.findall(r"^Warning: .*it is kept in (.*)$", answer.out, re.MULTILINE)
    assert Path(kept).read_bytes() == broken
    assert text() == LAYOUT.format(time=session_time())
    again = holdfast("checkpoint", *profile)
    assert "kept in" not in again.out
    assert progress.shortcomings(text()) == []


def test_empty_tasks_are_no_tasks(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--done", " ", "--remaining", "", "--decision", " ", "--blocker", "")
    assert text().count("- None") == 5


@pytest.mark.clause("CCC-19")
def test_reading_back_gives_what_was_written() -> None:
    made: Progress = {
        **empty_progress(),
        "issue": "CIA-1",
        "title": "t",
        "completed": ["a ✓ b", "c"],
        "current": "d",
        "status": "e — f",
        "remaining": ["g"],
        "decisions": [{"decision": "h", "rationale": "i: j"}],
        "blockers": [{"blocker": "k (l)", "until": "m (n)"}],
        "prompt": "o\n\np",
        "extra": "## Q\nr",
    }
    assert progress.parse(progress.write(made, "2026-01-01T00:00:00Z")) == made
