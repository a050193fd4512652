"""A section of the board: what happened since the person looked, until they say that they saw it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.away.looked import read_looked
from holdfast.kernel import clock
from tests.away.conftest import DONE, FAILING, OPEN, MakeProject, Put
from tests.web.world import HOSTILE, Visitor


@pytest.fixture
def visitor(night: Path) -> Iterator[Visitor]:
    with Visitor([str(night), str(night.parent / "api")]) as visitor:
        visitor.sign_in()
        yield visitor


def eventually(look: Callable[[], Any]) -> Any:
    """What is there once a thread beside the page has read it."""
    end = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def top(visitor: Visitor) -> Any:
    """What the board tells at its top, once it was read beside the page."""
    return eventually(lambda: find(visitor))


def find(visitor: Visitor) -> Any:
    parts = visitor.data("/board.json")["parts"]
    return next((part["one"] for part in parts if part["name"] == "away"), None)


def test_the_board_tells_what_the_command_tells(visitor: Visitor) -> None:
    told = top(visitor)
    assert [one["session"] for one in told["sessions"]] == [FAILING, OPEN, DONE]
    assert told["headline"].startswith("4 sessions in the last 24 hours, 1 of which stands still")
    page = visitor.get("/board").text
    assert "Since you looked" in page
    assert f"/sessions/{FAILING}" in page
    assert "TimeoutError: gateway" in page
    # To look at the page is no word that it was seen.
    assert read_looked() is None


def test_a_person_says_that_they_saw_it(visitor: Visitor) -> None:
    told = top(visitor)
    path = f"/w/{told['workspace']}/looked"
    assert visitor.send(path, csrf="wrong", until=told["until"]).status_code == 403
    assert read_looked() is None
    assert visitor.send(path, until=told["until"]).status_code == 303
    looked = read_looked()
    # What came between the look and the click was not seen.
    assert looked is not None
    assert looked["at"] == told["until"]
    eventually(lambda: find(visitor) is None)


def test_a_form_says_nothing_of_times_to_come(visitor: Visitor) -> None:
    told = top(visitor)
    path = f"/w/{told['workspace']}/looked"
    for until in ("2999-01-01T00:00:00.000Z", "soon", ""):
        assert visitor.send(path, until=until).status_code == 303
        looked = read_looked()
        assert looked is not None
        assert clock.parse(looked["at"]) <= clock.now()


def test_a_stranger_moves_no_mark(night: Path) -> None:
    with Visitor([str(night)]) as stranger:
        assert stranger.send("/w/shop/looked", csrf="x", until="").status_code == 401
    assert read_looked() is None


def test_nothing_of_a_text_is_markup(make_project: MakeProject, put: Put) -> None:
    root = make_project("shop")
    put(
        root,
        FAILING,
        [("user", f"Do it: {HOSTILE}"), ("Edit", f"{root / 'x.py'}|a|b"), ("passed", "")],
    )
    with Visitor([str(root)]) as visitor:
        visitor.sign_in()
        top(visitor)
        page = visitor.get("/board").text
    assert "&lt;script&gt;" in page
    assert "<script>document" not in page
