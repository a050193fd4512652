"""Text for a terminal: colours, relative times, sizes, tables, diffs; and text from a file or from stdin."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

from holdfast.kernel import clock
from holdfast.kernel.door import Door
from holdfast.kernel.durations import describe_age
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.text import letter_width as letter_width
from holdfast.kernel.text import one_line as flatten
from holdfast.kernel.text import plural, width
from holdfast.kernel.text import safe as safe
from holdfast.kernel.workspace import Workspace

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}
_END = "\x1b[0m"
# So many letters of an id are no slip of the finger.
SURE_ID = 6
# Seconds before work is said to go on, and between two updates of that line.
PROGRESS_AFTER, PROGRESS_EVERY = 1.0, 0.2


def style(text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
    codes = [str(_COLOURS[colour])] if colour else []
    codes += ["1"] if bold else []
    codes += ["2"] if dim else []
    return f"\x1b[{';'.join(codes)}m{text}{_END}" if codes and text else text


def unstyle(text: str) -> str:
    """Remove the marks that `style` made; a safe text has no others."""
    parts = text.split("\x1b[")
    return parts[0] + "".join(part.partition("m")[2] for part in parts[1:])


def echo(*lines: str, error: bool = False) -> None:
    """Print lines, through the door. Lines with a secret lose their colours: a code may stand in it."""
    stream = sys.stderr if error else sys.stdout
    stream.write(shown("\n".join(lines), stream) + "\n")


def shown(text: str, stream: TextIO) -> str:
    """The text as this stream may show it."""
    plain = unstyle(text)
    clean = door().text(plain)
    return text if clean == plain and wants_colour(stream) else clean


class _Doorway:
    """Where the door of this process comes from: the workspace that its command is about, once one is known."""

    workspace: Workspace | None = None
    door: Door | None = None


def show_for(workspace: Workspace | None) -> None:
    """Take the redaction rules of this workspace for what is printed from here on."""
    _Doorway.workspace, _Doorway.door = workspace, None


def door() -> Door:
    if _Doorway.door is None:
        _Doorway.door = Door(_Doorway.workspace)
    return _Doorway.door


def wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def one_line(text: str, width: int = 72) -> str:
    """The beginning of a text, on one line."""
    return flatten(safe(text), width)


def ago(at: str, now: int) -> str:
    """`3 min ago`. A time in the future, which a stepped clock leaves behind, is `just now`."""
    try:
        seconds = (now - clock.parse(at)) // 1000
    except ValueError:
        return at
    if seconds < 5:
        return "just now"
    count, unit = describe_age(seconds)
    return f"{plural(count, 'day') if unit == 'd' else f'{count} {unit}'} ago"


def at_home(folder: str) -> str:
    """A folder with `~` for the home folder."""
    home = os.path.expanduser("~")
    return f"~{folder[len(home) :]}" if folder == home or folder.startswith(f"{home}/") else folder


def size(count: int) -> str:
    """`1.4 MB`."""
    value = float(count)
    for unit in ("B", "KB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def confirm_short_id(given: str, full: str, what: str) -> None:
    """Ask before a command acts on an id of which only a few letters were typed."""
    if len(given) >= SURE_ID or given == full:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Usage(
            f"{given} is short for {full[:12]}, {what}.",
            hint=f"Without a terminal, give at least {SURE_ID} letters of the id.",
            kind="short_id",
        )
    from click import confirm

    confirm(f"{given} is {full[:12]}, {safe(what)}. Go on?", abort=True, err=True)


def diff(before: str, after: str, before_name: str, after_name: str) -> Iterator[str]:
    """A unified diff with its usual colours."""
    import difflib

    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), before_name, after_name, lineterm=""
    )
    yield from map(diff_line, lines)


def diff_line(line: str) -> str:
    """A line of a unified diff in its usual colour."""
    return style(safe(line), {"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))


def table(rows: list[list[str]], *, indent: str = "") -> Iterator[str]:
    """Rows in columns as wide as their widest cell."""
    if not rows:
        return
    widths = [max(wide(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [cell + " " * (width - wide(cell)) for cell, width in zip(row, widths, strict=True)]
        yield (indent + "  ".join(cells)).rstrip()


def wide(text: str) -> int:
    """The width of a styled text on the screen."""
    return width(unstyle(text))


def cut(line: str, width: int) -> str:
    """The line, cut to a width. Codes for style have no width, and end with the line."""
    if not width or wide(line) <= width:
        return line
    shown, count, position = "", 0, 0
    while count < width - 1:
        if line.startswith("\x1b[", position):
            end = line.index("m", position) + 1
            shown, position = shown + line[position:end], end
            continue
        count += letter_width(line[position])
        if count < width:
            shown += line[position]
        position += 1
    return f"{shown}…\x1b[0m"


def terminal_size() -> tuple[int, int]:
    """Columns and rows; 0 where there is no terminal."""
    try:
        size = os.get_terminal_size()
    except OSError:
        return 0, 0
    return size.columns, size.lines


def bar(done: int, total: int, width: int, colour: str | None = None) -> str:
    """Progress as a bar, which is full only when all is done."""
    full = min(width * done // total, width) if total else width
    return style("█" * full, colour) + style("░" * (width - full), dim=True)


def text_from(source: str, *, largest: int, example: str, advice: str = "") -> str:
    """Read a text in UTF-8 of at most `largest` bytes. `example` is the hint when it is missing,
    `advice` when it is too long."""
    name = "standard input" if source == "-" else source
    if source == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise Usage("Give the text on standard input.", hint=example)
        content = sys.stdin.buffer.read(largest + 1)
    else:
        try:
            with open(source, "rb") as file:
                content = file.read(largest + 1)
        except FileNotFoundError:
            raise NotFound(f"There is no file {source}.") from None
        except OSError as error:
            raise Usage(f"{source} cannot be read: {error.strerror}.") from None
    if len(content) > largest:
        raise Usage(f"{name} has more than {largest} bytes.", hint=advice)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Usage(f"{name} is not UTF-8 at byte {error.start}.") from None


class ProgressLine:
    """One line on the terminal while work goes on for longer than a second: what is done, how far it is,
    how long it has taken. It goes when the work ends. Programs and pipes get nothing of it.

        with ProgressLine("Reading the sessions", is_shown=not call.as_json) as progress:
            progress(done, total)   # where the work can be counted
    """

    def __init__(self, what: str, *, is_shown: bool) -> None:
        self._what = what
        self._counted = ""
        self._is_shown = is_shown and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._over: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def __call__(self, done: int, total: int) -> None:
        self._counted = f", {done:,} of {total:,}"

    def __enter__(self) -> ProgressLine:
        if self._is_shown:
            self._over = threading.Event()
            self._thread = threading.Thread(target=self._show, args=(self._over,), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._over is not None and self._thread is not None:
            self._over.set()
            self._thread.join()

    def _show(self, over: threading.Event) -> None:
        seconds, wait, is_written = 0.0, PROGRESS_AFTER, False
        while not over.wait(wait):
            seconds, wait, is_written = seconds + wait, PROGRESS_EVERY, True
            text = one_line(f"{self._what}{self._counted}, {seconds:.0f} s")
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()
        if is_written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
