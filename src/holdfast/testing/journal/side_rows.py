"""What stands beside the records: views, effects, refusals that hold a secret, and small values."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from holdfast.journal.interface import Append
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import StreamClosed, VersionConflict
from holdfast.testing.journal.examples import at, draft, drafts, effect, view, write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


def test_views_and_effects_are_stored_with_the_records(journal: Journal) -> None:
    row, queued = view(), effect(body={"text": "done"})

    journal.commit([Append("note:plan", drafts(1), expected=0)], views=[row], effects=[queued])

    assert journal.views() == [row]
    assert journal.effects() == [queued]


def test_views_can_be_stored_without_a_record(journal: Journal) -> None:
    assert journal.commit([], views=[view()]) == []
    assert journal.views() == [view()]


def test_a_refused_write_stores_no_views_and_no_effects(journal: Journal) -> None:
    write(journal, "note:plan")

    with pytest.raises(VersionConflict):
        journal.commit(
            [Append("note:plan", drafts(1), expected=0)], views=[view()], effects=[effect()]
        )

    assert journal.views() == []
    assert journal.effects() == []


def test_a_view_is_known_by_worktree_and_path(journal: Journal) -> None:
    journal.commit([], views=[view(worktree="/a"), view(worktree="/b")])
    journal.commit([], views=[view(worktree="/a", digest="bb")])
    other = view("x.md", worktree="/a")
    other["stream"], other["removed"] = "note:x", True

    journal.commit([], views=[other])

    known = {(row["worktree"], row["path"]): row["digest"] for row in journal.views()}
    assert known == {
        ("/a", ".notes/plan.md"): "bb",
        ("/a", "x.md"): "aa",
        ("/b", ".notes/plan.md"): "aa",
    }
    assert journal.views(worktree="/a", stream="note:x") == [other]
    assert len(journal.views(stream="note:plan")) == 2
    assert journal.views(worktree="/c") == []


def test_of_effects_with_one_key_the_newest_wins(journal: Journal) -> None:
    first, second = effect("issue-1", body=1), effect("issue-1", body=2)
    other_key, other_kind = effect("issue-2"), effect("issue-1", kind="notify")
    journal.commit([], effects=[first, other_key, other_kind])

    journal.commit([], effects=[second])

    waiting = {one["id"] for one in journal.effects()}
    assert waiting == {second["id"], other_key["id"], other_kind["id"]}


def test_effects_are_listed_when_due_and_soonest_first(journal: Journal) -> None:
    late, soon = effect("late", due=at(9)), effect("soon", due=at(1))
    journal.commit([], effects=[late, soon])

    assert journal.effects() == [soon, late]
    assert journal.effects(due=at(0)) == []
    assert journal.effects(due=at(1)) == [soon]
    assert journal.effects(due=at(99), limit=1) == [soon]


def test_an_effect_is_claimed_by_one_until_the_claim_lapses(journal: Journal) -> None:
    queued = effect(due=at(0))
    journal.commit([], effects=[queued])

    assert journal.claim(queued["id"], now=at(0), until=at(1))
    assert not journal.claim(queued["id"], now=at(0), until=at(1))
    assert journal.effects(due=at(0)) == []
    assert journal.claim(queued["id"], now=at(1), until=at(2)), "its claimant died"
    assert journal.effects()[0]["attempts"] == 2
    assert not journal.claim("unknown", now=at(9), until=at(10))


def test_of_eight_claimants_at_once_one_gets_it(journal: Journal) -> None:
    queued = effect(due=at(0))
    journal.commit([], effects=[queued])
    start = threading.Barrier(8, timeout=30)
    answers: list[bool] = []

    def claim() -> None:
        start.wait()
        answers.append(journal.claim(queued["id"], now=at(0), until=at(1)))

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == [False] * 7 + [True]


def test_a_settled_effect_is_gone_or_waits_with_its_error(journal: Journal) -> None:
    done, failed = effect("done"), effect("failed")
    journal.commit([], effects=[done, failed])

    journal.settle(done["id"])
    journal.settle(failed["id"], error="HTTP 503", due_at=at(5))

    [waiting] = journal.effects()
    assert (waiting["id"], waiting["error"], waiting["due_at"]) == (failed["id"], "HTTP 503", at(5))
    journal.settle("unknown")
    journal.settle("unknown", error="nobody", due_at=at(5))
    assert len(journal.effects()) == 1


SECRETS = {
    "plain": "hunter2hunter2",
    "quoted": 'pass"word\\one',
    "lines": "-----BEGIN\nMIIB\n-----END",
    "umlaut": "pässword",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_scrubbed_from_what_waits_and_what_was_refused(
    journal: Journal, secret: str
) -> None:
    queued, other = effect("a", body={"text": f"use {secret} here"}), effect("b", body="harmless")
    journal.commit([], effects=[queued, other])
    journal.settle(other["id"], error=f"refused: {secret}", due_at=at(0))
    write(journal, "note:plan")
    journal.end("note:plan", at(0))
    with pytest.raises(StreamClosed):
        write(journal, "note:plan", draft({"text": f"say {secret}"}))

    assert journal.scrub(secret, "[purged]") == 3

    left = canonical_json.dumps([journal.effects(), journal.refusals()])
    assert "hunter2" not in left
    for spelling in (secret, canonical_json.dumps(secret)[1:-1]):
        assert spelling not in left
    assert {one["key"]: (one["body"], one["error"]) for one in journal.effects()} == {
        "a": ({"text": "use [purged] here"}, ""),
        "b": ("harmless", "refused: [purged]"),
    }
    [refused] = journal.refusals()[0]["drafts"]
    assert refused["body"] == {"text": "say [purged]"}
    assert canonical_json.loads(refused["text"]) == refused["body"]


def test_scrubbing_what_is_not_there_changes_nothing(journal: Journal) -> None:
    queued = effect(body={"text": "harmless"})
    journal.commit([], effects=[queued])

    assert journal.scrub("hunter2hunter2", "[purged]") == 0
    assert journal.effects() == [queued]


def test_small_values_are_put_and_got(journal: Journal) -> None:
    assert journal.get("config:/w") is None

    journal.put("config:/w", "one")
    journal.put("config:/w", "two")

    assert journal.get("config:/w") == "two"
    assert journal.get("config:/v") is None
