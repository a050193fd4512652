"""holdfast demo"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import style
from holdfast.maintenance.demo import StoryLine, tell

# Seconds for a line of each kind, for a person who reads along.
PACE = {"chapter": 0.8, "text": 0.8, "does": 0.9, "command": 0.7, "output": 0.06, "end": 0.0}
WIDTH = 78


@click.command("demo")
@click.option("--fast", is_flag=True, help="Do not pause between the lines.")
@verb
def command(call: Call, fast: bool) -> Reply:
    """Show in a temporary repository what Holdfast does when an agent dies, asks or overspends.

    It uses real processes and a real kill -9, needs git and no network, and leaves nothing behind.
    """
    if call.as_json:
        return Reply({"story": [line._asdict() for line in tell()]})
    is_paced = not fast and sys.stdout.isatty()
    return Reply({}, _show(tell(), is_paced=is_paced))


def _show(lines: Iterator[StoryLine], *, is_paced: bool) -> Iterator[str]:
    for line in lines:
        yield from render(line)
        if is_paced:
            sys.stdout.flush()
            time.sleep(PACE[line.kind])


def render(line: StoryLine) -> list[str]:
    if line.kind == "chapter":
        return ["", style(line.text, "cyan", bold=True)]
    if line.kind == "end":
        return ["", style(line.text, "green", bold=True)]
    if line.kind == "command":
        return ["", "  " + style(f"$ {line.text}", bold=True)]
    if line.kind == "output":
        bar = "  " + style("│ ", dim=True)
        return [bar + _colour(part, line.text) for part in _wrap(line.text, WIDTH - 4)]
    first = "  • " if line.kind == "does" else "  "
    rest = " " * len(first)
    return textwrap.wrap(line.text, WIDTH, initial_indent=first, subsequent_indent=rest)


def _wrap(text: str, width: int) -> list[str]:
    """A line of output in lines that fit, below the begin of its text."""
    indent = " " * (len(text) - len(text.lstrip(" -")))
    return textwrap.wrap(text, width, subsequent_indent=indent) or [""]


def _colour(part: str, line: str) -> str:
    """Mark what a person should see first: headings, what failed, what was refused."""
    if line.startswith("## "):
        return style(part, bold=True)
    if any(mark in line for mark in ("FAILED", "(failed", "error:", "deny:", " stop ")):
        return style(part, "red")
    return part
