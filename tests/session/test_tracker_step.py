"""Step 3 through the command line: one comment on the issue, edited in place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Git
from tests.session import world
from tests.session.world import STATE, WORK, Holdfast, set_state, state, step_of
from tests.trackers import faults
from tests.trackers.fake_github import FakeGitHub
from tests.trackers.fake_linear import Comment, FakeLinear

holdfast = world.holdfast
linear_server, linear = world.linear_server, world.linear
github_server, github = world.github_server, world.github

TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def body(server: FakeLinear, issue: str = "ENG-12") -> str:
    """The one comment on the issue."""
    (comment,) = server.on(issue)
    return comment.body


def field(server: FakeLinear, name: str) -> str:
    (found,) = re.findall(rf"^\*\*{name}:\*\* (.*)$", body(server), re.MULTILINE)
    return str(found)


@pytest.mark.clause("CCC-41", "CCC-42", "CCC-43", "CCC-44", "CCC-46", "CCC-47")
def test_the_comment_line_by_line(repository: Path, holdfast: Holdfast, linear: FakeLinear) -> None:
    assert holdfast("checkpoint", *WORK, "--decision", "No regex: too slow").code == 0
    lines = body(linear).split("\n")
    assert re.fullmatch(rf"\*\*Updated:\*\* {TIMESTAMP}", lines.pop(2))
    assert lines == [
        "## Checkpoint Status",
        "",
        "**Task:** 2 of 3 — Write the parser",
        "**Status:** In Progress",
        "",
        "**Decisions:** No regex: too slow",
        "**Blockers:** None",
        "**Next:** finish parse_date",
    ]


@pytest.mark.clause("CCC-40", "CCC-48", "CCC-49", "CCC-08")
def test_it_is_created_once_and_then_updated(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    for number in range(3):
        answer = holdfast("checkpoint", *WORK, "--status", f"at {number}", "--json")
        assert step_of(answer)["status"] == "ok"
    (comment,) = linear.on("ENG-12")
    assert linear.writes == [("create", comment.id), ("update", comment.id), ("update", comment.id)]
    assert state()["checkpointCommentId"] == comment.id


@pytest.mark.clause("CCC-49", "CCC-67")
def test_the_stored_id_is_the_one_that_is_updated(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK)
    stored = state()["checkpointCommentId"]
    holdfast("checkpoint", *WORK, "--status", "later")
    assert linear.writes == [("create", stored), ("update", stored)]
    assert state()["checkpointCommentId"] == stored


def test_a_cloned_state_file_overwrites_no_comment(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    """Its author knows the id of a comment that the user's key may edit."""
    foreign = "0d0ecabb-7a4c-4a7c-9f3a-0d6a9f2d7b11"
    linear.comments[foreign] = Comment(foreign, "ENG-12", "my own words")
    set_state(checkpointCommentId=foreign)
    holdfast("checkpoint", *WORK)
    assert linear.comments[foreign].body == "my own words"
    assert len(linear.on("ENG-12")) == 2
    assert state()["checkpointCommentId"] != foreign


def test_markup_in_a_task_hides_nothing(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", "--issue", "ENG-12", "--task", "done <!--", "--next", "<b>use</b> a<b")
    (comment,) = linear.on("ENG-12")
    assert "<!--" not in comment.body
    assert "— done &lt;!--\n" in comment.body
    assert "**Next:** &lt;b>use&lt;/b> a&lt;b" in comment.body


@pytest.mark.clause("CCC-53")
def test_every_other_field_of_the_state_file_stays(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    before = {
        "phase": "spec",
        "taskIndex": 1,
        "totalTasks": 3,
        "awaitingGate": None,
        "activeTaskFiles": ["src/dates.py", "ünï/çode 📦.py"],
        "nested": {"deep": [1, 2.5, True, {"": ""}], "large": 12345678901234567890},
        "half a letter": "\ud83d",
    }
    STATE.write_text(json.dumps(before), "utf-8")
    assert step_of(holdfast("checkpoint", *WORK, "--json"))["status"] == "ok"
    after = state()
    (comment,) = linear.on("ENG-12")
    assert after.pop("checkpointCommentId") == comment.id
    assert after.pop("checkpointCommentIssue") == "ENG-12"
    assert after == before
    assert list(after) == list(before)


@pytest.mark.clause("CCC-48", "AMB-CCC-13")
def test_a_missing_state_file_is_created_with_the_checkpoints_keys_alone(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK)
    assert set(state()) == {"checkpointCommentId", "checkpointCommentIssue"}


@pytest.mark.clause("CCC-50")
def test_without_the_key_it_is_created_anew_and_still_there_is_one(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    """The id follows from the workspace and the issue, so that a second create is seen to be one."""
    holdfast("checkpoint", *WORK)
    stored = state()["checkpointCommentId"]
    set_state(phase="spec")
    asked = len(linear.requests)
    holdfast("checkpoint", *WORK, "--status", "later")
    words = [linear.word(request) for request in linear.requests[asked:]]
    assert "commentCreate" in words
    assert [comment.id for comment in linear.on("ENG-12")] == [stored]
    assert state()["checkpointCommentId"] == stored
    assert state()["phase"] == "spec"


@pytest.mark.clause("CCC-50")
def test_without_the_key_and_without_the_comment_a_new_one_is_made(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK)
    linear.delete_comment(state()["checkpointCommentId"])
    STATE.unlink()
    holdfast("checkpoint", *WORK, "--status", "later")
    (comment,) = linear.on("ENG-12")
    assert linear.writes[-1] == ("create", comment.id)
    assert state()["checkpointCommentId"] == comment.id


@pytest.mark.clause("AMB-CCC-11")
def test_a_comment_that_a_person_deleted_is_made_again(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK)
    gone = state()["checkpointCommentId"]
    linear.delete_comment(gone)
    assert step_of(holdfast("checkpoint", *WORK, "--status", "later", "--json"))["status"] == "ok"
    (comment,) = linear.on("ENG-12")
    assert comment.id != gone
    assert state()["checkpointCommentId"] == comment.id


@pytest.mark.clause("AMB-CCC-11")
def test_any_other_error_of_the_update_is_no_reason_to_create(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK)
    linear.fail(faults.status(403), on="commentUpdate")
    asked = len(linear.requests)
    assert step_of(holdfast("checkpoint", *WORK, "--status", "x", "--json"))["status"] == "failed"
    assert [linear.word(one) for one in linear.requests[asked:]] == ["issue", "commentUpdate"]
    assert len(linear.on("ENG-12")) == 1


@pytest.mark.clause("CCC-40")
def test_the_comment_of_a_sub_issue_is_on_its_parent(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    for child in ("ENG-13", "ENG-14"):
        linear.add_issue(child, parent="ENG-12")
        for status in ("begun", "half"):
            holdfast("checkpoint", *WORK, "--issue", child, "--status", status)
        assert linear.on(child) == []
    assert len(linear.on("ENG-12")) == 1


@pytest.mark.clause("AMB-CCC-12")
def test_another_issue_does_not_get_the_comment_of_the_first(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.add_issue("ENG-13")
    holdfast("checkpoint", *WORK, "--decision", "one: because")
    first = body(linear)
    stored = state()["checkpointCommentId"]
    holdfast("checkpoint", *WORK, "--issue", "ENG-13", "--task", "Another")
    (other,) = linear.on("ENG-13")
    assert other.id != stored
    assert body(linear) == first
    assert state()["checkpointCommentId"] == other.id
    assert state()["checkpointCommentIssue"] == "ENG-13"
    holdfast("checkpoint", *WORK, "--status", "back")
    assert len(linear.on("ENG-12")) == len(linear.on("ENG-13")) == 1


@pytest.mark.clause("AMB-CCC-13")
@pytest.mark.parametrize("damaged", [b'{"phase": ', b"[]", b"\xff\xfe", b'{"a": NaN}'])
def test_a_damaged_state_file_fails_the_step_and_stays_as_it_is(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, damaged: bytes
) -> None:
    STATE.write_bytes(damaged)
    answer = holdfast("checkpoint", *WORK)
    assert answer.code == 0
    assert "Failed: Linear update (.ccc-state.json is damaged" in answer.out
    assert "Warning: Linear update: .ccc-state.json is damaged" in answer.out
    assert "CONTINUATION PROMPT" in answer.out
    assert STATE.read_bytes() == damaged
    assert linear.on("ENG-12") == []


@pytest.mark.clause("CCC-45")
def test_the_decisions_are_those_since_the_last_checkpoint(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK, "--decision", "No regex: too slow")
    holdfast("checkpoint", "--decision", "No regex: too slow", "--decision", "UTC only: simple")
    assert field(linear, "Decisions") == "UTC only: simple"
    holdfast("checkpoint", "--status", "nothing decided")
    assert field(linear, "Decisions") == "None"


@pytest.mark.clause("CCC-45")
def test_a_decision_whose_comment_failed_reaches_the_issue_with_the_next_one(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.fail(faults.status(503))
    lost = holdfast("checkpoint", *WORK, "--decision", "No regex: too slow", "--json")
    assert step_of(lost)["status"] == "failed"
    holdfast("checkpoint", "--decision", "UTC only: simple")
    assert field(linear, "Decisions") == "No regex: too slow; UTC only: simple"
    holdfast("checkpoint", "--status", "nothing decided")
    assert field(linear, "Decisions") == "None"


@pytest.mark.clause("CCC-44", "AMB-CCC-20")
def test_a_checkpoint_after_go_says_resuming_and_the_next_no_more(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK)
    holdfast("go")
    assert field(linear, "Status") == "In Progress"
    holdfast("checkpoint", "--status", "again at work")
    assert field(linear, "Status") == "Resuming"
    holdfast("checkpoint", "--status", "further")
    assert field(linear, "Status") == "In Progress"


@pytest.mark.clause("CCC-46", "AMB-CCC-20")
def test_blockers_are_listed_and_the_status_says_so(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast(
        "checkpoint",
        *WORK,
        "--blocker",
        "No access (unblocked by: Ann)",
        "--blocker",
        "No disk (unblocked by: a delivery)",
    )
    assert field(linear, "Status") == "Blocked"
    listed = "No access (unblocked by: Ann); No disk (unblocked by: a delivery)"
    assert field(linear, "Blockers") == listed
    holdfast("checkpoint", "--blocker", "")
    assert field(linear, "Status") == "In Progress"
    assert field(linear, "Blockers") == "None"


@pytest.mark.clause("CCC-44", "AMB-CCC-20")
def test_the_first_checkpoint_after_a_resume_says_so_and_the_next_no_more(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    first = json.loads(holdfast("checkpoint", *WORK, "--json").out)["data"]["session"]
    assert field(linear, "Status") == "In Progress"
    world.said(world.hook("SessionStart", "SessionStart.resume", session_id=first))
    holdfast("checkpoint", "--session", first, "--status", "again at work")
    assert field(linear, "Status") == "Resuming"
    holdfast("checkpoint", "--session", first, "--status", "further")
    assert field(linear, "Status") == "In Progress"


@pytest.mark.clause("CCC-44", "AMB-CCC-20")
def test_a_session_that_took_another_over_is_resuming_and_a_blocker_is_graver(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    world.said(world.hook("SessionEnd", "SessionEnd.other", session_id="first"))
    world.said(world.hook("SessionStart", "SessionStart.startup", session_id="second"))
    holdfast("checkpoint", "--session", "second", "--blocker", "No access")
    assert field(linear, "Status") == "Blocked"
    assert field(linear, "Task") == "2 of 3 — Write the parser"


@pytest.mark.clause("CCC-39")
def test_both_profiles_update_the_comment(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    assert step_of(holdfast("checkpoint", *WORK, "--json"))["status"] == "ok"
    automated = holdfast("checkpoint", "--auto", "--next", "write the tests", "--json")
    assert step_of(automated)["status"] == "ok"
    assert [kind for kind, _ in linear.writes] == ["create", "update"]


@pytest.mark.parametrize("flag", ["--skip-tracker", "--skip-linear"])
@pytest.mark.clause("AMB-CCC-05")
def test_a_skip_flag_is_a_skip_with_its_own_name(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, flag: str
) -> None:
    answer = holdfast("checkpoint", *WORK, flag)
    assert f"Linear update skipped ({flag})." in answer.out.splitlines()
    assert answer.out.endswith("Checkpoint complete: 4/4 steps succeeded.\n")
    assert linear.requests == []
    assert "Nothing waits." in holdfast("tracker", "show").out


@pytest.mark.clause("AMB-CCC-05")
@pytest.mark.parametrize("kind", ["auto", "none"])
def test_without_a_tracker_the_step_is_skipped_and_not_failed(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("HOLDFAST_TRACKER_KIND", kind)
    answer = holdfast("checkpoint", *WORK)
    assert "Linear update skipped — no tracker configured." in answer.out.splitlines()
    assert answer.out.endswith("Checkpoint complete: 4/4 steps succeeded.\n")
    assert not STATE.exists()
    assert "Nothing waits." in holdfast("tracker", "show").out
    assert "All quiet." in holdfast("status").out


def test_an_issue_that_is_unknown_is_told_to_nobody(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    assert step_of(holdfast("checkpoint", "--task", "Write", "--json"))["status"] == "skipped"
    assert linear.requests == []


def test_a_name_that_no_tracker_knows_is_told_to_nobody(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    step = step_of(holdfast("checkpoint", "--issue", "fix-quotes", "--task", "Write", "--json"))
    assert step["status"] == "skipped"
    assert "no tracker has an issue fix-quotes" in step["message"]
    assert linear.requests == []
    assert "Nothing waits." in holdfast("tracker", "show").out


def test_the_key_is_neither_on_disk_nor_printed(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    printed = ""
    for fault in (None, faults.status(401, f"bad key {linear.key}"), faults.status(503)):
        if fault is not None:
            linear.fail(fault)
        answer = holdfast("checkpoint", *WORK, "--status", str(fault))
        printed += answer.out + answer.err
    for words in (("tracker", "show"), ("status",), ("doctor",), ("tracker", "sync")):
        answer = holdfast(*words, "--json")
        printed += answer.out + answer.err
    assert linear.requests[0].headers["authorization"] == linear.key
    assert linear.key not in printed
    assert linear.key.encode() not in world.every_byte_under(repository)


def test_a_secret_in_a_decision_does_not_reach_the_issue(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    token = "ghp_" + "a1B2" * 9
    holdfast("checkpoint", *WORK, "--decision", f"Use {token}: it works")
    assert token not in body(linear)
    assert token not in json.dumps([request.document for request in linear.requests])


@pytest.mark.clause("CCC-40", "CCC-48", "CCC-49", "CCC-41")
def test_github_has_one_comment_too(
    repository: Path, holdfast: Holdfast, github: FakeGitHub
) -> None:
    for number in range(3):
        answer = holdfast("checkpoint", *WORK, "--issue", "#12", "--status", f"{number}", "--json")
        assert step_of(answer)["status"] == "ok"
    (comment,) = github.on(12)
    assert github.writes == [(word, comment.id) for word in ("create", "update", "update")]
    assert comment.body.startswith("## Checkpoint Status\n\n**Updated:** ")
    assert state() == {"checkpointCommentId": str(comment.id), "checkpointCommentIssue": "#12"}
    STATE.unlink()
    holdfast("checkpoint", "--status", "the id is lost")
    assert [one.id for one in github.on(12)] == [comment.id]


@pytest.mark.clause("CCC-40")
def test_githubs_sub_issues_too(repository: Path, holdfast: Holdfast, github: FakeGitHub) -> None:
    github.add_issue(13, parent=("example/widgets", 12))
    for status in ("begun", "half"):
        holdfast("checkpoint", *WORK, "--issue", "#13", "--status", status)
    assert github.on(13) == []
    assert len(github.on(12)) == 1


def test_the_newest_of_two_worktrees_wins_and_there_is_one_comment(
    repository: Path,
    holdfast: Holdfast,
    linear: FakeLinear,
    git: Git,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git("worktree", "add", "--quiet", "../other")
    holdfast("checkpoint", *WORK)
    monkeypatch.chdir("../other")
    holdfast("checkpoint", *WORK, "--next", "review it")
    assert field(linear, "Next") == "review it"
