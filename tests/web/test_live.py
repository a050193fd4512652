"""Live pages: what is recorded arrives, once, whatever happens to the connection."""

from __future__ import annotations

import json
import threading

import pytest
from scripts.page_server import Serving

import holdfast
from holdfast.gates import wait
from holdfast.kernel import clock, latch
from holdfast.kernel.workspace import discover
from holdfast.web import page_cache
from holdfast.web.live import MOST_STREAMS
from tests.web.world import Stream, Visitor, World


@pytest.fixture
def notes(world: World) -> holdfast.Workspace:
    """The library, open on the workspace of the page."""
    return holdfast.open(str(world.root))


def numbers(stream: Stream, count: int) -> list[int]:
    return [json.loads(stream.next()["data"])["seq"] for _ in range(count)]


def test_every_record_is_an_event_with_its_sequence(
    world: World, serving: Serving, notes: holdfast.Workspace
) -> None:
    notes.note("before")
    stream = Stream(serving.address, "/records.events?seen=repository:0", serving.cookie())
    first = stream.next()
    assert first["id"] == "repository:1"
    assert json.loads(first["data"])["stream"] == "note:default"
    stream.close()
    notes.close()


def test_after_a_broken_connection_nothing_is_missed_and_nothing_doubled(
    serving: Serving, notes: holdfast.Workspace
) -> None:
    cookie, seen, last = serving.cookie(), [], "repository:0"
    for number in range(5):
        for text in range(7):
            notes.note(f"{number} {text}")
        stream = Stream(serving.address, "/records.events", cookie, last)
        seen += numbers(stream, 4 if number < 4 else 19)
        last = stream.id
        stream.close()
    assert seen == list(range(1, 36))
    notes.close()


def test_a_page_that_is_up_to_date_is_sent_nothing_until_there_is_news(
    world: World, serving: Serving
) -> None:
    world.verify("First", name="first")
    stream = Stream(serving.address, "/board.events", serving.cookie())
    stream.next()
    stream.close()
    again = Stream(serving.address, "/board.events", serving.cookie(), stream.id)
    world.verify("Second", name="second")
    event = again.next()
    assert event["id"].startswith("repository:2/")
    assert "Second" in event["data"]
    again.close()


def test_a_page_that_missed_something_is_sent_the_whole_of_it(
    world: World, serving: Serving
) -> None:
    for number in range(3):
        world.verify(f"Gate {number}", name=f"gate-{number}")
    stream = Stream(serving.address, "/board.events", serving.cookie(), "repository:1")
    event = stream.next()
    assert event["id"].startswith("repository:3/")
    assert all(f"Gate {number}" in event["data"] for number in range(3))
    stream.close()


def test_every_reader_gets_the_token_of_their_own_session(world: World, serving: Serving) -> None:
    world.alert()
    said = []
    for _ in range(2):
        stream = Stream(serving.address, "/board.events", serving.cookie())
        said.append(stream.next()["data"])
        stream.close()
    tokens = {session.csrf for _, session in serving.server.sign_ins._sessions.values()}
    assert {token for token in tokens for text in said if token in text} == tokens


def test_many_readers_of_one_page_share_its_copies(world: World, serving: Serving) -> None:
    world.start("Secondary-A")
    streams = [Stream(serving.address, "/board.events", serving.cookie()) for _ in range(12)]
    for stream in streams:
        stream.next()
    world.beat("Secondary-A", "A step that all see")
    for stream in streams:
        while "A step that all see" not in stream.next()["data"]:
            pass
        stream.close()


def test_an_answer_on_the_page_frees_the_agent_that_waits(world: World, visitor: Visitor) -> None:
    id = world.verify()
    freed: list[str] = []

    def agent() -> None:
        workspace = discover(str(world.root))
        (state,) = wait.wait(workspace, [id], seconds=60)
        freed.append(state["answer"]["answer"] if state["answer"] else "")
        workspace.close()

    thread = threading.Thread(target=agent)
    thread.start()
    visitor.send(f"/w/{world.key}/gates/{id}", answer="approved")
    thread.join(30)
    assert freed == ["approved"]


def test_the_end_leaves_no_thread_and_closes_open_streams(world: World) -> None:
    world.verify()
    before = set(threading.enumerate())
    with Serving([str(world.root)]) as serving:
        stream = Stream(serving.address, "/board.events", serving.cookie())
        stream.next()
    assert set(threading.enumerate()) - before == set()
    assert stream._answer.read() is not None  # the stream has an end
    stream.close()


def test_what_changes_without_a_record_is_sent_too(
    world: World, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop's latch, a file, a cost: the sequence stays, and the page is another one."""
    monkeypatch.setattr(page_cache, "LASTS", 0.1)
    world.verify()
    stream = Stream(serving.address, "/board.events", serving.cookie())
    stream.next()
    stream.close()
    latch.engage(world.workspace, "the bill is too high", by="ada", now=clock.now())
    again = Stream(serving.address, "/board.events", serving.cookie(), stream.id)
    event = again.next()
    assert "the bill is too high" in event["data"]
    assert event["id"].partition("/")[0] == stream.id.partition("/")[0]
    again.close()


def ended(stream: Stream) -> bool:
    """Whether the stream has an end; what came before it is passed over."""
    is_over = stream._answer.read() is not None
    stream.close()
    return is_over


def test_signing_out_ends_every_stream_of_the_session(world: World, serving: Serving) -> None:
    world.verify()
    cookie = serving.cookie()
    streams = [
        Stream(serving.address, path, cookie) for path in ("/board.events", "/records.events")
    ]
    other = Stream(serving.address, "/board.events", serving.cookie())
    token = cookie.partition("=")[2]
    serving.call(lambda: serving.server.sign_ins.leave(token))
    assert all(ended(stream) for stream in streams)
    world.verify("Second", name="second")
    while "Second" not in other.next()["data"]:
        pass
    other.close()


def test_more_pages_than_a_browser_has_connections(world: World, serving: Serving) -> None:
    """Six streams would leave it none to answer with: from the fifth on they are single copies."""
    world.verify()
    cookie = serving.cookie()
    streams = [Stream(serving.address, "/board.events", cookie) for _ in range(MOST_STREAMS)]
    for stream in streams:
        assert "Dashboard" in stream.next()["data"]
    brief = Stream(serving.address, "/board.events", cookie)
    assert "Dashboard" in brief.next()["data"]
    assert brief.next()["event"] == "brief"
    assert ended(brief)
    streams.pop().close()
    world.verify("Second", name="second")
    for stream in streams:
        while "Second" not in stream.next()["data"]:
            pass
        stream.close()


def test_a_title_alone_for_a_tab_in_the_background(world: World, visitor: Visitor) -> None:
    world.verify("<Dashboard> & more")
    assert visitor.get("/board.events?only=title").text == "(1) Board · Holdfast"
    title = visitor.get(f"/w/{world.key}/gates/dashboard.events?only=title").text
    assert title.startswith("<Dashboard> & more · Gate")


def test_a_reader_who_saw_more_than_there_is_now(
    serving: Serving, notes: holdfast.Workspace
) -> None:
    """As after a journal was brought back from a copy."""
    notes.note("before")
    stream = Stream(serving.address, "/records.events", serving.cookie(), "repository:5000")
    line = stream._answer.readline().decode()
    assert line == "id: repository:1\n"
    notes.note("after")
    assert json.loads(stream.next()["data"])["seq"] == 2
    stream.close()
    notes.close()
