"""Notes: `.notes/<name>.md` keeps short dated lines for the next reader.

This is the smallest stream, with all that the large protocols have: the example to copy.
"""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.rules import Decision, Unparsable
from holdfast.kernel.text import harmless, without_nul

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    from holdfast.journal.interface import Event
    from holdfast.kernel.conflicts import EditConflict
    from holdfast.kernel.views.reconcile import Change

    class Entry(TypedDict):
        at: str
        by: str
        text: str

    class NoteState(TypedDict):
        name: str
        entries: list[Entry]
        rest: str
        conflicts: NotRequired[list[EditConflict]]


# A note's own line breaks continue it, two blanks in.
INDENT = "  "
LONGEST_NOTE = 100_000
LONGEST_NAME = 64
# The author of a line that was written by hand.
OUTSIDE = "outside"


def stream_of(name: str) -> str:
    """The stream of a note; a name that cannot be a file's name is refused."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    if not plain.isalnum() or name.startswith(".") or len(name) > LONGEST_NAME:
        raise Usage(
            f"{name!r} cannot name a note.",
            hint=f"Letters, digits, '-', '_' and '.', at most {LONGEST_NAME}, no '.' in front.",
        )
    return f"note:{name}"


def initial(stream: str) -> NoteState:
    return {"name": stream.partition(":")[2], "entries": [], "rest": ""}


def decide(state: NoteState, command: Any, now: int) -> Decision:
    """`{"add": text, "by": who}`, or `settle` a conflict of edits."""
    if command.get("do") == "settle":
        from holdfast.kernel import conflicts

        return conflicts.decide(state, command)
    text, by = as_lines(str(command["add"])), author(str(command["by"]))
    if not text:
        raise Usage("A note needs a text.", hint='holdfast note "what the next reader must know"')
    if len(text) > LONGEST_NOTE:
        raise Usage(
            f"The note has {len(text)} characters; {LONGEST_NOTE} is the most.",
            hint="Put it into a file and note its name.",
        )
    return Decision([("noted", {"text": text, "by": by, "at": clock.stamp(now)})])


def apply(state: NoteState, event: Event) -> NoteState:
    body = event["body"]
    if event["kind"] == "noted":
        return {**state, "entries": [*state["entries"], body]}
    if event["kind"] == "edited_outside":
        removed = body["removed"]
        kept = [entry for entry in state["entries"] if entry not in removed]
        state = {**state, "entries": [*kept, *body["added"]], "rest": body["rest"]}
    if event["kind"] in ("edited_outside", "settled"):
        from holdfast.kernel import conflicts

        state = {**state, **conflicts.after(state, body)}  # type: ignore[typeddict-item]
    return state


def absorb(state: NoteState, base: NoteState, change: Change, now: int) -> list[tuple[str, Any]]:
    """What an editor added to the text of the file, and removed from it."""
    if change["kind"] != "edited":
        return []
    entries, rest = parse_document(change["text"], heading(state), clock.stamp(now))
    known = [_shown(entry) for entry in (*base["entries"], *state["entries"])]
    # An editor's copy has its own line without the date that it got here.
    dated = {one["text"]: one for one in known if one["by"] == OUTSIDE and one not in entries}
    undated = {"at": clock.stamp(now), "by": OUTSIDE}
    entries = [dated.pop(one["text"], one) if {**one, **undated} == one else one for one in entries]
    added: list[Entry] = [entry for entry in entries if _shown(entry) not in known]
    present = [_shown(entry) for entry in entries]
    removed = [entry for entry in base["entries"] if _shown(entry) not in present]
    from holdfast.kernel.merge import merge_texts

    rest = merge_texts(base["rest"], state["rest"], rest)
    if not added and not removed and rest == state["rest"]:
        return []
    body = {"path": change["path"], "added": added, "removed": removed, "rest": rest}
    return [("edited_outside", body)]


def render(state: NoteState) -> dict[str, str]:
    if not state["entries"] and not state["rest"]:
        return {}
    return {f".notes/{state['name']}.md": write_document(state)}


def heading(state: NoteState) -> str:
    return f"# Notes: {state['name']}"


def _shown(entry: Entry) -> Entry:
    """An entry as its file shows it: the journal keeps what was said."""
    return {"at": entry["at"], "by": harmless(entry["by"]), "text": harmless(entry["text"])}


def write_document(state: NoteState) -> str:
    lines = [heading(state), ""]
    for entry in map(_shown, state["entries"]):
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


def parse_document(text: str, title: str, now: str) -> tuple[list[Entry], str]:
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
        return {"at": now, "by": OUTSIDE, "text": line}
    if not colon:
        return {"at": now, "by": OUTSIDE, "text": line}
    return {"at": at, "by": by, "text": text}
