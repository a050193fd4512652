"""How far it is from a command to the disk, and how often a stream is read on the way.

Frames are counted where SQLite commits: those of the call stack whose file is part of holdfast.
Loads are the statements that read a stream's snapshot and records, as SQLite sees them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import pytest

import holdfast
from holdfast.cli import main
from holdfast.hooks.run import respond_to
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from holdfast.session.rules import session as session_rules

SOURCE = os.path.dirname(holdfast.__file__) + os.sep
# From the entry of the command line to SQLite's commit.
NOTE_FRAMES = 8
CHECKPOINT_FRAMES = 10
# From a client's event to SQLite's commit.
STOP_FRAMES = 10
# Reads of the session's stream.
CHECKPOINT_LOADS = 1
STOP_LOADS = 1


class Watch:
    """What SQLite is asked to do in this process."""

    def __init__(self) -> None:
        self.stacks: list[list[str]] = []
        self.loads: list[str] = []

    def look_at(self, connection: apsw.Connection) -> None:
        connection.set_commit_hook(self._commit)
        connection.exec_trace = self._statement

    def clear(self) -> None:
        self.stacks, self.loads = [], []

    def _commit(self) -> bool:
        stack: list[str] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename.startswith(SOURCE):
                stack.append(f"{frame.f_code.co_filename[len(SOURCE) :]} {frame.f_code.co_name}")
            frame = frame.f_back
        self.stacks.append(stack[::-1])
        return False

    def _statement(self, _: object, sql: str, bindings: Any) -> bool:
        if "JOIN snapshots" in sql:
            self.loads.append(bindings[0])
        return True


@pytest.fixture
def watch(repository: Path) -> Iterator[Watch]:
    watch = Watch()
    apsw.connection_hooks.append(watch.look_at)
    yield watch
    apsw.connection_hooks.remove(watch.look_at)


def holdfast_main(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["holdfast", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def stop(session: str) -> None:
    payload = {"session_id": session, "cwd": os.getcwd(), "hook_event_name": "Stop"}
    respond_to("claude", "Stop", payload, may_leave=False)


def test_a_note_is_a_few_frames_from_the_disk(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast_main(monkeypatch, "note", "the first one makes the journal")
    watch.clear()
    holdfast_main(monkeypatch, "note", "hello")
    (stack,) = watch.stacks
    assert len(stack) <= NOTE_FRAMES, stack
    assert watch.loads == ["note:default"]


def test_a_checkpoint_is_a_few_frames_from_the_disk(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("checkpoint", "--session", "s1", "--skip-git", "--task")
    holdfast_main(monkeypatch, *words, "one")
    watch.clear()
    holdfast_main(monkeypatch, *words, "two")
    assert max(len(stack) for stack in watch.stacks) <= CHECKPOINT_FRAMES, watch.stacks
    assert watch.loads.count("session:s1") <= CHECKPOINT_LOADS, watch.loads


def test_a_stop_hook_is_a_few_frames_from_the_disk(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second stop is no repetition of the first: that would add no record, and be decided twice.
    monkeypatch.setattr(session_rules, "SAME_MOMENT", 0)
    stop("s0")  # makes the journal
    watch.clear()
    stop("s1")
    assert max(len(stack) for stack in watch.stacks) <= STOP_FRAMES, watch.stacks
    watch.clear()
    stop("s1")
    assert watch.stacks
    assert watch.loads.count("session:s1") <= STOP_LOADS, watch.loads


def test_a_state_that_the_writer_loaded_is_not_read_again(watch: Watch) -> None:
    writer = open_writer(discover())
    for text in ("one", "two"):
        writer.execute("note:plan", {"add": text, "by": "Ada"}, actor="Ada", now=1)
    watch.clear()
    other = open_writer(discover())
    state = other.load("note:plan")
    outcome = other.execute("note:plan", {"add": "three", "by": "Ada"}, actor="Ada", now=2)
    assert [entry["text"] for entry in state["entries"]] == ["one", "two"]
    assert outcome["version"] == 3
    assert watch.loads == ["note:plan"]


def test_a_loaded_state_that_another_writer_made_old_is_read_again(watch: Watch) -> None:
    one, other = open_writer(discover()), open_writer(discover())
    assert one.load("note:plan")["entries"] == []
    one.execute("note:plan", {"add": "one", "by": "Ada"}, actor="Ada", now=1)
    one.load("note:plan")
    other.execute("note:plan", {"add": "two", "by": "Bob"}, actor="Bob", now=2)
    watch.clear()
    assert (
        one.execute("note:plan", {"add": "three", "by": "Ada"}, actor="Ada", now=3)["version"] == 3
    )
    assert watch.loads == ["note:plan"]
    texts = [entry["text"] for entry in one.load("note:plan")["entries"]]
    assert texts == ["one", "two", "three"]


def test_a_list_of_agents_reads_all_of_them_at_once(repository: Path) -> None:
    with holdfast.open() as workspace:
        for number in range(12):
            workspace.agent(f"Secondary-{number}", feature=f"feature_{number}").__enter__()
    journal = discover().journal
    assert isinstance(journal, SqliteJournal)
    read: list[str] = []

    def note(_: object, sql: str, __: object) -> bool:
        read.append(sql)
        return True

    journal.connection().exec_trace = note
    assert len(journal.load_all("agent:")) == 12
    assert len([sql for sql in read if sql.startswith("SELECT")]) == 3
