"""The text of a note's file: a heading, dated lines, and other text that a person wrote below."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.text import without_nul

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Entry(TypedDict):
        at: str
        by: str
        text: str

    class NoteState(TypedDict):
        name: str
        entries: list[Entry]
        rest: str


# A note's own line breaks continue it, two blanks in.
INDENT = "  "


def heading(state: NoteState) -> str:
    return f"# Notes: {state['name']}"


def write(state: NoteState) -> str:
    lines = [heading(state), ""]
    for entry in state["entries"]:
        lines.append(
            f"- {entry['at']} {entry['by']}: " + entry["text"].replace("\n", f"\n{INDENT}")
        )
    text = "\n".join(lines) + "\n"
    return f"{text}\n{state['rest']}\n" if state["rest"] else text


def as_lines(text: str) -> str:
    """A text that the file can hold and give back unchanged: one kind of line end, no spaces before
    it."""
    unified = without_nul(text).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip() for line in unified.split("\n")).strip()


def author(name: str) -> str:
    """A name that cannot be mistaken for the beginning of the text."""
    return " ".join(as_lines(name).replace(": ", " ").split()) or "unknown"


def parse(text: str, title: str, now: str) -> tuple[list[Entry], str]:
    """Entries and the rest. A line without a date, written by hand, is dated now."""
    lines = text.rstrip("\n").split("\n")
    if lines[0].rstrip() != title:
        raise Unparsable(f"the first line is not `{title}`")
    entries: list[Entry] = []
    position, blanks = 1, 0
    while position < len(lines):
        line = lines[position].rstrip()
        if not line:
            blanks += 1
        elif line.startswith("- "):
            entries.append(_entry(line[2:], now))
            blanks = 0
        elif line.startswith(INDENT) and entries:
            # Blank lines before it belong to the note, as they do in a Markdown list.
            last = entries[-1]
            more = "\n" * (blanks + 1) + line[len(INDENT) :]
            entries[-1] = {**last, "text": last["text"] + more}
            blanks = 0
        else:
            break
        position += 1
    return entries, "\n".join(lines[position:])


def _entry(line: str, now: str) -> Entry:
    at, _, said = line.partition(" ")
    by, colon, text = said.partition(": ")
    try:
        clock.parse(at)
    except ValueError:
        return {"at": now, "by": "outside", "text": line}
    if not colon:
        return {"at": now, "by": "outside", "text": line}
    return {"at": at, "by": by, "text": text}
