"""A run as it is watched: one line that lives on a terminal, plain lines where it is piped."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

from holdfast.cli.frame import warn
from holdfast.cli.loop_output import status
from holdfast.cli.run_watch import RunWatch
from holdfast.cli.terminal import echo, one_line, safe, style, unstyle
from holdfast.cli.verbs.loop.show import bar

if TYPE_CHECKING:
    from holdfast.loop.driver import LoopEvent

_CLEAR = "\r\x1b[2K"


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
            parts += [bar(event["done"], event["total"]), f"{event['done']}/{event['total']}"]
        if event["task"]:
            parts.append(one_line(event["task"], 30))
        head = "  ".join(parts)
        room = width - len(unstyle(head)) - 2
        said = style(one_line(event["text"], room), dim=True) if room > 8 and event["text"] else ""
        sys.stderr.write(f"{_CLEAR}{head}  {said}".rstrip())
        sys.stderr.flush()
        self._shown = True
