"""Live views of the runs of plans and loops: a screen or a line on a terminal, plain lines in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.budgets.rules.boxes import amount
from holdfast.cli.frame import print_json, warn
from holdfast.cli.live_screen import LiveScreen
from holdfast.cli.plan_screen import screen
from holdfast.cli.terminal import (
    bar,
    echo,
    one_line,
    safe,
    style,
    terminal_size,
    unstyle,
)
from holdfast.cli.verbs.loop import status
from holdfast.kernel import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from holdfast.loop.driver import LoopEvent
    from holdfast.plans.news import RunEvent
    from holdfast.plans.rules.run_model import RunState

# Letters of a loop's bar.
BAR = 20
RECENT = 5
# At most so often: drawing must not take time from what is drawn.
DRAW_SECONDS = 0.1
# For programs: process ids and numbers of lives say nothing to a person.
UNSAID = ("life",)
QUIET = (
    "ending",
    "edited",
    "failed",
    "paused",
    "unmet",
    "issues",
    "alert",
    "stop",
    "refused",
    "kept",
    "unwritten",
    "waiting",
)
COLOURS = {
    "failed": "red",
    "unmet": "red",
    "issues": "red",
    "stop": "red",
    "alert": "yellow",
    "gate": "yellow",
    "edited": "yellow",
    "lost": "yellow",
    "kept": "red",
    "unwritten": "yellow",
    "waiting": "yellow",
    "paused": "yellow",
    "done": "green",
    "closed": "green",
    "end": "green",
}
_CLEAR = "\r\x1b[2K"


class RunWatch:
    """Shows a run on standard error; with `--json`, one object a line on standard output."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self._as_json = as_json
        self._quiet = quiet
        self._lives = not as_json and not quiet and sys.stderr.isatty()
        self._begun = time.monotonic()

    def _clock(self) -> str:
        seconds = int(time.monotonic() - self._begun)
        return style(f"{seconds // 60:02d}:{seconds % 60:02d}", dim=True)

    def _print_json(self, event: Mapping[str, Any]) -> None:
        print_json(event)
        sys.stdout.flush()

    @contextmanager
    def _although_unread(self) -> Iterator[None]:
        """Go on when the output cannot be written: a run does not end because its reader did."""
        stream = sys.stdout if self._as_json else sys.stderr
        try:
            yield
        except OSError as error:
            # What is left in the buffer would fail again at every later word.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if not isinstance(error, BrokenPipeError) and stream is sys.stdout:
                warn(f"What happens cannot be printed: {error.strerror}. The run goes on.")


class PlanWatch(RunWatch):
    """A plan's run, on a screen of its own where there is a terminal."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        super().__init__(as_json=as_json, quiet=quiet)
        self._screen = LiveScreen(sys.stderr)
        self._drawn = 0.0
        self._recent: list[str] = []
        self._known: tuple[RunEvent, RunState, Callable[[str], str]] | None = None
        self._hint = ""
        self._lack = ""

    def __call__(self, event: RunEvent, state: RunState, last_line: Callable[[str], str]) -> None:
        with self._although_unread():
            self._tell(event, state, last_line)

    def _tell(self, event: RunEvent, state: RunState, last_line: Callable[[str], str]) -> None:
        self._known = (event, state, last_line)
        if event["event"] == "tick" or (event["event"] in UNSAID and not self._as_json):
            self._draw()
            return
        self._hint = ""
        if event["event"] in ("waiting", "goes_on"):
            self._lack = event["text"]
        if self._as_json:
            self._print_json(event)
        elif self._lives:
            lines = [unstyle(line) for line in _line(event).splitlines()]
            self._recent = [*self._recent, *lines][-max(RECENT, len(lines)) :]
            self._draw(late=event["event"] == "ending")
        elif not self._quiet or event["event"] in QUIET:
            echo(f"{self._clock()} {_line(event)}", error=True)
            sys.stderr.flush()

    def waiting(self, hint: str) -> None:
        """Tell the person at this terminal what the run waits for."""
        self._hint = hint
        self._draw(late=True)

    def _draw(self, *, late: bool = False) -> None:
        now = time.monotonic()
        if (
            not self._lives
            or self._known is None
            or (not late and now - self._drawn < DRAW_SECONDS)
        ):
            return
        self._drawn = now
        event, state, last_line = self._known
        columns, height = terminal_size(2)
        lines = screen(
            state,
            now=clock.now(),
            columns=columns,
            height=height,
            cost="" if event["cost"] is None else amount("cost", event["cost"]),
            last_line=last_line,
            recent=self._recent,
            lack=self._lack,
            hint=self._hint,
        )
        self._screen.draw(lines)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The usual screen, for as long as a person is asked something."""
        lived = self._lives
        self.end()
        self._lives = False
        try:
            yield
        finally:
            self._lives = lived

    def end(self) -> None:
        """Take the living screen away."""
        self._screen.leave()


def _line(event: RunEvent) -> str:
    """One event in words: what, of what, and what was said."""
    name = event["event"]
    if name in ("plan", "answered", "warning", "alert", "stop", "waypoint", "ending"):
        return safe(event["text"])
    if name == "waiting":
        return style(one_line(event["text"], 300), COLOURS[name])
    if name == "goes_on":
        return "Nothing is lacking any more."
    what = f"{event['plan']}#{event['task']}" if event["task"] else event["plan"] or event["phase"]
    counted = f"{event['done']}/{event['total']}" if name in ("done", "start") else ""
    spent = f"{event['seconds']:.1f} s" if event["seconds"] is not None else ""
    word = style(name, COLOURS.get(name), bold=name in ("closed", "end"))
    parts = [word, safe(what), counted, spent, one_line(event["text"], 160)]
    return "  ".join(part for part in parts if part)


class LoopWatch(RunWatch):
    """A loop's run, on one line that lives where there is a terminal."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__(as_json=as_json)
        self._shown = False
        self._last = 0.0

    def __call__(self, event: LoopEvent) -> None:
        with self._although_unread():
            if event["event"] == "tick":
                self._tick(event)
            elif self._as_json:
                self._print_json(event)
            else:
                self.end()
                self._tell(event)
                sys.stderr.flush()

    def end(self) -> None:
        """Take the living line away."""
        if self._shown:
            sys.stderr.write(_CLEAR)
            self._shown = False

    def _tell(self, event: LoopEvent) -> None:
        step, text = event["step"], one_line(event["text"])
        if event["event"] == "step":
            echo(f"{self._clock()} {style(step, bold=True)}  {text}".rstrip(), error=True)
        elif event["event"] == "attempt" and event["task"]:
            count = f"{event['done'] + 1}/{event['total']}"
            echo(f"{self._clock()}   {count}  {safe(event['task'])}  {text}".rstrip(), error=True)
        elif event["event"] == "ended":
            echo(f"{self._clock()} {step} is {status(event['text'])}", error=True)
        elif event["event"] in ("warning", "leftover"):
            warn(event["text"] if event["event"] == "warning" else f"A run was killed: {text}.")

    def _tick(self, event: LoopEvent) -> None:
        """At most five times a second, and only where a person looks."""
        if not self._lives or time.monotonic() - self._last < 0.2:
            return
        self._last = time.monotonic()
        width = shutil.get_terminal_size().columns - 1
        parts = [self._clock(), style(event["step"], "cyan", bold=True)]
        if event["total"]:
            parts += [
                bar(event["done"], event["total"], BAR, "green"),
                f"{event['done']}/{event['total']}",
            ]
        if event["task"]:
            parts.append(one_line(event["task"], 30))
        head = "  ".join(parts)
        room = width - len(unstyle(head)) - 2
        said = style(one_line(event["text"], room), dim=True) if room > 8 and event["text"] else ""
        sys.stderr.write(f"{_CLEAR}{head}  {said}".rstrip())
        sys.stderr.flush()
        self._shown = True
