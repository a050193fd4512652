"""The text of `agent_comms/*.md`: one file for each sender and receiver, the newest message on top.

Other agents write these files with a shell, so reading is tolerant and nothing unknown is touched.
"""

from __future__ import annotations

from holdfast.fleet.rules.model import CADENCE, STALE_AFTER, WARNING_AFTER
from holdfast.fleet.rules.model import UNREAD as UNREAD
from holdfast.fleet.rules.names import short_of
from holdfast.kernel import clock
from holdfast.kernel.text import without_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import TypedDict

    class Message(TypedDict):
        """One message; `number` is 0 when its heading has none."""

        number: int
        at: str
        read: bool
        subject: str
        action: str
        details: str
        next: str
        acknowledge: str


READ = "✅ READ"
NO_MESSAGES = "(No messages yet)"
FIELDS = ("subject", "action", "details", "next", "acknowledge")
HEADING = "## Message"
# What continues a field stands nine blanks in, so no line of a field can be taken for a heading.
INDENT = " " * 9
# The mark inside somebody's text, with one blank more: it reads the same and is not counted.
_QUOTED_UNREAD = UNREAD.replace(" ", "  ")


def title(sender: str, receiver: str) -> str:
    """`# Messages: Primary → Secondary-A`"""
    return f"# Messages: {short_of(sender)} → {short_of(receiver)}"


def empty(sender: str, receiver: str) -> str:
    """A file that nobody has written to yet."""
    return f"{title(sender, receiver)}\n\n{NO_MESSAGES}\n"


def minute(instant: int) -> str:
    """`YYYY-MM-DD HH:MM`, UTC."""
    return clock.stamp(instant)[:16].replace("T", " ")


def compose(number: int, at_ms: int, fields: Mapping[str, str]) -> str:
    """One message. Fields that say nothing are left out, but for the subject. FLEET-50"""
    lines = [f"{HEADING} {number} ({minute(at_ms)}) {UNREAD}"]
    for name in FIELDS:
        text = fields.get(name, "")
        lines_said = [" ".join(text.split())] if name == "subject" else text.splitlines()
        said = _without_blank_ends([_harmless(line) for line in lines_said])
        if said or name == "subject":
            lines.append(f"**{name.capitalize()}:** {''.join(said[:1])}".rstrip())
            lines += [f"{INDENT}{line}" if line else "" for line in said[1:]]
    return "\n".join(lines) + "\n"


def _harmless(line: str) -> str:
    return without_controls(line.rstrip()).replace(UNREAD, _QUOTED_UNREAD)


def _without_blank_ends(lines: list[str]) -> list[str]:
    said = [position for position, line in enumerate(lines) if line]
    return lines[said[0] : said[-1] + 1] if said else []


def split(text: str) -> tuple[str, list[str]]:
    """What stands above the first message, and the messages, each with all that follows it."""
    starts = [0] if text.startswith(HEADING) else []
    position = text.find(f"\n{HEADING}")
    while position >= 0:
        starts.append(position + 1)
        position = text.find(f"\n{HEADING}", position + 1)
    if not starts:
        return text, []
    ends = [*starts[1:], len(text)]
    return text[: starts[0]], [text[a:b] for a, b in zip(starts, ends, strict=True)]


def next_number(text: str) -> int:
    """The headings there are, and one; AMB-FLEET-18."""
    return len(split(text)[1]) + 1


def insert(text: str, message: str) -> str:
    """The file with a message directly below its H1, or on top where it has none."""
    lines = text.split("\n")
    below = next((at for at, line in enumerate(lines) if line.startswith("# ")), -1) + 1
    head, rest = lines[:below], lines[below:]
    if NO_MESSAGES in rest:
        rest.remove(NO_MESSAGES)
    after = "\n".join(rest)
    if not after.strip("\n"):
        after = ""
    elif not after.startswith("\n"):
        after = f"\n{after}"
    before = "\n".join([*head, "", ""]) if head else ""
    return f"{before}{message}{after}"


def unread(text: str) -> int:
    """How many marks say that a message was not read yet."""
    return text.count(UNREAD)


def mark_read(text: str, numbers: Collection[int] | None) -> str:
    """The file with these messages marked as read; without numbers, all of it.

    The whole message, because some carry their mark in a line of its own.
    """
    if numbers is None:
        return text.replace(UNREAD, READ)
    above, blocks = split(text)
    marked = [
        block.replace(UNREAD, READ) if _number_of(block) in numbers else block for block in blocks
    ]
    return above + "".join(marked)


def parse(text: str) -> list[Message]:
    """The messages in the order of the file, as far as they can be understood."""
    return [_message(block) for block in split(text)[1]]


def _number_of(block: str) -> int:
    word = block[len(HEADING) :].split("\n", 1)[0].strip(" #:").split(" ")[0]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else 0


def _message(block: str) -> Message:
    heading, *lines = block.split("\n")
    _, bracket, rest = heading.partition("(")
    said: dict[str, list[str]] = {name: [] for name in FIELDS}
    field = "details"
    for line in lines:
        name, colon, value = line.rstrip().removeprefix("**").partition(":**")
        if colon and line.startswith("**") and name.lower() in said:
            said[name.lower()].append(value.strip())
            # A subject is one line; what follows it and is no field has to be told somewhere.
            field = name.lower() if name.lower() != "subject" else "details"
        elif not line.startswith("# "):
            said[field].append(line.rstrip().removeprefix(INDENT))
    texts = {name: "\n".join(_without_blank_ends(lines)) for name, lines in said.items()}
    return {
        "number": _number_of(block),
        "at": rest.partition(")")[0] if bracket else "",
        "read": UNREAD not in block,
        "subject": texts["subject"],
        "action": texts["action"],
        "details": texts["details"],
        "next": texts["next"],
        "acknowledge": texts["acknowledge"],
    }


def warning(last_checkpoint_ms: int, age_minutes: int) -> dict[str, str]:
    """What an agent is told that has not been heard of: the subject names the limit, the details the
    real age. FLEET-51..55, AMB-FLEET-02"""
    at = clock.stamp(last_checkpoint_ms)[11:16]
    cadence = CADENCE // clock.MINUTE
    return {
        "subject": f"CHECKPOINT WARNING - No Update in {WARNING_AFTER} Minutes",
        "action": "Please update your checkpoint and confirm you're still working",
        "details": f"Your last checkpoint was at {at} ({age_minutes} minutes ago)\n"
        f"Expected checkpoint every {cadence} minutes\n"
        "Are you still actively working?",
        "next": 'Reply "Still working" and update checkpoint ASAP',
        "acknowledge": "Reply immediately",
    }


def notice(agent: str) -> str:
    """What the user is told about an agent that is presumed to have crashed; FLEET-57."""
    return f"{agent} hasn't updated checkpoint in {STALE_AFTER} minutes"
