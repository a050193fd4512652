"""What the verbs of `holdfast rfc` share: which RFC is meant, the answers, and how they are shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from shutil import get_terminal_size
from textwrap import wrap

from holdfast.cli.frame import Call, warn, warn_of_views
from holdfast.cli.source import text_from
from holdfast.cli.terminal import plural, safe, style
from holdfast.rfc.checkpoints import Answers
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules.answers import LARGEST_ANSWERS
from holdfast.rfc.rules.words import MOST_LINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.rfc.checkpoints import Compressed, Written


def which(call: Call, id: str | None) -> str:
    """The RFC that is named by a unique beginning, or the only open one."""
    with Reader(call.workspace) as reader:
        return reader.named(id or "")


def answers_from(source: str, *, lenient: bool, accept_vanished: bool) -> Answers:
    """The answers in a file, or on standard input for `-`; refused when they are no UTF-8."""
    text = text_from(
        source,
        largest=LARGEST_ANSWERS,
        example="holdfast rfc write GROUP < FILE, or --from FILE",
        advice="Signals over transcripts: one line a bullet.",
    )
    name = "standard input" if source == "-" else source
    return Answers(text, source=name, lenient=lenient, accept_vanished=accept_vanished)


def warn_of(warnings: list[str]) -> None:
    for warning in warnings:
        warn(warning)


def said_of(written: Written, *, dry_run: bool) -> list[str]:
    """What was written, for people."""
    outcome = written["outcome"]
    if outcome is not None:
        warn_of_views(outcome)
        if outcome["queued"]:
            return [
                "Queued in .holdfast/inbox: the journal cannot be written from here. The next process",
                "that can takes it in; until then `git clean -fdx` would remove it.",
            ]
    warn_of(written["warnings"])
    if written["vanished"]:
        warn(f"The compressor lost {plural(len(written['vanished']), 'bullet')}, as accepted:")
        warn_of(written["vanished"])
    word = "Would write" if dry_run else "Wrote"
    room = f"{written['lines']} of {MOST_LINES} lines"
    lines = [f"{word} {safe(written['id'])} checkpoint version {written['version']}: {room}."]
    if written["compressed"] is not None:
        lines += _compressed(written["id"], written["compressed"])
    lines += [f"Left out to stay within the budget: {heading}." for heading in written["dropped"]]
    return lines


def _compressed(id: str, done: Compressed) -> list[str]:
    made = f"rfc.compressor made {plural(done['before'], 'bullet')} into {done['after']}."
    if not done["record"]:
        return [made]
    where = f"holdfast history rfc:{safe(id)} --kind written --json"
    return [made, f"What it was given is kept in record {done['record']}: {where}"]


def shown(text: str) -> Iterator[str]:
    """A checkpoint as people read it; on a terminal, long bullets are set in under their dash."""
    width = get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in text.rstrip("\n").split("\n"):
        clean = safe(line)
        if width and len(clean) > width:
            yield from wrap(clean, width, subsequent_indent="  ", break_on_hyphens=False)
        else:
            yield _coloured(clean)


def _coloured(shown: str) -> str:
    if shown.startswith("#"):
        return (
            style(shown, "cyan", bold=True) if shown.startswith("### ") else style(shown, bold=True)
        )
    return style(shown, dim=True) if shown == "---" else shown
