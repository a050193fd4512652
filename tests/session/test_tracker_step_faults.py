"""Step 3 when the tracker does not do what it should: said, kept, delivered later, never doubled."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.kernel import clock, config
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from holdfast.session import tracker_step
from tests import warm
from tests.dying import die_at
from tests.session import world
from tests.session.world import STATE, WORK, Holdfast, state, step_of
from tests.trackers import faults
from tests.trackers.fake_github import FakeGitHub
from tests.trackers.fake_linear import FakeLinear
from tests.trackers.faults import Fault

holdfast = world.holdfast
linear_server, linear = world.linear_server, world.linear
github_server, github = world.github_server, world.github

LIMIT = faults.linear_rate_limit(retry_after="40")
NOT_FOUND = faults.linear_errors(200, "Entity not found: Issue", {"code": "INPUT_ERROR"})
PARTIAL = faults.linear_errors(200, "Internal error", {"type": "internal error"})
FAULTS = [
    (faults.status(401), "authentication failed"),
    (faults.status(403), "HTTP 403"),
    (faults.status(404), "HTTP 404"),
    (faults.status(429, retry_after="40"), "rate limited, try again in 40 s"),
    (LIMIT, "rate limited, try again in 40 s"),
    (faults.status(500), "HTTP 500"),
    (NOT_FOUND, "Entity not found: Issue"),
    (PARTIAL, "Internal error"),
    (faults.malformed(), "the answer is not JSON"),
    (faults.web_page(502), "HTTP 502"),
]


def report(holdfast: Holdfast, *words: str) -> list[str]:
    answer = holdfast("checkpoint", *words)
    assert answer.code == 0
    return answer.out.splitlines()


@pytest.mark.clause("CCC-51", "CCC-52", "CCC-60", "AMB-CCC-05")
def test_http_503_word_for_word(repository: Path, holdfast: Holdfast, linear: FakeLinear) -> None:
    linear.fail(faults.status(503))
    lines = report(holdfast, *WORK)
    assert lines[-2:] == [
        "Checkpoint complete: 3/4 steps succeeded.",
        "Failed: Linear update (HTTP 503) — status not persisted to issue tracker.",
    ]
    assert "Warning: Linear update: HTTP 503" in lines
    assert any("CONTINUATION PROMPT" in line for line in lines)
    assert not STATE.exists()


@pytest.mark.clause("CCC-51", "CCC-52", "AMB-CCC-05")
@pytest.mark.parametrize(("fault", "cause"), FAULTS, ids=[cause for _, cause in FAULTS])
def test_whatever_it_answers_the_step_fails_alone_and_the_comment_waits(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, fault: Fault, cause: str
) -> None:
    linear.fail(fault)
    lines = report(holdfast, *WORK)
    assert lines[-2:] == [
        "Checkpoint complete: 3/4 steps succeeded.",
        f"Failed: Linear update ({cause}) — status not persisted to issue tracker.",
    ]
    assert f"Warning: Linear update: {cause}" in lines
    (waiting,) = holdfast("tracker", "show", "--json").data["waiting"]
    assert (waiting["key"], waiting["error"]) == ("ENG-12", cause)
    assert "1 effect could not be delivered yet" in holdfast("status").out
    assert holdfast("tracker", "sync").code == 0
    assert len(linear.on("ENG-12")) == 1


@pytest.mark.clause("CCC-51")
def test_nobody_there_is_a_warning_on_standard_output(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_TRACKER_LINEAR_URL", "http://127.0.0.1:9/graphql")
    lines = report(holdfast, *WORK)
    (warning,) = [line for line in lines if line.startswith("Warning: ")]
    assert warning.startswith("Warning: Linear update: unreachable")
    assert lines[-1].startswith("Failed: Linear update (unreachable")


def test_the_newest_body_wins_and_sync_delivers_it(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.fail(faults.status(503), times=3)
    for action in ("one", "two", "three"):
        report(holdfast, *WORK, "--next", action)
    (waiting,) = holdfast("tracker", "show", "--json").data["waiting"]
    assert "**Next:** three" in waiting["body"]["body"]
    answer = holdfast("tracker", "sync")
    assert (answer.code, answer.out) == (0, "Delivered 1 comment.\n")
    (comment,) = linear.on("ENG-12")
    assert "**Next:** three" in comment.body
    assert state()["checkpointCommentId"] == comment.id
    assert "Nothing waits." in holdfast("tracker", "show").out
    assert holdfast("tracker", "sync").out == "Delivered 0 comments.\n"


def test_a_sync_that_fails_says_so_and_does_not_put_the_next_try_off(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.fail(faults.status(503), times=2)
    report(holdfast, *WORK)
    answer = holdfast("tracker", "sync")
    assert answer.code == 1
    assert "Not delivered: ENG-12 (HTTP 503)" in answer.out
    (waiting,) = holdfast("tracker", "show", "--json").data["waiting"]
    assert clock.parse(waiting["due_at"]) < clock.now() + clock.HOUR


def test_a_sync_writes_nothing_of_the_future(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.fail(faults.status(503))
    report(holdfast, *WORK)
    holdfast("tracker", "sync")
    for record in holdfast("history", "--json").data["records"]:
        assert clock.parse(record["at"]) <= clock.now()


def test_a_rate_limit_is_waited_for(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.fail(faults.linear_rate_limit(retry_after="2000"))
    begun = clock.now()
    report(holdfast, *WORK)
    (waiting,) = holdfast("tracker", "show", "--json").data["waiting"]
    assert clock.parse(waiting["due_at"]) >= begun + 2_000_000
    asked = len(linear.requests)
    workspace = discover()
    tracker_step.deliver(workspace, open_writer(workspace), config.load(workspace), clock.now())
    assert len(linear.requests) == asked


def test_what_failed_for_one_issue_is_delivered_with_the_next_checkpoint_of_another(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the state file names the comment of the issue that is worked on."""
    linear.add_issue("ENG-13")
    linear.fail(faults.status(503))
    report(holdfast, *WORK)
    later = clock.now() + clock.HOUR
    monkeypatch.setattr(clock, "now", lambda: later)
    report(holdfast, *WORK, "--issue", "ENG-13")
    assert len(linear.on("ENG-12")) == len(linear.on("ENG-13")) == 1
    assert state()["checkpointCommentIssue"] == "ENG-13"
    assert state()["checkpointCommentId"] == linear.on("ENG-13")[0].id


@pytest.mark.clause("CCC-40")
def test_a_lost_answer_leaves_one_comment(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.fail(faults.lost_answer(), on="commentCreate")
    lines = report(holdfast, *WORK)
    assert "status not persisted to issue tracker" in lines[-1]
    assert len(linear.on("ENG-12")) == 1
    assert not STATE.exists()
    report(holdfast, *WORK, "--next", "again")
    (comment,) = linear.on("ENG-12")
    assert "**Next:** again" in comment.body
    assert state()["checkpointCommentId"] == comment.id


@pytest.mark.clause("CCC-40")
def test_a_lost_answer_of_githubs_leaves_one_comment(
    repository: Path, holdfast: Holdfast, github: FakeGitHub
) -> None:
    github.fail(faults.lost_answer(), on="POST")
    report(holdfast, *WORK, "--issue", "#12")
    assert not STATE.exists()
    report(holdfast, *WORK, "--issue", "#12", "--next", "again")
    (comment,) = github.on(12)
    assert "**Next:** again" in comment.body
    assert state()["checkpointCommentId"] == str(comment.id)


@pytest.mark.parametrize("fault", [faults.status(403), faults.status(503), faults.malformed()])
def test_githubs_faults_wait_too(
    repository: Path, holdfast: Holdfast, github: FakeGitHub, fault: Fault
) -> None:
    github.fail(fault)
    assert step_of(holdfast("checkpoint", *WORK, "--issue", "#12", "--json"))["status"] == "failed"
    assert holdfast("tracker", "sync").code == 0
    assert len(github.on(12)) == 1


@pytest.mark.clause("CCC-52")
def test_a_hung_connection_ends_with_the_budget(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tracker_step.PATIENCE_SECONDS == 5.0
    budget = 0.5
    monkeypatch.setattr(tracker_step, "PATIENCE_SECONDS", budget)
    linear.fail(faults.hang(), times=100)
    begun = time.monotonic()
    lines = report(holdfast, *WORK)
    spent = time.monotonic() - begun
    linear.stopping.set()
    assert budget <= spent < world.PATIENCE
    assert lines[-1].startswith("Failed: Linear update (unreachable")
    assert any("CONTINUATION PROMPT" in line for line in lines)


@pytest.mark.clause("CCC-40", "CCC-48")
@pytest.mark.parametrize("point", ["after commenting", "before storing the comment"])
def test_killed_between_the_comment_and_the_record_of_its_id(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, point: str
) -> None:
    die_at(point, "checkpoint", *WORK)
    (made,) = linear.on("ENG-12")
    assert not STATE.exists()
    answer = holdfast("checkpoint", *WORK, "--next", "after the crash")
    assert answer.out.endswith("Checkpoint complete: 4/4 steps succeeded.\n")
    (comment,) = linear.on("ENG-12")
    assert comment.id == made.id == state()["checkpointCommentId"]
    assert "**Next:** after the crash" in comment.body


@pytest.mark.clause("CCC-40", "CCC-48")
def test_killed_between_githubs_comment_and_the_record_of_its_id(
    repository: Path, holdfast: Holdfast, github: FakeGitHub
) -> None:
    die_at("after commenting", "checkpoint", *WORK, "--issue", "#12")
    assert len(github.on(12)) == 1
    assert holdfast("tracker", "sync").code == 0
    (comment,) = github.on(12)
    assert state()["checkpointCommentId"] == str(comment.id)


def test_six_checkpoints_at_once_leave_one_comment_and_none_fails(
    repository: Path, linear: FakeLinear
) -> None:
    words = [sys.executable, "-m", "holdfast", "checkpoint", *WORK, "--skip-git", "--json"]
    all = [
        warm.start([*words, "--status", f"of {number}"], stdout=subprocess.PIPE)
        for number in range(6)
    ]
    for process in all:
        output, _ = process.communicate(timeout=world.PATIENCE)
        assert [step["cause"] for step in json.loads(output)["data"]["steps"]] == [""] * 4
    (comment,) = linear.on("ENG-12")
    assert state()["checkpointCommentId"] == comment.id
