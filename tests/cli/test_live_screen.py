"""`holdfast status --watch`: a live screen on a terminal, the text again in a pipe, one object a line as JSON."""

from __future__ import annotations

import json
import re

import pytest

import holdfast as library
from holdfast.cli.live_screen import ENTER, LEAVE
from tests.cli.conftest import Holdfast
from tests.gates.person import Terminal

pytestmark = pytest.mark.usefixtures("repository")


def test_a_pipe_gets_the_whole_text_each_time(holdfast: Holdfast) -> None:
    holdfast("note", "One.")
    seen = holdfast("status", "--watch", "--every", "0", "--rounds", "2")
    assert seen.code == 0
    assert len(re.findall(r"^holdfast status  \d\d:\d\d:\d\d UTC$", seen.out, re.MULTILINE)) == 2
    assert seen.out.count("1 record in 1 stream") == 2
    assert "\x1b" not in seen.out


def test_programs_get_one_object_a_line_and_the_envelope(holdfast: Holdfast) -> None:
    holdfast("note", "One.")
    words = ("status", "--watch", "--every", "0", "--rounds", "2", "--json")
    *looks, envelope = map(json.loads, holdfast(*words).out.splitlines())
    assert [look["journal"]["records"] for look in looks] == [1, 1]
    assert all(look["at"].endswith("Z") for look in looks)
    assert envelope["data"]["looks"] == 2
    assert envelope["data"]["journal"]["records"] == 1


def test_a_terminal_sees_what_comes_and_has_its_screen_back_after_ctrl_c(
    holdfast: Holdfast,
) -> None:
    holdfast("note", "One.")
    terminal = Terminal("status", "--watch", "--every", "0")
    terminal.read_until(re.compile(b"1 record in 1 stream"))
    with library.open() as workspace:
        workspace.note("Two.")
    terminal.read_until(re.compile(b"2 records in 1 stream"))
    terminal.type(b"\x03")
    seen = terminal.leave()
    assert seen.code == 0
    before, _, after = seen.screen.rpartition(LEAVE)
    assert before.count(ENTER) == 1
    assert "2 records in 1 stream" in after, "the last picture stays"


def test_options_of_a_live_screen_are_refused_without_it(holdfast: Holdfast) -> None:
    for words in (["--every", "3"], ["--rounds", "3"], ["--watch", "--rounds", "0"]):
        seen = holdfast("status", *words)
        assert seen.code == 2, words
        assert words[-2] in seen.err
