"""Step 4 and the prompt: what the next session is started with."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from holdfast import api
from holdfast.kernel.workspace import discover
from holdfast.session import sessions
from holdfast.session.rules.prompt import is_composed, weaknesses
from tests.conftest import Git
from tests.session import world
from tests.session.conftest import Break
from tests.session.world import (
    PROGRESS,
    PROMPT,
    TRANSCRIPT,
    WORK,
    Conversation,
    Holdfast,
    set_state,
)

home, conversation = world.home, world.conversation

TOP = "╔══════════════════════════════════════════════════╗"
TITLE = "║  CONTINUATION PROMPT                             ║"
BOTTOM = "╚══════════════════════════════════════════════════╝"
CLOSING = "Copy this prompt into your next session's first message."


def shown(out: str) -> str:
    """What stands from the box on, without the report."""
    return out[out.index("╔") : out.index("Checkpoint complete: ")]


@pytest.mark.clause("CCC-55", "AMB-CCC-22")
def test_the_box_to_the_letter(project: Path, holdfast: Holdfast) -> None:
    lines = shown(holdfast("checkpoint", *WORK).out).split("\n")
    assert lines[:3] == [TOP, TITLE, BOTTOM]
    assert lines[0] == "╔" + "═" * 50 + "╗"
    assert [len(line) for line in lines[:3]] == [52, 52, 52]


@pytest.mark.clause("CCC-56", "AMB-CCC-22")
def test_the_prompt_below_the_box(project: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", *WORK)
    box = f"{TOP}\n{TITLE}\n{BOTTOM}\n\n{PROMPT}\n\n{CLOSING}\n"
    skipped = "Skipped, and counted as succeeded: Git snapshot, Linear update.\n"
    assert shown(answer.out) == f"{box}{skipped}"


@pytest.mark.clause("CCC-56", "CCC-25")
def test_it_is_the_section_of_the_file(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK)
    prompt = "Ask Ada about leap years.\n\nThen write parse_date; see [1]."
    text = PROGRESS.read_text("utf-8").replace(PROMPT, prompt)
    PROGRESS.write_text(text, "utf-8")
    answer = holdfast("checkpoint", "--status", "nearly")
    assert f"\n\n{prompt}\n\n{CLOSING}\n" in answer.out
    assert prompt in PROGRESS.read_text("utf-8")
    for verb in ("resume", "go"):
        assert holdfast(verb, "--json").data["prompt"] == prompt
        assert holdfast(verb, "--prompt-only").out == f"{prompt}\n"


@pytest.mark.clause("CCC-54")
@pytest.mark.parametrize("words", [[], ["--skip-git"], ["--skip-tracker"]])
def test_it_is_always_there_in_the_manual_profile(
    project: Path, holdfast: Holdfast, words: list[str]
) -> None:
    for _ in range(2):
        assert TITLE in holdfast("checkpoint", *WORK, *words).out


@pytest.mark.clause("CCC-54")
def test_the_hook_carries_the_prompt_in_its_reason(project: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK, "--session", "hooked")
    loop = {"phase": "execution", "taskIndex": 0, "totalTasks": 3, "linearIssue": "ENG-12"}
    set_state(**loop)
    done = world.hook("Stop", session_id="hooked")
    assert "╔" not in done.stdout.decode()
    answer = world.said(done)
    assert answer["decision"] == "block"
    assert answer["reason"].startswith("Resume ENG-12. Current task: task 1 of 3.")


@pytest.mark.clause("AMB-CCC-24")
def test_a_stale_prompt_says_how_old_it_is(
    project: Path, holdfast: Holdfast, blocked_view: Break
) -> None:
    holdfast("checkpoint", *WORK)
    old = PROGRESS.read_text("utf-8")
    (time,) = re.findall(r"^\*\*Session:\*\* (.+)$", old, re.MULTILINE)
    blocked_view()
    answer = holdfast("checkpoint", "--next", "something new")
    warning, *rest = answer.out[answer.out.index("Warning: Step 1") :].split("\n")
    assert warning == f"Warning: Step 1 failed; this prompt is of {time}"
    assert rest[:3] == [TOP, TITLE, BOTTOM]
    assert "finish parse_date" in answer.out
    assert PROGRESS.read_text("utf-8") == old


@pytest.mark.clause("CCC-57", "AMB-CCC-19")
def test_the_template_of_a_session_without_an_issue(project: Path, holdfast: Holdfast) -> None:
    PROGRESS.mkdir()
    answer = holdfast("checkpoint")
    assert (
        "Resume the work here. Current task: unknown. Key files: see git status.\n"
        "Next action: re-read the issue and git log, then continue.\n"
    ) in answer.out
    assert "Warning: .ccc-progress.md cannot be read" in answer.out


GOOD = "Resume CIA-1. Current task: task 2 of 3. Key files: a.py, b.py.\nNext action: test a.py."


@pytest.mark.clause("CCC-24")
@pytest.mark.parametrize(
    ("prompt", "weakness"),
    [
        (GOOD.replace("Resume CIA-1. ", ""), "it names no issue"),
        (GOOD.replace("CIA-1", "unknown issue"), "it names no issue"),
        (GOOD.replace("CIA-1", "the work here"), "it names no issue"),
        (GOOD.replace("task 2 of 3", "unknown"), "it does not say which task of how many"),
        (GOOD.replace("2 of 3", "N of M"), "it does not say which task of how many"),
        (GOOD.replace("a.py, b.py", "see git status"), "it names no key files"),
        (GOOD.replace(" Key files: a.py, b.py.", ""), "it names no key files"),
        (GOOD.replace("Next action: test a.py.", ""), "it names no next action"),
        (GOOD.replace("test a.py.", ""), "it names no next action"),
        (GOOD.replace("test a.py", "[specific next step]"), "it still holds a placeholder"),
        (GOOD.replace("a.py, b.py", "[file list]"), "it still holds a placeholder"),
        (GOOD.replace("CIA-1", "CIA-XXX"), "it still holds a placeholder"),
        ("Go on.", "it names no issue"),
        ("", "it names no next action"),
    ],
)
def test_a_vague_prompt_is_found_out(prompt: str, weakness: str) -> None:
    assert weaknesses(GOOD) == []
    assert weakness in weaknesses(prompt)


@pytest.mark.clause("CCC-24")
@pytest.mark.parametrize("issue", ["CIA-1", "A1-20", "#7", "owner/name#7"])
def test_issues_of_every_tracker_are_good_enough(issue: str) -> None:
    assert weaknesses(GOOD.replace("CIA-1", issue)) == []


@pytest.mark.clause("CCC-24")
def test_a_vague_prompt_is_a_warning_each_time(project: Path, holdfast: Holdfast) -> None:
    for _ in range(2):
        answer = holdfast("checkpoint", "--issue", "CIA-7", "--task", "It")
        assert answer.code == 0
        assert "The continuation prompt is weak: it names no key files (--file)." in answer.err
        automated = holdfast("checkpoint", "--auto", "--json")
        weak = "The continuation prompt is weak: it names no key files."
        assert weak in automated.data["warnings"]
        assert automated.data["report"] == "Checkpoint complete: 2/2 steps succeeded."


@pytest.mark.clause("CCC-24")
def test_strict_refuses_a_vague_prompt_before_anything_is_written(
    project: Path, holdfast: Holdfast
) -> None:
    before = world.every_byte_under(project)
    answer = holdfast("checkpoint", "--issue", "CIA-7", "--task", "It", "--strict")
    assert answer.code == 1
    assert "The continuation prompt is too vague: it names no key files." in answer.err
    assert answer.out == ""
    assert world.every_byte_under(project) == before
    whole = ("--issue", "CIA-7", "--task", "It", "--file", "a.py", "--next", "begin")
    assert holdfast("checkpoint", *whole, "--strict").code == 0
    vague = holdfast("checkpoint", "--auto", "--session", "x", "--strict")
    assert vague.code == 0, "the automated profile only warns"


# The task in words, and one next step


def test_a_prompt_names_its_task_once(project: Path, holdfast: Holdfast) -> None:
    tasks = (
        "--done",
        "Read the issue",
        "--task",
        "Round to cents",
        "--remaining",
        "Write the docs",
    )
    holdfast("checkpoint", *tasks, "--file", "src/cart.py")
    assert holdfast("resume", "--prompt-only").out == (
        "Resume the work here. Current task: task 2 of 3. Key files: src/cart.py.\n"
        "Next action: Round to cents.\n"
    )
    holdfast("checkpoint", "--next", "use quantize in total_of")
    assert holdfast("resume", "--prompt-only").out == (
        "Resume the work here. Current task: task 2 of 3. Key files: src/cart.py.\n"
        "Next action: use quantize in total_of.\n"
    )


def test_the_first_remaining_task_is_named_and_not_kept_when_it_is_done(
    project: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", "--remaining", "Write the docs", "--remaining", "Ask for a review")
    assert "Next action: Write the docs.\n" in holdfast("resume", "--prompt-only").out
    holdfast("checkpoint", "--done", "Write the docs")
    assert "Next action: Ask for a review.\n" in holdfast("resume", "--prompt-only").out


@pytest.mark.clause("CCC-22", "CCC-24")
def test_lines_that_a_person_added_survive_a_new_next_action(
    project: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", *WORK)
    dead_end, test = "Dead end: regular expressions.", "Run first: pytest tests/test_dates.py"
    old = "Next action: finish parse_date."
    text = PROGRESS.read_text("utf-8").replace(old, f"{old}\n{dead_end}\n{test}")
    PROGRESS.write_text(text, "utf-8")
    holdfast("checkpoint", "--next", "test the month")
    wanted = ["Next action: test the month.", dead_end, test]
    assert holdfast("resume", "--prompt-only").out.splitlines()[1:] == wanted
    holdfast("checkpoint", "--status", "nearly done")
    holdfast("checkpoint", "--next", "test the year")
    wanted[0] = "Next action: test the year."
    assert holdfast("resume", "--prompt-only").out.splitlines()[1:] == wanted
    holdfast("checkpoint", "--next", "")
    assert dead_end not in holdfast("resume", "--prompt-only").out


@pytest.mark.clause("CCC-57", "AMB-CCC-19")
def test_a_progress_file_without_a_prompt_gives_a_warning_and_the_template(
    project: Path, holdfast: Holdfast
) -> None:
    PROGRESS.write_text(
        "# Session Progress\n\n**Issue:** CIA-42 — Dates\n**Session:** 2026-02-20T10:00:00Z\n"
        "**Execution Mode:** exec:tdd\n\n## Current Task\n- Write the parser — begun\n",
        "utf-8",
    )
    answer = holdfast("resume", "--prompt-only")
    assert answer.out == (
        "Resume CIA-42. Current task: unknown. Key files: see git status.\n"
        "Next action: re-read the issue and git log, then continue.\n"
    )
    assert "no Continuation Prompt" in answer.err


NOT_STATED = "Next action: not stated; read git log and git status, then continue."


def test_a_prompt_names_no_remaining_task_where_there_is_none(
    project: Path, holdfast: Holdfast
) -> None:
    assert NOT_STATED in holdfast("checkpoint").out
    assert (
        "Next action: Write the docs.\n" in holdfast("checkpoint", "--task", "Write the docs").out
    )
    done = holdfast("checkpoint", "--done", "Write the docs", "--task", "").out
    assert NOT_STATED in done


def test_an_empty_next_action_clears_the_last_one(project: Path, holdfast: Holdfast) -> None:
    """In a prompt of ours and in one that a person wrote; by the command line and by the library."""
    holdfast("checkpoint", "--task", "Write the docs", "--next", "ask Kim for the picture")
    assert "Next action: Write the docs.\n" in holdfast("checkpoint", "--next", "").out
    assert "Kim" not in holdfast("resume").out

    holdfast("checkpoint", "--next", "ask Kim again", "--task", "")
    text = PROGRESS.read_text("utf-8")
    prompt = text[text.index("Resume ") : text.index("ask Kim again.") + len("ask Kim again.")]
    PROGRESS.write_text(text.replace(prompt, "Ask Kim, then Lee."), "utf-8")
    assert "Ask Kim, then Lee." in holdfast("checkpoint").out
    with api.open(str(project)) as workspace:
        workspace.checkpoint(next="", skip_git=True)
    assert NOT_STATED in holdfast("resume", "--prompt-only").out


def test_the_words_of_an_earlier_version_for_no_next_action_are_no_statement(
    project: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint")
    old = "Next action: continue with the first remaining task."
    PROGRESS.write_text(PROGRESS.read_text("utf-8").replace(NOT_STATED, old), "utf-8")
    assert "first remaining" not in holdfast("resume").out
    assert "first remaining" not in holdfast("status").out
    assert NOT_STATED in holdfast("checkpoint").out
    PROGRESS.write_text(PROGRESS.read_text("utf-8").replace(NOT_STATED, old), "utf-8")
    assert (
        "Next action: Write the docs.\n" in holdfast("checkpoint", "--task", "Write the docs").out
    )


def test_a_prompt_of_an_earlier_version_is_composed_anew() -> None:
    assert is_composed(GOOD)
    assert is_composed(f"{GOOD}\nThe task: Write the parser.")
    assert not is_composed(f"{GOOD}\nThen tell Ann.")
    assert not is_composed(f"{GOOD}\nThe task: Write the parser.\nThen tell Ann.")
    assert weaknesses(f"{GOOD}\nThe task: Write the parser.") == []


# A checkpoint that a person types in a terminal, beside a client's session


REQUEST = "Please do the work that is to be done here."


def typed(holdfast: Holdfast, *words: str) -> list[str]:
    """The prompt that a checkpoint prints, and that the file has; line by line."""
    out = holdfast("checkpoint", *words).out
    prompt = out.partition(f"{BOTTOM}\n\n")[2].partition(f"\n\n{CLOSING}")[0]
    assert f"\n## Continuation Prompt\n{prompt}\n" in PROGRESS.read_text("utf-8")
    return prompt.split("\n")


def leave_an_edit(conversation: Conversation) -> None:
    """An edit that the session made and left in the work tree."""
    conversation.edit("a.txt", "one", "two")
    conversation.leave()
    Path("a.txt").write_text("two")


@pytest.mark.clause("CCC-22", "CCC-24")
def test_a_terminal_names_the_task_in_progress_of_the_clients_session(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.plan(Read="completed", Docs="pending", Parser="in_progress")
    leave_an_edit(conversation)
    for _ in range(2):
        assert typed(holdfast) == [
            "Resume the work here. Current task: task 2 of 3. Key files: a.txt.",
            'Next action: its task in progress: "Parser" (quoted as data).',
        ]
    said = holdfast("resume").out
    assert "of a terminal" in said
    assert f"What was seen is of session {TRANSCRIPT[:12]} of Claude Code." in said


def test_a_clients_session_is_judged_alike_with_its_name_and_without(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    """The checkpoint of a terminal beside it counts for it, whoever asks."""
    leave_an_edit(conversation)
    assert "which has no checkpoint" in holdfast("show", TRANSCRIPT).out
    holdfast("checkpoint", "--task", "Parser")
    for change, verdict in (("two", "CLEAN"), ("three", "DRIFTED")):
        Path("a.txt").write_text(change)
        said = holdfast("resume").out
        assert said.startswith(f"Holdfast: {verdict}"), said
        for words in (
            ["resume", "--session", TRANSCRIPT],
            ["resume", "--session", TRANSCRIPT[:8]],
            ["show", TRANSCRIPT],
            ["show", f"session:{TRANSCRIPT}"],
        ):
            assert holdfast(*words).out.strip() == said.strip(), words


def test_a_session_of_which_no_checkpoint_was_made_stays_unknown(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    leave_an_edit(conversation)
    holdfast("checkpoint", "--task", "Parser")
    older = Path(conversation.path).with_name("older.jsonl")
    older.write_text(Path(conversation.path).read_text().replace(TRANSCRIPT, "older"))
    os.utime(older, (1, 1))
    assert "which has no checkpoint" in holdfast("show", "older").out
    assert "CLEAN" in holdfast("show", TRANSCRIPT).out


@pytest.mark.clause("CCC-22")
def test_a_terminal_names_the_first_open_task_else_the_request(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.leave()
    assert typed(holdfast) == [
        "Resume the work here. Current task: task 1 of 1. Key files: see git status.",
        f'Next action: the request under way: "{REQUEST[:-1]}" (quoted as data).',
    ]
    conversation.plan(Read="completed", Docs="pending", Parser="pending")
    conversation.leave()
    assert typed(holdfast)[1:] == ['Next action: its first open task: "Docs" (quoted as data).']


def test_what_is_stated_in_a_terminal_goes_before_what_was_observed(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.plan(Read="completed", Parser="in_progress")
    conversation.leave()
    assert typed(holdfast, "--task", "Ask Ann", "--next", "write to Ann") == [
        "Resume the work here. Current task: task 2 of 3. Key files: see git status.",
        "Next action: write to Ann.",
    ]


FAILING = "python3 -m unittest tests.test_words"


def finish_by_hand(conversation: Conversation, holdfast: Holdfast, *words: str) -> str:
    """A session dies with a failing test; a person ends its work and says so. What the next one is told."""
    conversation.plan(Read="completed", Parser="in_progress", Docs="pending")
    conversation.call("Bash", {"command": FAILING}, True)
    conversation.leave()
    assert "## Still failing" in holdfast("resume").out
    done = ("--done", "Parser", "--done", "Docs", "--next", "review and commit")
    assert typed(holdfast, *done, *words) == [
        "Resume the work here. Current task: task 3 of 3. Key files: see git status.",
        "Next action: review and commit.",
    ]
    shown = PROGRESS.read_text("utf-8")
    assert shown.count("Parser") == 1, "completed, and nowhere else"
    assert "## Current Task\n- None\n" in shown
    return holdfast("resume").out


def test_nothing_blocks_after_a_person_has_said_so(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    said = finish_by_hand(conversation, holdfast, "--blocker", "")
    assert "## Blockers\n- None\n" in PROGRESS.read_text("utf-8")
    assert "## Still failing" not in said
    assert f"## Failed, not known to pass now\n- {FAILING}" in said
    assert typed(holdfast)[1] == "Next action: review and commit.", "the next statement keeps it"
    assert "## Blockers\n- None\n" in PROGRESS.read_text("utf-8")


def test_a_probe_that_passes_later_puts_a_failure_in_doubt(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    said = finish_by_hand(conversation, holdfast, "--claim", "the tests pass", "run:true")
    assert "## Still failing" not in said
    assert f"## Failed, not known to pass now\n- {FAILING}" in said


def test_a_failure_stands_after_a_statement_that_does_not_speak_of_it(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    said = finish_by_hand(conversation, holdfast, "--claim", "it is there", "file:.git")
    assert f"## Still failing\n- {FAILING}" in said
    assert f"- `{FAILING}` fails" in PROGRESS.read_text("utf-8")


def test_a_named_session_takes_nothing_from_a_clients_session(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.plan(Parser="in_progress")
    conversation.leave()
    assert typed(holdfast, "--session", "nightly")[0].startswith(
        "Resume the work here. Current task: not stated. Key files: "
    )


def test_a_terminal_shows_what_was_seen_after_the_transcript_is_gone(
    conversation: Conversation, holdfast: Holdfast, home: Path
) -> None:
    conversation.plan(Parser="in_progress")
    conversation.leave()
    typed(holdfast)
    for path in home.rglob("*.jsonl"):
        path.unlink()
    said = holdfast("resume").out
    assert f"What was seen is of session {TRANSCRIPT[:12]} of Claude Code." in said
    assert "- [>] Parser" in said
    assert typed(holdfast)[1:] == ['Next action: its task in progress: "Parser" (quoted as data).']


def test_a_terminal_follows_the_newest_session_and_keeps_nothing_of_the_one_before(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.plan(Parser="in_progress")
    conversation.call("Bash", {"command": "git rm old.py"}, False)
    conversation.leave()
    typed(holdfast)
    Conversation(conversation.root).leave()
    another = Path(conversation.path).rename(Path(conversation.path).with_name("another.jsonl"))
    assert "Parser" not in " ".join(typed(holdfast))
    workspace = discover(str(conversation.root))
    observed = sessions.latest(workspace)[0].get("observed")
    assert observed is not None
    assert observed.get("session") == another.stem
    assert "gone" not in observed["seen"]


# What a checkpoint says of itself


def test_an_empty_checkpoint_says_what_it_holds_and_what_it_lacks(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    Path("words.py").write_text("half of the work\n")
    answer = holdfast("checkpoint")
    assert answer.code == 0
    lacks = "This checkpoint says nothing about the work: no task, no next action, and no session"
    holds = f"It holds commit {git('rev-parse', 'HEAD')[:12]} and the work tree with 1 uncommitted"
    assert f"warning: {lacks}" in answer.err
    assert holds in answer.err
    assert answer.err.endswith(" Give --task and --next\n")
    assert "weak" not in answer.err, "one warning says all"
    assert "says nothing" not in holdfast("checkpoint", "--next", "split the words").err
    assert "says nothing" not in holdfast("checkpoint").err, "the next action is still there"


def test_the_first_file_in_the_work_tree_is_announced_once(
    repository: Path, holdfast: Holdfast
) -> None:
    new = "note: {} is new: holdfast keeps it up to date, and you can edit it. Git "
    leaves_out = "leaves it out.\n"
    sees = "sees it: commit it, or name it in .gitignore or .git/info/exclude.\n"
    answer = holdfast("checkpoint", *WORK, "--json")
    assert answer.data["created"] == [".ccc-progress.md"]
    assert answer.err.startswith(new.format(".ccc-progress.md") + leaves_out)
    assert holdfast("note", "one").err == new.format(".notes/default.md") + sees
    PROGRESS.unlink()
    assert "is new" not in holdfast("checkpoint", *WORK, "--session", "another").err
    assert "is new" not in holdfast("note", "two").err
    Path(".gitignore").write_text("/.notes/\n")
    said = holdfast("note", "three", "--to", "other").err
    assert said == new.format(".notes/other.md") + leaves_out


@pytest.mark.clause("CCC-24")
def test_a_prompt_that_states_no_next_action_is_weak(project: Path, holdfast: Holdfast) -> None:
    said = holdfast("checkpoint", "--done", "Parser", "--file", "a.txt")
    assert "Next action: not stated" in said.out
    assert "it names no next action" in said.err
    assert "it names no next action" not in holdfast("checkpoint", "--next", "write it").err
