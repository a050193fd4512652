"""Linear: one comment an issue, whatever happens on the way."""

from __future__ import annotations

import json
import threading
import uuid
from typing import TYPE_CHECKING

import pytest

from holdfast.trackers.linear import comment_id
from holdfast.trackers.port import TrackerError
from tests.trackers import faults
from tests.trackers.fake_linear import LINEAR_OAUTH_TOKEN, Comment, FakeLinear, issue_uuid
from tests.trackers.fixtures import linear, soon

if TYPE_CHECKING:
    from holdfast.trackers.port import CommentReceipt

KEY = "workspace/session"
WRITERS = 16


def upsert(
    server: FakeLinear, body: str, comment: str = "", issue: str = "ENG-12"
) -> CommentReceipt:
    return linear(server).upsert(issue, body, comment=comment, key=KEY, deadline=soon())


@pytest.mark.clause("CCC-40", "CCC-48", "CCC-49")
def test_two_checkpoints_are_one_create_and_one_update(linear_server: FakeLinear) -> None:
    first = upsert(linear_server, "one")
    second = upsert(linear_server, "two", first["comment"])

    assert linear_server.writes == [("create", first["comment"]), ("update", first["comment"])]
    assert [comment.body for comment in linear_server.on("ENG-12")] == ["two"]
    assert (first["created"], second["created"]) == (True, False)
    assert second == {**first, "created": False}
    assert first["issue"] == "ENG-12"
    assert first["url"].startswith("https://linear.app/")


def test_a_stored_comment_costs_two_requests(linear_server: FakeLinear) -> None:
    first = upsert(linear_server, "one")
    before = len(linear_server.requests)
    upsert(linear_server, "two", first["comment"])
    assert len(linear_server.requests) == before + 2


def test_a_stored_id_of_a_comment_that_is_not_ours_changes_nothing_there(
    linear_server: FakeLinear,
) -> None:
    """A cloned file can hold any id, and the user's key may edit any comment of the user's."""
    linear_server.add_issue("ENG-13")
    elsewhere = upsert(linear_server, "our words there", issue="ENG-13")["comment"]
    foreign = "0d0ecabb-7a4c-4a7c-9f3a-0d6a9f2d7b11"
    linear_server.comments[foreign] = Comment(foreign, "ENG-12", "my own words")
    for stored in (foreign, elsewhere):
        assert upsert(linear_server, "status", stored)["comment"] not in (foreign, elsewhere)
    assert linear_server.comments[foreign].body == "my own words"
    assert linear_server.comments[elsewhere].body == "our words there"


@pytest.mark.clause("CCC-49", "CCC-67")
def test_the_status_comment_of_another_tool_is_updated(linear_server: FakeLinear) -> None:
    theirs = "0d0ecabb-7a4c-4a7c-9f3a-0d6a9f2d7b11"
    linear_server.comments[theirs] = Comment(theirs, "ENG-12", "## Checkpoint Status\n\nold")
    receipt = upsert(linear_server, "status", theirs)
    assert (receipt["comment"], receipt["created"]) == (theirs, False)
    assert [one.body for one in linear_server.on("ENG-12")] == ["status"]


@pytest.mark.clause("CCC-50")
def test_without_a_stored_id_create_is_asked_and_the_comment_is_found(
    linear_server: FakeLinear,
) -> None:
    first = upsert(linear_server, "one")
    again = upsert(linear_server, "two", "")

    asked = [linear_server.word(request) for request in linear_server.requests]
    assert asked == ["issue", "commentCreate", "issue", "commentCreate", "commentUpdate"]
    assert again["comment"] == first["comment"]
    assert [comment.body for comment in linear_server.on("ENG-12")] == ["two"]


@pytest.mark.parametrize("error_status", [200, 400])
def test_sixteen_writers_at_once_leave_one_comment(
    linear_server: FakeLinear, error_status: int
) -> None:
    linear_server.error_status = error_status
    receipts: list[CommentReceipt] = []
    start = threading.Barrier(WRITERS)

    def write(number: int) -> None:
        start.wait()
        receipts.append(upsert(linear_server, f"body {number}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(receipts) == WRITERS
    assert len({receipt["comment"] for receipt in receipts}) == 1
    assert [receipt["created"] for receipt in receipts].count(True) == 1
    assert len(linear_server.on("ENG-12")) == 1


def test_an_answer_lost_twice_leaves_one_comment(linear_server: FakeLinear) -> None:
    linear_server.fail(faults.lost_answer(), on="commentCreate")
    linear_server.fail(faults.lost_answer(), on="commentUpdate")
    for _ in range(2):
        with pytest.raises(TrackerError, match="unreachable: the connection broke off") as lost:
            upsert(linear_server, "one")
        assert lost.value.retryable

    receipt = upsert(linear_server, "two")

    assert [comment.body for comment in linear_server.on("ENG-12")] == ["two"]
    assert receipt["comment"] == linear_server.on("ENG-12")[0].id


@pytest.mark.clause("AMB-CCC-11")
@pytest.mark.parametrize("ids_are_free", [True, False])
def test_a_deleted_comment_is_made_again_and_its_id_overwritten(
    linear_server: FakeLinear, ids_are_free: bool
) -> None:
    linear_server.deleted_ids_are_free = ids_are_free
    stored = ""
    for body in ("one", "two", "three", "four", "five", "six", "seven"):
        stored = upsert(linear_server, body, stored)["comment"]
        assert [comment.id for comment in linear_server.on("ENG-12")] == [stored]
        linear_server.delete_comment(stored)
    assert len({id for _, id in linear_server.writes}) == (1 if ids_are_free else 7)


def test_a_writer_who_does_not_know_of_the_deletion_finds_the_new_comment(
    linear_server: FakeLinear,
) -> None:
    first = upsert(linear_server, "one")["comment"]
    linear_server.delete_comment(first)
    second = upsert(linear_server, "two", first)["comment"]

    assert upsert(linear_server, "three", first)["comment"] == second
    assert upsert(linear_server, "four", "")["comment"] == second
    assert [comment.body for comment in linear_server.on("ENG-12")] == ["four"]


@pytest.mark.clause("CCC-40")
def test_a_sub_issue_is_told_on_its_parent(linear_server: FakeLinear) -> None:
    linear_server.add_issue("ENG-13", parent="ENG-12")
    linear_server.add_issue("ENG-14", parent="ENG-12")

    first = upsert(linear_server, "one", issue="ENG-13")
    second = upsert(linear_server, "two", first["comment"], issue="ENG-13")
    third = upsert(linear_server, "three", issue="ENG-14")

    assert {first["issue"], second["issue"], third["issue"]} == {"ENG-12"}
    assert [comment.body for comment in linear_server.on("ENG-12")] == ["three"]
    assert linear_server.on("ENG-13") == []


def test_a_parent_that_cannot_be_read_is_not_an_absent_one(linear_server: FakeLinear) -> None:
    """Partial data: the issue came, its parent did not."""
    body = (
        b'{"data": {"issue": {"id": "x", "identifier": "ENG-12", "parent": null}}, "errors":'
        b' [{"message": "lock timeout", "path": ["issue", "parent"],'
        b' "extensions": {"type": "lock timeout"}}]}'
    )
    linear_server.fail(faults.raw(body))
    with pytest.raises(TrackerError, match="lock timeout") as failed:
        upsert(linear_server, "one")
    assert failed.value.retryable
    assert linear_server.writes == []


def test_errors_beside_a_whole_result_do_no_harm(linear_server: FakeLinear) -> None:
    stored = upsert(linear_server, "one")["comment"]
    comment = {"id": stored, "issue": None}
    body = json.dumps(
        {
            "data": {"commentUpdate": {"success": True, "comment": comment}},
            "errors": [{"message": "internal error"}],
        }
    )
    linear_server.fail(faults.raw(body.encode()), on="commentUpdate")
    receipt = upsert(linear_server, "two", stored)
    assert receipt == {"comment": stored, "issue": "ENG-12", "created": False, "url": ""}


def test_an_unknown_issue_is_named_as_linear_names_it(linear_server: FakeLinear) -> None:
    with pytest.raises(TrackerError) as missing:
        upsert(linear_server, "one", issue="ENG-99")
    assert missing.value.message == "Entity not found: Issue"
    assert missing.value.kind == "tracker_not_found"
    assert not missing.value.retryable


def test_an_oauth_token_goes_as_bearer_and_a_personal_key_alone(
    linear_server: FakeLinear,
) -> None:
    upsert(linear_server, "one")
    assert linear_server.requests[-1].headers["authorization"] == linear_server.key
    linear_server.key = LINEAR_OAUTH_TOKEN
    upsert(linear_server, "two")
    assert linear_server.requests[-1].headers["authorization"] == f"Bearer {LINEAR_OAUTH_TOKEN}"


def test_the_chosen_id_is_a_uuid_of_version_4_that_follows_from_its_parts() -> None:
    issue = issue_uuid("ENG-12")
    ids = {comment_id(key, issue, generation) for key in ("a", "b", "") for generation in range(3)}
    assert len(ids) == 9
    assert all(uuid.UUID(id).version == 4 for id in ids)
    assert comment_id("a", issue, 0) == comment_id("a", issue, 0)
    assert comment_id("a", issue, 0) != comment_id("a", issue_uuid("ENG-13"), 0)


def test_any_text_arrives_as_it_was(linear_server: FakeLinear) -> None:
    body = 'Zeichen äöü, emoji 🪸, مرحبا, "quotes", \\ and \u0000 too'
    upsert(linear_server, body)
    upsert(linear_server, "half a surrogate: \udcff", linear_server.on("ENG-12")[0].id)
    assert linear_server.on("ENG-12")[0].body == "half a surrogate: ?"
