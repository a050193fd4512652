"""The line that says how far a long command is: on a terminal alone, after a second, gone at the end."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from holdfast.cli import terminal
from holdfast.cli.terminal import ProgressLine


class Screen(io.StringIO):
    """A terminal that remembers everything, and says when something came."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal
        self.came = threading.Event()

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        written = super().write(text)
        self.came.set()
        return written


def watched(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool = True) -> Screen:
    """A screen in the place of standard error; called in the test, because pytest has its own before."""
    made = Screen(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "PROGRESS_AFTER", 0.01)
    monkeypatch.setattr(terminal, "PROGRESS_EVERY", 0.01)
    return made


def test_long_work_is_said_and_the_line_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    with ProgressLine("Checking hash chains", is_shown=True) as progress:
        progress(1200, 40_000)
        assert screen.came.wait(30)
    said = screen.getvalue()
    assert "\rChecking hash chains, 1,200 of 40,000, 0 s\x1b[K" in said
    assert said.endswith("\r\x1b[K")


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    monkeypatch.setattr(terminal, "PROGRESS_AFTER", 30.0)
    begun = time.monotonic()
    with ProgressLine("Checking", is_shown=True):
        pass
    assert screen.getvalue() == ""
    assert time.monotonic() - begun < 10, "its end is not waited for"


@pytest.mark.parametrize("case", ["json", "pipe", "dumb"])
def test_programs_get_nothing_of_it(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    screen = watched(monkeypatch, is_terminal=case != "pipe")
    if case == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    before = threading.active_count()
    with ProgressLine("Checking", is_shown=case != "json"):
        assert threading.active_count() == before
    assert screen.getvalue() == ""


def test_the_line_goes_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)

    def fail() -> None:
        with ProgressLine("Copying", is_shown=True):
            assert screen.came.wait(30)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert screen.getvalue().endswith("\r\x1b[K")
