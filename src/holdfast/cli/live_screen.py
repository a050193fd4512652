"""Live views: a screen of its own on a terminal, drawn anew as a whole; the lines again in a pipe; one object
a line for programs."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager

from holdfast.cli.frame import print_json, warn
from holdfast.cli.terminal import cut, echo, shown, style, terminal_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TextIO

# Another screen, without a cursor, and back.
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
# Seconds between two looks: as given, and at least.
EVERY, SHORTEST_PAUSE = 2.0, 0.1


class LiveScreen:
    """The terminal's other screen. The usual one comes back, as it was, with `leave`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_on = False

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines, cut to the screen."""
        columns, rows = terminal_size(self._stream.fileno())
        if rows and len(lines) >= rows:
            lines = [*lines[: rows - 2], f"… and {len(lines) - rows + 2} more lines"]
        drawn = [cut(line, columns) for line in shown("\n".join(lines), self._stream).split("\n")]
        text = HOME + "".join(f"{line}{REST_OF_LINE}\n" for line in drawn) + REST_OF_SCREEN
        self._stream.write(text if self._is_on else ENTER + text)
        self._stream.flush()
        self._is_on = True

    def leave(self) -> None:
        if self._is_on:
            self._stream.write(LEAVE)
            self._stream.flush()
            self._is_on = False


def watch(
    look: Callable[[], tuple[Mapping[str, Any], Sequence[str]]],
    *,
    as_json: bool,
    every: float = EVERY,
    rounds: int | None = None,
) -> tuple[int, list[str]]:
    """Show what `look` finds, facts for programs and lines for people, again and again: until Ctrl+C, or for
    so many rounds. Returns how often it looked, and what the usual screen should keep: the last lines."""
    screen = LiveScreen(sys.stdout) if sys.stdout.isatty() and not as_json else None
    lines: Sequence[str] = ()
    looks = 0
    try:
        while rounds is None or looks < rounds:
            if looks:
                time.sleep(max(SHORTEST_PAUSE, every))
            facts, lines = look()
            if as_json:
                print_json(facts)
            elif screen is not None:
                screen.draw(lines)
            else:
                echo(*lines, "")
            sys.stdout.flush()
            looks += 1
    except KeyboardInterrupt:
        pass
    finally:
        if screen is not None:
            screen.leave()
    return looks, list(lines) if screen is not None else []


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
