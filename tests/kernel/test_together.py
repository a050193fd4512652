"""Several commands in one transaction, and views that are moved aside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.kernel import clock, crash
from holdfast.kernel.commit import REPAIR, Order, commit
from holdfast.kernel.errors import Conflict, FenceLost
from holdfast.kernel.redact import Redactor
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import load
from holdfast.kernel.workspace import Workspace, discover
from holdfast.kernel.writer import Writer


def _initial(stream: str) -> Any:
    return {"name": stream.partition(":")[2], "text": ""}


def _decide(state: Any, command: Any, now: int) -> Decision:
    if command.get("refuse"):
        raise Conflict("It says no.")
    place = f"kept/{state['name']}.txt"
    away = [(place, command["archive"])] if "archive" in command else []
    return Decision([("said", {"text": command["text"]})], moves=away)


def _apply(state: Any, event: Any) -> Any:
    if event["kind"] == "said":
        return {**state, "text": event["body"]["text"]}
    return state


def _absorb(state: Any, base: Any, change: Any, now: int) -> list[tuple[str, Any]]:
    return [("said", {"text": change["text"]})] if change["kind"] == "edited" else []


def _render(state: Any) -> dict[str, str]:
    return {f"kept/{state['name']}.txt": state["text"]} if state["text"] else {}


KEPT: Any = SimpleNamespace(
    initial=_initial, decide=_decide, apply=_apply, absorb=_absorb, render=_render
)


@pytest.fixture
def workspace(repository: Path) -> Workspace:
    return discover()


def open_writer(workspace: Workspace) -> Writer:
    return Writer(workspace, lambda _: KEPT, Redactor(environment={}))


def say(workspace: Workspace, *orders: Order) -> Any:
    return commit(open_writer(workspace), orders, actor="test", now=clock.now())


def text_of(workspace: Workspace, name: str) -> str:
    state: Any = load(workspace.journal, KEPT, f"kept:{name}")[0]
    return str(state["text"])


def test_all_streams_are_written(workspace: Workspace) -> None:
    first, second = say(
        workspace,
        Order("kept:a", {"text": "one"}, grant=True),
        Order("kept:b", {"text": "two"}),
    )
    assert (first["fence"], second["fence"]) == (1, 0)
    assert first["records"][0]["id"] != second["records"][0]["id"]
    assert Path("kept/a.txt").read_text() == "one"
    assert Path("kept/b.txt").read_text() == "two"


def test_one_refusal_stops_all(workspace: Workspace) -> None:
    with pytest.raises(Conflict):
        say(
            workspace,
            Order("kept:a", {"text": "one"}),
            Order("kept:b", {"text": "two", "refuse": True}),
        )
    assert text_of(workspace, "a") == ""
    assert not Path("kept/a.txt").exists()
    assert not Path("kept").exists(), "nothing is staged before all have agreed"


def test_a_lost_fence_of_one_stops_all(workspace: Workspace) -> None:
    say(workspace, Order("kept:b", {"text": "first life"}, grant=True))
    with pytest.raises(FenceLost):
        say(workspace, Order("kept:a", {"text": "one"}), Order("kept:b", {"text": "no"}, fence=9))
    assert text_of(workspace, "a") == ""
    assert text_of(workspace, "b") == "first life"
    assert os.listdir("kept") == ["b.txt"]


def test_the_same_id_again_is_no_second_time(workspace: Workspace) -> None:
    orders = [Order("kept:a", {"text": "one"}), Order("kept:b", {"text": "two"})]
    writer = open_writer(workspace)
    commit(writer, orders, actor="test", now=1, id="once")
    again = commit(writer, orders, actor="test", now=2, id="once")
    assert [outcome["duplicate"] for outcome in again] == [True, True]
    assert [head["version"] for head in workspace.journal.heads("kept:")] == [1, 1]


def test_a_file_is_moved_aside_before_the_next_takes_its_place(workspace: Workspace) -> None:
    say(workspace, Order("kept:a", {"text": "old"}))
    Path("kept/a.txt").write_text("old, edited")
    say(workspace, Order("kept:a", {"text": "new", "archive": "kept/a_old.txt"}))
    assert Path("kept/a_old.txt").read_text() == "old, edited"
    assert Path("kept/a.txt").read_text() == "new"
    assert workspace.journal.effects() == []


@contextmanager
def dying_at(point: str) -> Iterator[None]:
    def die() -> None:
        raise KeyboardInterrupt

    take_back = crash.register(point, die)
    with pytest.raises(KeyboardInterrupt):
        yield
    take_back()


def test_a_crash_before_the_move_is_made_good(workspace: Workspace) -> None:
    say(workspace, Order("kept:a", {"text": "old"}))
    with dying_at("before moving"):
        say(workspace, Order("kept:a", {"text": "new", "archive": "kept/a_old.txt"}))
    assert Path("kept/a.txt").read_text() == "old"
    say(workspace, Order("kept:a", REPAIR))
    assert Path("kept/a_old.txt").read_text() == "old"
    assert Path("kept/a.txt").read_text() == "new"
    assert [record["kind"] for record in workspace.journal.read("kept:a")] == ["said", "said"]


def test_a_crash_after_the_move_moves_nothing_twice(workspace: Workspace) -> None:
    say(workspace, Order("kept:a", {"text": "old"}))
    with dying_at("before settling"):
        say(workspace, Order("kept:a", {"text": "new", "archive": "kept/a_old.txt"}))
    assert not Path("kept/a.txt").exists()
    say(workspace, Order("kept:a", {"text": "newer"}))
    assert Path("kept/a_old.txt").read_text() == "old"
    assert Path("kept/a.txt").read_text() == "newer"


def test_what_is_written_late_to_a_moved_file_is_an_edit(workspace: Workspace) -> None:
    say(workspace, Order("kept:a", {"text": "old"}))
    say(workspace, Order("kept:a", {"text": "", "archive": "kept/a_old.txt"}))
    assert not Path("kept/a.txt").exists()
    Path("kept/a.txt").write_text("late")
    say(workspace, Order("kept:a", REPAIR))
    assert text_of(workspace, "a") == "late"


def test_nothing_to_move_is_no_error(workspace: Workspace) -> None:
    say(workspace, Order("kept:a", {"text": "new", "archive": "kept/a_old.txt"}))
    assert os.listdir("kept") == ["a.txt"]
