"""A run as it is watched: one line that lives on a terminal, plain lines where it is piped."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

from holdfast.cli.frame import print_json, warn
from holdfast.cli.terminal import echo, one_line, safe, style, unstyle
from holdfast.cli.verbs.loop.show import bar
from holdfast.cli.verbs.loop.words import status

if TYPE_CHECKING:
    from holdfast.loop.driver import News

_CLEAR = "\r\x1b[2K"


class Watch:
    """Shows the news of a run, on standard error; with `--json`, one object a line on standard output."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._lives = not as_json and sys.stderr.isatty()
        self._begun = time.monotonic()
        self._shown = False
        self._last = 0.0

    def __call__(self, news: News) -> None:
        if news["event"] == "tick":
            self._tick(news)
        elif self._as_json:
            print_json(news)
            sys.stdout.flush()
        else:
            self.end()
            self._tell(news)
            sys.stderr.flush()

    def end(self) -> None:
        """Take the living line away."""
        if self._shown:
            sys.stderr.write(_CLEAR)
            self._shown = False

    def _tell(self, news: News) -> None:
        step, text = news["step"], one_line(news["text"])
        if news["event"] == "step":
            echo(f"{self._clock()} {style(step, bold=True)}  {text}".rstrip(), error=True)
        elif news["event"] == "attempt" and news["task"]:
            count = f"{news['done'] + 1}/{news['total']}"
            echo(f"{self._clock()}   {count}  {safe(news['task'])}  {text}".rstrip(), error=True)
        elif news["event"] == "ended":
            echo(f"{self._clock()} {step} is {status(news['text'])}", error=True)
        elif news["event"] in ("warning", "leftover"):
            warn(news["text"] if news["event"] == "warning" else f"A run was killed: {text}.")

    def _tick(self, news: News) -> None:
        """At most five times a second, and only where somebody looks."""
        if not self._lives or time.monotonic() - self._last < 0.2:
            return
        self._last = time.monotonic()
        width = shutil.get_terminal_size().columns - 1
        parts = [self._clock(), style(news["step"], "cyan", bold=True)]
        if news["total"]:
            parts += [bar(news["done"], news["total"]), f"{news['done']}/{news['total']}"]
        if news["task"]:
            parts.append(one_line(news["task"], 30))
        head = "  ".join(parts)
        room = width - len(unstyle(head)) - 2
        said = style(one_line(news["text"], room), dim=True) if room > 8 and news["text"] else ""
        sys.stderr.write(f"{_CLEAR}{head}  {said}".rstrip())
        sys.stderr.flush()
        self._shown = True

    def _clock(self) -> str:
        seconds = int(time.monotonic() - self._begun)
        return style(f"{seconds // 60:02d}:{seconds % 60:02d}", dim=True)
