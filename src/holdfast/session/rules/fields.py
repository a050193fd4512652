"""The fields of a checkpoint, each in one row.

From a row follow the option of the command line, the argument of the tool and of the library, the check of what
a program hands in, the place in `.ccc-progress.md`, what a new value does to the old one, and the words
in the next session's text, in the tracker's comment and in the history.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Kinds: text on one line; a list of such; a list of objects with two parts; text as it is, which only one
# session hands to the next.
LINE, LINES, PAIRS, TEXT = "line", "lines", "pairs", "text"
UNKNOWN_ISSUE = "unknown issue"
DEFAULT_MODE = "checkpoint"
# What the protocol's file has for a reason that was not stated.
NOT_GIVEN = "not given"
LONGEST_LINE = 10_000


class Field:
    """One field of a checkpoint. A row gives what is not as here."""

    # What it is before anything was said; of a list: empty.
    first: Any = ""
    # An input that changes other fields has no value of its own.
    is_stored = True
    # New members of a list are added to the known ones; otherwise a new value replaces the old one.
    adds = False
    # The heading of its section in `.ccc-progress.md`. The sections of the protocol are always there.
    heading = ""
    is_of_protocol = False
    # What stands behind each line of its section, and behind each first part.
    ending, between = "", ""
    # The names of the two parts of a member.
    parts = ("", "")
    # On the command line. A text that can be cleared may be empty there.
    option, help, can_be_empty = "", "", False
    # Its argument in the library and of the tool, where it has another name, and what the tool says of it;
    # the tool has no argument without a description.
    keyword, tool = "", ""
    # The words before it: for the next session, in the tracker's comment, and in the history.
    in_pack, in_comment, in_history = "", "", ""

    def __init__(self, name: str, kind: str, **row: Any) -> None:
        self.name, self.kind = name, kind
        self.is_list = kind in (LINES, PAIRS)
        for attribute, value in row.items():
            if not hasattr(type(self), attribute):
                raise TypeError(f"A field has no {attribute}.")
            setattr(self, attribute, value)
        self.keyword = self.keyword or name

    def begin(self) -> Any:
        """Return the first value."""
        return [] if self.is_list else self.first

    def merge(self, known: Any, given: Any) -> Any:
        """Return the value after another one was given."""
        if self.kind == LINE:
            return one_line(str(given))[:LONGEST_LINE]
        if self.kind == TEXT:
            return given or known
        if self.kind == LINES:
            lines = read_lines(given)
            again = set(lines)
            return [*(one for one in known if one not in again), *lines] if self.adds else lines
        new = [self.read_pair(one) for one in given if one]
        return known + [one for one in new if one not in known] if self.adds else new

    def read_pair(self, given: Any) -> dict[str, str]:
        """Return a member with two parts, which may be given as the file has it."""
        first, second = self.parts
        if isinstance(given, str):
            what, _, why = (
                one_line(given).removesuffix(self.between.strip()).partition(self.between)
            )
            what, why = what.strip() or "unnamed", why.removesuffix(self.ending).strip()
        else:
            what, why = one_line(str(given[first])), one_line(str(given.get(second) or ""))
        return {first: what, second: why or NOT_GIVEN}

    def write_lines(self, value: Any) -> list[str]:
        """Return the lines of its section."""
        if self.kind == PAIRS:
            first, second = self.parts
            return [f"{one[first]}{self.between}{one[second]}{self.ending}" for one in value]
        if self.kind == LINES:
            return [f"{one}{self.ending}" for one in value]
        return [value] if value else []

    def read_value(self, lines: list[str]) -> Any:
        """Return the value that the lines of its section say."""
        if self.kind == PAIRS:
            return [self.read_pair(line) for line in lines]
        if self.kind == LINES:
            # The other layout in use marks a finished task with `[x]`.
            mark = self.ending.strip()
            strip = (line.removesuffix(mark).rstrip().removeprefix("[x] ") for line in lines)
            return list(strip) if mark else lines
        return lines[0] if lines else self.first

    def name_of(self, one: Any) -> str:
        """Return what a member is called: its first part."""
        return str(one[self.parts[0]] if self.kind == PAIRS else one)

    def say(self, one: Any) -> str:
        """Return its value, or a member of it, in words: without a second part that was not given."""
        if self.kind == PAIRS and one[self.parts[1]] == NOT_GIVEN:
            return self.name_of(one)
        return self.write_lines([one])[0] if self.kind == PAIRS else str(one)


FIELDS = (
    Field(
        "issue",
        LINE,
        first=UNKNOWN_ISSUE,
        option="--issue",
        help="The issue, such as CIA-123, #12 or owner/repository#12.",
        tool="ENG-12 or #12.",
    ),
    Field(
        "title",
        LINE,
        option="--title",
        help="The issue's title.",
        can_be_empty=True,
        tool="Issue title.",
        in_pack="Title",
    ),
    Field(
        "mode",
        LINE,
        first=DEFAULT_MODE,
        option="--mode",
        help="The execution mode, such as tdd.",
    ),
    Field(
        "completed",
        LINES,
        adds=True,
        heading="Completed Tasks",
        is_of_protocol=True,
        ending=" ✓",
        in_pack="Completed",
    ),
    Field(
        "current",
        LINE,
        heading="Current Task",
        is_of_protocol=True,
        option="--task",
        help="The task that you work on.",
        can_be_empty=True,
        keyword="task",
        tool="Current task.",
        in_pack="Current task",
    ),
    Field(
        "status",
        LINE,
        option="--status",
        help="How far that task is.",
        can_be_empty=True,
        tool="How far it is.",
    ),
    Field(
        "done",
        LINES,
        is_stored=False,
        option="--done",
        help="A finished task; repeatable. Added to the others.",
        tool="Tasks finished.",
    ),
    Field(
        "remaining",
        LINES,
        heading="Remaining Tasks",
        is_of_protocol=True,
        option="--remaining",
        help="A task that is left; repeatable. Replaces the list.",
        can_be_empty=True,
        tool="Tasks left; a new list.",
        in_pack="Remaining",
    ),
    Field(
        "decisions",
        PAIRS,
        parts=("decision", "rationale"),
        between=": ",
        adds=True,
        heading="Decisions Made",
        is_of_protocol=True,
        option="--decision",
        help='A decision, "what: why"; repeatable.',
        tool='New ones, "what: why".',
        in_pack="Decision",
        in_comment="Decisions",
        in_history="decided",
    ),
    Field(
        "blockers",
        PAIRS,
        parts=("blocker", "until"),
        between=" (unblocked by: ",
        ending=")",
        heading="Blockers",
        is_of_protocol=True,
        option="--blocker",
        help='A blocker, "what (unblocked by: condition)"; repeatable. Replaces the list.',
        can_be_empty=True,
        tool='"what (unblocked by: x)"; replaces the list.',
        in_pack="Blocker",
        in_comment="Blockers",
        in_history="blocked",
    ),
    Field(
        "next",
        LINE,
        is_stored=False,
        option="--next",
        help="The next action, as specific as possible. An empty one clears the last.",
        can_be_empty=True,
        tool='Next action; "" clears.',
    ),
    Field(
        "handover",
        LINE,
        is_stored=False,
        option="--handover",
        help="Findings with their reasons, dead ends, what is wanted and what is not done, for the next session; at most 2,000 characters.",
        tool="Findings, dead ends, wanted, not done.",
    ),
    Field("prompt", TEXT, heading="Continuation Prompt", is_of_protocol=True),
    Field("extra", TEXT),
)
STORED = [field for field in FIELDS if field.is_stored]
GIVEN = [field for field in FIELDS if field.kind != TEXT]
IN_SECTIONS = [field for field in STORED if field.heading]


def field_of(name: str) -> Field:
    return next(field for field in FIELDS if field.name == name)


def read_lines(given: Iterable[Any]) -> list[str]:
    """Return the texts of a list, each on one line, without empty ones."""
    lines = (one_line(str(one))[:LONGEST_LINE] for one in given)
    return [line for line in lines if line]


def one_line(text: str) -> str:
    """Return a value as one line of the file can hold it."""
    return " ".join(text.replace("\0", " ").split())
