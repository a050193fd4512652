"""GitHub: one comment an issue, though it gives the ids out itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from holdfast.kernel.errors import Usage
from holdfast.trackers.github import LONGEST_BODY, marker_of
from holdfast.trackers.port import TrackerError
from tests.trackers import faults
from tests.trackers.fake_github import OURSELVES, REPOSITORY, FakeGitHub
from tests.trackers.fixtures import github, soon

if TYPE_CHECKING:
    from holdfast.trackers.port import CommentReceipt

KEY = "workspace/session"
WRITERS = 16


def upsert(server: FakeGitHub, body: str, comment: str = "", issue: str = "#12") -> CommentReceipt:
    return github(server).upsert(issue, body, comment=comment, key=KEY, deadline=soon())


def ours(server: FakeGitHub, number: int = 12, repository: str = REPOSITORY) -> list[str]:
    """What our comments on an issue say, without the marker."""
    comments = server.on(number, repository)
    return [one.body.split("\n\n")[0] for one in comments if one.author == OURSELVES]


@pytest.mark.clause("CCC-40", "CCC-48", "CCC-49")
def test_two_checkpoints_are_one_create_and_one_update(github_server: FakeGitHub) -> None:
    first = upsert(github_server, "one")
    before = len(github_server.requests)
    second = upsert(github_server, "two", first["comment"])

    id = int(first["comment"])
    assert github_server.writes == [("create", id), ("update", id)]
    # A look at the comment, and the change.
    assert len(github_server.requests) == before + 2
    assert ours(github_server) == ["two"]
    assert (first["created"], second["created"]) == (True, False)
    assert (first["issue"], second["issue"]) == ("#12", "#12")
    assert first["url"] == f"https://github.com/{REPOSITORY}/issues/12#issuecomment-{id}"


def test_a_stored_id_of_a_comment_that_is_not_ours_changes_nothing_there(
    github_server: FakeGitHub,
) -> None:
    """A cloned file can hold any id, and the user's key may edit any comment of the user's."""
    github_server.add_issue(13)
    own = [github_server.add_comment(number, "my own words", OURSELVES) for number in (12, 13)]
    marked = github_server.add_comment(13, f"other issue\n\n{marker_of(KEY)}", OURSELVES)
    for foreign in [*own, marked]:
        receipt = upsert(github_server, "status", str(foreign.id))
        assert receipt["comment"] != str(foreign.id)
    assert [one.body for one in own] == ["my own words", "my own words"]
    assert marked.body.startswith("other issue")
    assert ours(github_server).count("status") == 1


@pytest.mark.clause("CCC-49", "CCC-67")
def test_the_status_comment_of_another_tool_is_updated(github_server: FakeGitHub) -> None:
    theirs = github_server.add_comment(12, "## Checkpoint Status\n\nold", OURSELVES)
    receipt = upsert(github_server, "status", str(theirs.id))
    assert (receipt["comment"], receipt["created"]) == (str(theirs.id), False)
    assert ours(github_server) == ["status"]
    assert upsert(github_server, "later")["comment"] == str(theirs.id), "found without the id, too"


def test_the_marker_is_the_last_line_and_not_seen_on_the_page(github_server: FakeGitHub) -> None:
    upsert(github_server, "## Checkpoint Status\n\nWell.\n")
    [comment] = github_server.on(12)
    assert comment.body == f"## Checkpoint Status\n\nWell.\n\n{marker_of(KEY)}"
    assert KEY not in marker_of(KEY)


@pytest.mark.parametrize("pages", [1, 3])
def test_an_answer_lost_twice_leaves_one_comment(github_server: FakeGitHub, pages: int) -> None:
    for number in range(100 * (pages - 1)):
        github_server.add_comment(12, f"talk {number}")
    github_server.fail(faults.lost_answer(), on="POST")
    github_server.fail(faults.lost_answer(), on="PATCH")
    for _ in range(2):
        with pytest.raises(TrackerError, match="unreachable"):
            upsert(github_server, "one")

    receipt = upsert(github_server, "two")

    assert ours(github_server) == ["two"]
    assert not receipt["created"]


def test_sixteen_writers_at_once_leave_one_comment(github_server: FakeGitHub) -> None:
    receipts: list[CommentReceipt] = []
    start = threading.Barrier(WRITERS)

    def write(number: int) -> None:
        start.wait()
        receipts.append(upsert(github_server, f"body {number}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(receipts) == WRITERS
    assert len(github_server.on(12)) == 1
    assert {receipt["comment"] for receipt in receipts} == {str(github_server.on(12)[0].id)}


def test_what_an_interrupted_race_left_is_cleaned_up(github_server: FakeGitHub) -> None:
    """Two writers created and died before they looked again."""
    for body in ("one", "two"):
        github_server.add_comment(12, f"{body}\n\n{marker_of(KEY)}", OURSELVES)
    upsert(github_server, "three")
    assert ours(github_server) == ["three"]


@pytest.mark.clause("AMB-CCC-11")
def test_a_deleted_comment_is_made_again_and_its_id_overwritten(github_server: FakeGitHub) -> None:
    first = upsert(github_server, "one")["comment"]
    del github_server.comments[int(first)]

    second = upsert(github_server, "two", first)

    assert second["created"]
    assert second["comment"] != first
    assert ours(github_server) == ["two"]


def test_a_quoted_marker_or_a_strangers_copy_is_left_alone(github_server: FakeGitHub) -> None:
    marker = marker_of(KEY)
    strange = [f"> quoted\n>\n> {marker}", f"mine now\n\n{marker}", f"see {marker}"]
    for body in strange:
        github_server.add_comment(12, body)

    first = upsert(github_server, "one")
    github_server.add_comment(12, strange[1])
    upsert(github_server, "two")

    assert first["created"]
    assert ours(github_server) == ["two"]
    bodies = [one.body for one in github_server.on(12)]
    assert (bodies[:3], bodies[4]) == (strange, strange[1])


@pytest.mark.clause("CCC-40")
def test_a_sub_issue_is_told_on_its_parent(github_server: FakeGitHub) -> None:
    github_server.add_issue(13, parent=(REPOSITORY, 12))
    first = upsert(github_server, "one", issue="#13")
    second = upsert(github_server, "two", first["comment"], issue="#13")
    assert (first["issue"], second["issue"]) == (f"{REPOSITORY}#12", f"{REPOSITORY}#12")
    assert ours(github_server) == ["two"]
    assert ours(github_server, 13) == []


def test_a_parent_in_another_repository_is_found_again(github_server: FakeGitHub) -> None:
    github_server.add_issue(5, "example/plans")
    github_server.add_issue(13, parent=("example/plans", 5))
    first = upsert(github_server, "one", issue="#13")
    second = upsert(github_server, "two", first["comment"], issue="#13")
    assert first["comment"].startswith("example/plans:")
    assert second["comment"] == first["comment"]
    assert second["issue"] == "example/plans#5"
    assert ours(github_server, 5, "example/plans") == ["two"]


def test_a_server_without_sub_issues_will_do(github_server: FakeGitHub) -> None:
    github_server.has_sub_issues = False
    assert upsert(github_server, "one")["created"]


def test_an_issue_of_another_repository_can_be_named(github_server: FakeGitHub) -> None:
    github_server.add_issue(7, "example/other.repo")
    receipt = upsert(github_server, "one", issue="example/other.repo#7")
    assert receipt["issue"] == "example/other.repo#7"
    assert ours(github_server, 7, "example/other.repo") == ["one"]


@pytest.mark.parametrize("stored", ["../../user:1", "0", "1/../2", "ab-cd", "x:1", "1?x=y"])
def test_an_id_that_cannot_be_githubs_never_reaches_an_address(
    github_server: FakeGitHub, stored: str
) -> None:
    assert upsert(github_server, "one", stored)["created"]
    assert [request.method for request in github_server.requests] == ["GET", "GET", "POST", "GET"]


def test_what_is_too_long_is_cut_and_says_so(github_server: FakeGitHub) -> None:
    upsert(github_server, "x" * 100_000)
    upsert(github_server, "y" * 100_000)
    [comment] = github_server.on(12)
    assert len(comment.body) == LONGEST_BODY
    assert "(The rest did not fit.)" in comment.body


def test_a_missing_issue_and_a_deleted_one_are_told_apart(github_server: FakeGitHub) -> None:
    github_server.add_issue(14)
    github_server.gone.add((REPOSITORY, 14))
    with pytest.raises(TrackerError) as missing:
        upsert(github_server, "one", issue="#99")
    with pytest.raises(TrackerError) as gone:
        upsert(github_server, "one", issue="#14")
    assert (missing.value.kind, missing.value.message) == (
        "tracker_not_found",
        "HTTP 404: Not Found",
    )
    assert (gone.value.kind, gone.value.message) == (
        "tracker_refused",
        "HTTP 410: This issue was deleted",
    )


def test_a_refusal_says_what_was_wrong(github_server: FakeGitHub) -> None:
    message = '{"message": "Validation Failed", "errors": [{"code": "custom", "message": "no"}]}'
    github_server.fail(faults.raw(message.encode(), 422), on="POST")
    with pytest.raises(TrackerError) as refused:
        upsert(github_server, "one")
    assert refused.value.message == "HTTP 422: Validation Failed (no)"
    assert not refused.value.retryable


def test_a_moved_repository_is_followed_on_the_same_host_only(github_server: FakeGitHub) -> None:
    stored = upsert(github_server, "one")["comment"]
    place = f"{github_server.origin}/repos/{REPOSITORY}/issues/comments/{stored}"
    github_server.fail(faults.redirect(place), on="PATCH")
    assert upsert(github_server, "two", stored)["comment"] == stored
    github_server.fail(faults.redirect("https://elsewhere.invalid/"), on="PATCH")
    with pytest.raises(TrackerError, match="redirected to another host"):
        upsert(github_server, "three", stored)
    github_server.fail(faults.redirect(place), times=9, on="PATCH")
    with pytest.raises(TrackerError, match="too many redirects"):
        upsert(github_server, "four", stored)
    assert ours(github_server) == ["two"]


def test_an_issue_without_a_repository_is_asked_about(github_server: FakeGitHub) -> None:
    tracker = github(github_server)
    tracker._repository = ""
    with pytest.raises(Usage, match="Which repository is #12 in"):
        tracker.upsert("#12", "one", comment="", key=KEY, deadline=soon())
