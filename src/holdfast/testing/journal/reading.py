"""Reading a stream, many streams, and everything in order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from holdfast.journal.interface import Append
from holdfast.kernel.text import split_words
from holdfast.testing.journal.examples import at, draft, drafts, ids, write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record


def test_a_stream_is_read_from_any_version(journal: Journal) -> None:
    written = write(journal, "note:plan", *drafts(5))
    write(journal, "note:other")

    assert journal.read("note:plan") == written
    assert journal.read("note:plan", after=3) == written[3:]
    assert journal.read("note:plan", after=1, limit=2) == written[1:3]
    assert journal.read("note:plan", limit=0) == []
    assert journal.read("note:plan", after=5) == []


def test_heads_of_many_streams_come_in_one_call(journal: Journal) -> None:
    for name in ("note:b", "agent:2", "note:a", "agent:1", "notebook"):
        write(journal, name, *drafts(2))

    assert [head["stream"] for head in journal.heads("agent:")] == ["agent:1", "agent:2"]
    assert [head["stream"] for head in journal.heads("note:")] == ["note:a", "note:b"]
    assert [head["stream"] for head in journal.heads()] == list(
        split_words("agent:1 agent:2 note:a note:b notebook")
    )
    assert journal.heads("agent:1") == [journal.head("agent:1")]
    assert journal.heads("%") == []


def test_the_newest_streams_come_in_the_order_of_their_records(journal: Journal) -> None:
    for name in ("note:b", "agent:1", "note:a", "note:c"):
        write(journal, name, *drafts(2))
    write(journal, "note:a", draft(when="2096-01-01T00:00:00.000Z"))
    for _ in range(40):
        write(journal, "note:b")
    assert journal.newest("note:", limit=5) == ["note:b", "note:a", "note:c"]
    assert journal.newest("", limit=2) == ["note:b", "note:a"]


def test_the_latest_records_come_newest_first(journal: Journal) -> None:
    a = write(journal, "note:a", draft(kind="noted"), draft(kind="edited"))
    b = write(journal, "note:b", draft(kind="noted"))
    c = write(journal, "agent:c", draft(kind="noted"))

    assert ids(journal.latest()) == ids([*c, *b, a[1], a[0]])
    assert ids(journal.latest(limit=2)) == ids([*c, *b])
    assert ids(journal.latest(stream="note:a")) == ids([a[1], a[0]])
    assert ids(journal.latest(stream="note:*")) == ids([*b, a[1], a[0]])
    assert ids(journal.latest(stream="note:")) == []
    assert ids(journal.latest(kind="noted")) == ids([*c, *b, a[0]])
    assert ids(journal.latest(stream="note:*", kind="noted", limit=1)) == ids(b)
    assert ids(journal.latest(before=b[0]["seq"])) == ids([a[1], a[0]])


def test_a_record_is_found_by_a_prefix_of_its_id(journal: Journal) -> None:
    write(journal, "note:a", *(draft(id=id) for id in ("aab1", "aac1", "aac1x", "b1")))

    assert ids(journal.find("b")) == ["b1"]
    assert ids(journal.find("aa")) == ["aab1", "aac1"]
    assert ids(journal.find("aa", limit=9)) == ["aab1", "aac1", "aac1x"]
    assert ids(journal.find("aac1")) == ["aac1"], "a whole id is not ambiguous"
    assert journal.find("zz") == []


def test_everything_is_followed_in_order_page_by_page(journal: Journal) -> None:
    for name in "abcab":
        write(journal, f"note:{name}", *drafts(3))
    everything = journal.since(0)
    assert len(everything) == 15

    pages: list[Record] = []
    while page := journal.since(pages[-1]["seq"] if pages else 0, limit=4):
        assert len(page) <= 4
        pages += page

    assert pages == everything
    assert [record["seq"] for record in pages] == sorted({record["seq"] for record in pages})


WRITERS, COMMITS = 4, 40


@pytest.mark.parametrize("streams", ["one", "many"])
def test_a_follower_misses_nothing_while_four_threads_commit(
    journal: Journal, streams: str
) -> None:
    finished = threading.Event()
    seen: list[Record] = []

    def follow() -> None:
        last = False
        while not last:
            last = finished.is_set()
            seen.extend(journal.since(seen[-1]["seq"] if seen else 0, limit=7))
        while page := journal.since(seen[-1]["seq"] if seen else 0):
            seen.extend(page)

    def append(writer: int) -> None:
        stream = "note:shared" if streams == "one" else f"note:{writer}"
        for _ in range(COMMITS):
            journal.commit([Append(stream, drafts(2), expected=None)])

    follower = threading.Thread(target=follow)
    writers = [threading.Thread(target=append, args=(number,)) for number in range(WRITERS)]
    for thread in (follower, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    finished.set()
    follower.join()

    assert len(seen) == WRITERS * COMMITS * 2
    assert seen == journal.since(0, limit=len(seen) + 1)


def test_seen_alive_moves_the_head_forward_and_leaves_no_record(journal: Journal) -> None:
    write(journal, "agent:a", draft(when=at(1)))

    def seen_at() -> str:
        head = journal.head("agent:a")
        assert head is not None
        return head["seen_at"]

    assert seen_at() == at(1)
    journal.touch("agent:a", at(5))
    assert seen_at() == at(5)
    journal.touch("agent:a", at(3))
    assert seen_at() == at(5), "a clock that steps back does not make it older"
    assert len(journal.read("agent:a")) == 1
