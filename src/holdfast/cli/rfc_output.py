"""What the verbs of `holdfast rfc` share: the context, the answers, and the output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING

from holdfast.cli.frame import Call, warn, warn_of_views
from holdfast.cli.terminal import safe, style
from holdfast.cli.text_input import text_from
from holdfast.rfc.reader import RfcContext
from holdfast.rfc.rules.model import MOST_LINES
from holdfast.rfc.rules.questions import LARGEST_ANSWERS
from holdfast.rfc.write import Answers

if TYPE_CHECKING:
    from holdfast.rfc.write import WriteResult


def context_of(call: Call) -> RfcContext:
    return RfcContext(call.workspace, call.actor, call.now)


def answers_from(source: str, *, lenient: bool) -> Answers:
    """The answers in a file, or on standard input for `-`."""
    text = text_from(
        source,
        largest=LARGEST_ANSWERS,
        example="holdfast rfc write GROUP < FILE, or --from FILE",
        advice="Signals over transcripts: one line a bullet.",
    )
    name = "standard input" if source == "-" else source
    return Answers(text=text, source=name, lenient=lenient)


def warn_all(warnings: list[str]) -> None:
    for warning in warnings:
        warn(warning)


def describe(written: WriteResult, *, dry_run: bool) -> list[str]:
    """What was written, for people. Prints the warnings."""
    outcome = written["outcome"]
    if outcome is not None:
        warn_of_views(outcome)
        if outcome["queued"]:
            return [
                "Queued in .holdfast/inbox: the journal cannot be written from here. The next process",
                "that can takes it in; until then `git clean -fdx` would remove it.",
            ]
    warn_all(written["warnings"])
    word = "Would write" if dry_run else "Wrote"
    room = f"{written['lines']} of {MOST_LINES} lines"
    lines = [f"{word} {safe(written['id'])} checkpoint version {written['version']}: {room}."]
    return lines + [f"Left out to stay within the budget: {one}." for one in written["dropped"]]


def format_checkpoint(text: str) -> Iterator[str]:
    """A checkpoint for people. On a terminal, long bullets are wrapped under their dash."""
    width = get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in text.rstrip("\n").split("\n"):
        clean = safe(line)
        if width and len(clean) > width:
            yield from wrap(clean, width, subsequent_indent="  ", break_on_hyphens=False)
        elif clean.startswith("### "):
            yield style(clean, "cyan", bold=True)
        elif clean.startswith("#"):
            yield style(clean, bold=True)
        else:
            yield style(clean, dim=True) if clean == "---" else clean
