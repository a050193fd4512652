"""A journal that is gone, unreadable or damaged is said to be so: it never looks like "nothing to do"."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from scripts.page_server import Serving

from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import clock, inbox
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import NotFound, StoreAway
from holdfast.kernel.workspace import discover
from holdfast.web import background
from holdfast.web.workspaces import opened_to_read
from tests.web.world import Stream, Visitor, World

PAGES = ("/board", "/work", "/fleet", "/budget", "/history")


def moved(world: World) -> None:
    os.rename(world.workspace.home, f"{world.workspace.home}-away")


def put_in_inbox(world: World) -> None:
    queued: inbox.Queued = {
        "id": new_id(),
        "stream": "note:default",
        "command": {"do": "note", "text": "waits"},
        "actor": "codex",
        "fence": None,
        "at": clock.precise(clock.now()),
    }
    inbox.put(world.workspace, queued)


def removed(world: World) -> None:
    shutil.rmtree(world.root)


def overwritten(world: World) -> None:
    size = os.path.getsize(world.workspace.journal_path)
    with open(world.workspace.journal_path, "r+b") as file:
        file.write(os.urandom(max(size, 65_536)))
    for ending in ("-wal", "-shm"):
        Path(world.workspace.journal_path + ending).unlink(missing_ok=True)


def emptied(world: World) -> None:
    for ending in ("-wal", "-shm"):
        Path(world.workspace.journal_path + ending).unlink(missing_ok=True)
    os.truncate(world.workspace.journal_path, 0)


@pytest.mark.parametrize("damage", [moved, removed, overwritten, emptied])
def test_what_cannot_be_read_is_said_on_every_page(
    world: World, visitor: Visitor, damage: Callable[[World], None]
) -> None:
    id = world.verify()
    gate = f"/w/{world.key}/gates/{id}"
    csrf = visitor.token()
    for path in (*PAGES, gate):
        assert visitor.get(path).status_code == 200
        assert "is away" not in visitor.get(path).text
    world.workspace.close()
    damage(world)
    for path in PAGES:
        assert "is away" in visitor.get(path).text, path
    assert "Nothing waits for you." not in visitor.get("/board").text
    seen = visitor.get(gate)
    assert (seen.status_code, "retry-after" in seen.headers) == (503, True)
    assert 'id="note"' not in seen.text
    assert visitor.get(f"{gate}.json").status_code == 503
    assert visitor.send(gate, csrf=csrf, answer="approved", note="fine").status_code == 503


def test_an_open_gate_says_it_while_it_is_open(world: World, serving: Serving) -> None:
    id = world.verify()
    stream = Stream(serving.address, f"/w/{world.key}/gates/{id}.events", serving.cookie())
    assert 'id="note"' in stream.next()["data"]
    moved(world)
    said = stream.next()["data"]
    assert "is away" in said
    assert 'id="note"' not in said
    os.rename(f"{world.workspace.home}-away", world.workspace.home)
    assert 'id="note"' in stream.next()["data"]
    stream.close()


def test_to_look_is_not_to_write(world: World, visitor: Visitor) -> None:
    world.verify()
    world.workspace.close()
    emptied(world)
    for path in (*PAGES, "/doctor"):
        visitor.get(path)
    assert os.path.getsize(world.workspace.journal_path) == 0


def test_no_new_journal_begins_where_one_is_missed(world: World, visitor: Visitor) -> None:
    """Neither what waits in an inbox nor a stranger's attempt."""
    id = world.verify()
    visitor.get("/board")
    moved(world)
    put_in_inbox(world)
    visitor.client.cookies.clear()
    assert (
        visitor.send(f"/w/{world.key}/gates/{id}", csrf="x", answer="approved").status_code == 401
    )
    visitor.sign_in()
    assert "is away" in visitor.get("/board").text
    visitor.server.cache.inboxes.take_in()
    assert not os.path.exists(world.workspace.journal_path)


def test_no_new_journal_begins_where_one_goes_away_while_inboxes_are_looked_at(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.verify()
    visitor.get("/board")
    put_in_inbox(world)

    def look(place: str) -> list[str]:
        moved(world)
        return inbox.list_waiting(place)

    monkeypatch.setattr(background, "inbox", SimpleNamespace(list_waiting=look))
    visitor.server.cache.inboxes.take_in()
    assert not os.path.exists(world.workspace.journal_path)
    assert "is away" in visitor.get("/board").text


@pytest.mark.parametrize("is_open", [True, False])
def test_a_reader_beside_the_page_begins_no_journal(world: World, is_open: bool) -> None:
    """Also when the file goes away between its look and its opening."""
    world.verify()
    world.workspace.close()
    with opened_to_read(str(world.root)) as workspace:
        if is_open:
            assert workspace.journal.heads("gate:")
        moved(world)
        if not is_open:
            with pytest.raises(NotFound):
                workspace.journal.heads("gate:")
    with pytest.raises(StoreAway):
        SqliteJournal(world.workspace.journal_path, is_new=False)
    assert not os.path.exists(world.workspace.home)


def test_a_folder_that_cannot_be_looked_into(world: World, visitor: Visitor) -> None:
    """As one without rights; the user who runs these tests may have them all."""
    id = world.verify()
    visitor.get("/board")
    moved(world)
    Path(world.workspace.home).write_text("no folder")
    text = visitor.get("/board").text
    assert "Its journal may not be read" in text
    assert "Errno" not in text
    assert "Stopped" not in text
    assert visitor.get(f"/w/{world.key}/gates/{id}").status_code == 503


def test_a_workspace_in_which_nothing_was_written_yet_is_not_away(
    repository: Path, world: World, visitor: Visitor
) -> None:
    assert not discover(str(repository)).exists()
    for path in PAGES:
        assert "is away" not in visitor.get(path).text
