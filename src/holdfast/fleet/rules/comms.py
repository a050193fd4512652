"""Messages between two agents: the rules of the `comms:<epic path>/<sender>_to_<receiver>` streams, and the
text of their files.

The view is `agent_comms/<sender>_to_<receiver>.md` in the epic's folder, the newest message on top. Other agents
write it too, with a shell, at any time. So reading is tolerant, nothing unknown is touched, and their messages and
ours are merged message by message: merged line by line, two messages that came in at the same place would be
mixed, because they share lines such as `**Acknowledge:** No action needed`.
"""

from __future__ import annotations

from holdfast.fleet.rules.model import (
    CADENCE,
    COMMS,
    EPIC_README,
    STALE_AFTER,
    UNREAD,
    WARNING_AFTER,
    check_agent,
    readme_key,
    short_of,
    stem_of,
)
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.merge import merge_lines
from holdfast.kernel.rules import Decision
from holdfast.kernel.text import harmless, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, NotRequired, TypedDict

    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change

    # How a message begins, without its mark, and its number among those that begin so, from below.
    Key = tuple[str, int]

    class AgentMessage(TypedDict):
        """One message; `number` is 0 when its heading has none."""

        number: int
        at: str
        read: bool
        subject: str
        action: str
        details: str
        next: str
        acknowledge: str

    class CommsState(TypedDict):
        """`warned` and `escalated` are the last_checkpoint that each happened for; AMB-FLEET-03. `sent` has the
        times and subjects of the last messages from here."""

        stream: str
        sender: str
        receiver: str
        text: str
        warned: str
        escalated: str
        sent: NotRequired[list[list[str]]]


ARCHIVE = f"{COMMS}/archive"
LONGEST_FIELD = 100_000
SENT_REMEMBERED = 20
_ENDING = ".md"
READ = "✅ READ"
NO_MESSAGES = "(No messages yet)"
FIELDS = ("subject", "action", "details", "next", "acknowledge")
HEADING = "## Message"
# The lines of a field are indented by nine blanks, so that none of them looks like a heading.
INDENT = " " * 9
# The mark inside a message's text, with one more blank: it is not counted.
_QUOTED_UNREAD = UNREAD.replace(" ", "  ")


def channel_of(sender: str, receiver: str) -> str:
    """The last part of the stream's name: `primary_to_secondary_a`."""
    return f"{stem_of(sender)}_to_{stem_of(receiver)}"


def view_of(stream: str) -> str:
    """The file of a stream, from the worktree's top."""
    folder, slash, channel = stream.partition(":")[2].rpartition("/")
    return f"{folder}{slash}{COMMS}/{channel}{_ENDING}"


def archive_name(channel: str, now: int, copy: int = 1) -> str:
    """`agent_comms/archive/<channel>_YYYYMMDD_HHMM.md`; a second one of a minute has a number."""
    stamp = clock.stamp(now)
    when = f"{stamp[:10].replace('-', '')}_{stamp[11:16].replace(':', '')}"
    number = f"_{copy}" if copy > 1 else ""
    return f"{ARCHIVE}/{channel}_{when}{number}{_ENDING}"


def initial(stream: str) -> CommsState:
    return {
        "stream": stream,
        "sender": "",
        "receiver": "",
        "text": "",
        "warned": "",
        "escalated": "",
    }


def decide(state: CommsState, command: Any, now: int) -> Decision:
    """`open`, `send`, `escalate`, `read`, `archive`; each but `escalate` names sender and receiver."""
    what = command["do"]
    if what == "escalate":
        return _escalate(state, command)
    opened = _open(state, command)
    if what == "open":
        return Decision(opened)
    if what == "send":
        return _send(state, opened, command, now)
    if what == "read":
        if mark_read(state["text"], command["numbers"]) == state["text"]:
            return Decision(opened)
        return Decision([*opened, ("read", {"numbers": command["numbers"]})])
    if what == "archive":
        if not split(state["text"])[1]:
            return Decision(opened)
        record = ("archived", {"path": command["to"]})
        return Decision([*opened, record], moves=[(view_of(state["stream"]), command["to"])])
    raise Usage(f"Messages cannot {what!r}.")


def _open(state: CommsState, command: Any) -> list[tuple[str, Any]]:
    """The record of sender and receiver, made once. It also makes the file known, so that an existing file
    is taken in."""
    if state["sender"]:
        return []
    sender, receiver = check_agent(command["sender"]), check_agent(command["receiver"])
    channel = channel_of(sender, receiver)
    if sender == receiver:
        raise Usage(f"{sender} cannot write to itself.", hint="Name another agent: --from AGENT")
    if state["stream"].replace(":", "/").rpartition("/")[2] != channel:
        raise Usage(f"{state['stream']} does not carry messages from {sender} to {receiver}.")
    return [("opened", {"sender": sender, "receiver": receiver})]


def _send(state: CommsState, opened: list[tuple[str, Any]], command: Any, now: int) -> Decision:
    warns = command.get("warns", "")
    if warns and warns == state["warned"]:
        return Decision()
    fields = {name: str(command["fields"].get(name) or "") for name in FIELDS}
    if not fields["subject"].strip():
        raise Usage("A message needs a subject.", hint='--subject "what it is about"')
    for name, text in fields.items():
        if len(text) > LONGEST_FIELD:
            raise Usage(
                f"{name} has {len(text)} characters; {LONGEST_FIELD} is the most.",
                hint="Put it into a file and name that.",
            )
    said = {name: text for name, text in fields.items() if text}
    body = {"number": next_number(state["text"]), "at": clock.stamp(now), **said}
    return Decision([*opened, ("sent", {**body, "warns": warns} if warns else body)])


def _escalate(state: CommsState, command: Any) -> Decision:
    """Escalate once for each last_checkpoint; the command's other fields go to EPIC_README.md's edit."""
    about = command["about"]
    if about == state["escalated"]:
        return Decision()
    agent = check_agent(command["agent"])
    known = ("do", "about", "sender", "receiver")
    more = {name: value for name, value in command.items() if name not in known}
    key = readme_key(state["stream"].partition(":")[2].rpartition("/")[0], agent, "stale")
    return Decision(
        [("escalated", {"about": about, "agent": agent})],
        [{"kind": EPIC_README, "key": key, "body": {"change": "stale", **more}}],
    )


def apply(state: CommsState, event: Event) -> CommsState:
    kind, body = event["kind"], event["body"]
    if kind == "opened":
        text = state["text"] if state["text"].strip() else empty(body["sender"], body["receiver"])
        return {**state, "sender": body["sender"], "receiver": body["receiver"], "text": text}
    if kind == "sent":
        message = compose(body["number"], clock.parse(body["at"]), body)
        warned = body.get("warns") or state["warned"]
        text = insert(state["text"], message)
        subject = [minute(clock.parse(body["at"])), _message(message)["subject"]]
        sent = [*state.get("sent", []), subject][-SENT_REMEMBERED:]
        return {**state, "text": text, "warned": warned, "sent": sent}
    if kind == "read":
        return {**state, "text": mark_read(state["text"], body["numbers"])}
    if kind in ("archived", "reinitialised"):
        return {**state, "text": _fresh(state)}
    if kind == "escalated":
        return {**state, "escalated": body["about"]}
    if kind == "edited_outside":
        return {**state, "text": body["text"]}
    return state


def _fresh(state: CommsState) -> str:
    return empty(state["sender"], state["receiver"]) if state["sender"] else ""


def absorb(state: CommsState, base: CommsState, change: Change, now: int) -> list[tuple[str, Any]]:
    """The records for an edit; any text is valid. An emptied file begins anew, and its old content is
    recorded. An unread message that its author has not seen is put back."""
    if change["kind"] != "edited":
        return []
    if not change["text"].strip():
        if state["text"] == _fresh(state):
            return []
        return [("reinitialised", {"path": change["path"], "held": state["text"]})]
    text = merge(base["text"], state["text"], change["text"])
    familiar = change["familiar"]["text"] if change["familiar"] else ""
    text = put_back_unseen(state["text"], change["text"], text, familiar)
    text = renumber(text, change["text"], state.get("sent", []))
    if text == state["text"]:
        return []
    return [("edited_outside", {"path": change["path"], "text": text})]


def render(state: CommsState) -> dict[str, str]:
    return {view_of(state["stream"]): state["text"]} if state["text"] else {}


# The text of a file


def title(sender: str, receiver: str) -> str:
    """`# Messages: Primary → Secondary-A`"""
    return f"# Messages: {short_of(sender)} → {short_of(receiver)}"


def empty(sender: str, receiver: str) -> str:
    """A file without messages."""
    return f"{title(sender, receiver)}\n\n{NO_MESSAGES}\n"


def minute(instant: int) -> str:
    """`YYYY-MM-DD HH:MM`, UTC."""
    return clock.stamp(instant)[:16].replace("T", " ")


def compose(number: int, at_ms: int, fields: Mapping[str, str]) -> str:
    """One message. Empty fields are left out, except the subject. FLEET-50"""
    lines = [f"{HEADING} {number} ({minute(at_ms)}) {UNREAD}"]
    for name in FIELDS:
        text = fields.get(name, "")
        lines_said = [one_line(text)] if name == "subject" else text.splitlines()
        said = _without_blank_ends([_harmless(line) for line in lines_said])
        if said or name == "subject":
            lines.append(f"**{name.capitalize()}:** {''.join(said[:1])}".rstrip())
            lines += [f"{INDENT}{line}" if line else "" for line in said[1:]]
    return "\n".join(lines) + "\n"


def _harmless(line: str) -> str:
    return harmless(line.rstrip()).replace(UNREAD, _QUOTED_UNREAD)


def _without_blank_ends(lines: list[str]) -> list[str]:
    said = [position for position, line in enumerate(lines) if line]
    return lines[said[0] : said[-1] + 1] if said else []


def split(text: str) -> tuple[str, list[str]]:
    """The text above the first message, and the messages, each with the text below it."""
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
    """The number of headings plus one; the next one that is free, if messages were deleted. AMB-FLEET-18"""
    blocks = split(text)[1]
    number, taken = len(blocks) + 1, set(map(_number_of, blocks))
    while number in taken:
        number += 1
    return number


def renumber(text: str, theirs: str, sent: Sequence[Sequence[str]]) -> str:
    """The text with a new number for each message that we `sent` (its time and subject) while an author who had
    not seen it gave its number to another one."""
    above, blocks = split(text)
    seen = split(theirs)[1]
    for position in reversed(range(len(blocks))):
        block = blocks[position]
        number = _number_of(block)
        others = [_number_of(other) for at, other in enumerate(blocks) if at != position]
        if number in others and not _is_in(block, seen):
            message = _message(block)
            if [message["at"], message["subject"]] in [list(one) for one in sent]:
                free = next_number("".join(blocks))
                blocks[position] = block.replace(f"{HEADING} {number}", f"{HEADING} {free}", 1)
    return above + "".join(blocks)


def insert(text: str, message: str) -> str:
    """The file with a message directly below its H1, or at the top if it has none."""
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


def mark_read(text: str, numbers: Collection[int] | None) -> str:
    """The file with these messages marked as read; without numbers, as earlier versions recorded it, all of it.

    The whole message is searched, because some have their mark on a line of its own.
    """
    if numbers is None:
        return text.replace(UNREAD, READ)
    above, blocks = split(text)
    marked = [
        block.replace(UNREAD, READ) if _number_of(block) in numbers else block for block in blocks
    ]
    return above + "".join(marked)


def parse(text: str) -> list[AgentMessage]:
    """The messages in the order of the file."""
    return [_message(block) for block in split(text)[1]]


def _number_of(block: str) -> int:
    word = block[len(HEADING) :].split("\n", 1)[0].strip(" #:").split(" ")[0]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else 0


def _message(block: str) -> AgentMessage:
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
    """The warning to a silent agent: the subject names the limit, the details the real age.
    FLEET-51..55, AMB-FLEET-02"""
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
    """The notice to the user about an agent that probably crashed; FLEET-57."""
    return f"{agent} hasn't updated checkpoint in {STALE_AFTER} minutes"


# Two edits of one file


def merge(base: str, ours: str, theirs: str) -> str:
    """Both sides' messages, marks and other text. `base` is the text that both started from."""
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    above, blocks = zip(*(split(text) for text in (base, ours, theirs)), strict=True)
    shared = {heading for each in blocks for heading in _more_than_once(each)}
    kept = _merge_blocks(*(_key_blocks(each, shared) for each in blocks))
    if not kept:
        return merge_lines(*above)
    lasts = [each[-1] for each in blocks[1:] if each]
    heads = [one.replace(f"{NO_MESSAGES}\n", "", 1) for one in above]
    pieces = [merge_lines(*heads), *kept]
    spaced = [_end_piece(piece, apart=piece in lasts) for piece in pieces[:-1]]
    return "".join(spaced) + pieces[-1]


def put_back_unseen(known: str, theirs: str, text: str, familiar: str = "") -> str:
    """The text, with the unread messages put back that the author of `theirs` has not seen.

    A shell that read the file before a message came in writes the file back without that message, and with
    what it changed; a script that begins writes an empty file. A person who only deletes messages has seen
    them, and so has every author who knows a `familiar` text with them: what these deleted stays deleted.
    """
    if _is_removal(known, theirs):
        return text
    blocks, left = split(known)[1], split(theirs)[1]
    seen = split(familiar)[1] if left else []
    for position in reversed(range(len(blocks))):
        block = blocks[position]
        there = split(text)[1]
        if UNREAD in block and not _is_in(block, there) and not _is_in(block, seen):
            below = any(_is_in(each, there) for each in blocks[position + 1 :])
            text = _put_back(text, block, is_last=bool(there) and not below)
    return text


def _put_back(text: str, block: str, *, is_last: bool) -> str:
    if is_last:
        return f"{text.rstrip()}\n\n{block.rstrip()}\n"
    return insert(text, block.rstrip("\n") + "\n")


def _is_removal(known: str, theirs: str) -> bool:
    """Whether a file is another one without some of its messages."""
    (above, blocks), (head, left) = split(known), split(theirs)
    present = iter([block.rstrip() for block in blocks])
    is_subset = all(block.rstrip() in present for block in left)
    return is_subset and head.rstrip() == above.rstrip()


def _is_in(block: str, others: list[str]) -> bool:
    """Whether a message is among others: edited below its subject, or half written before."""
    return any(_begin(other, 2) == _begin(block, 2) or _grew(block, other) for other in others)


def _grew(block: str, other: str) -> bool:
    """Whether the other message begins with this one: a shell writes line by line."""
    return _all_read(other).rstrip().startswith(_all_read(block).rstrip())


def _end_piece(piece: str, *, apart: bool) -> str:
    """A piece that another one follows; the last one of a file had no blank line below."""
    if not piece:
        return piece
    ended = piece if piece.endswith("\n") else f"{piece}\n"
    return f"{ended}\n" if apart and not ended.endswith("\n\n") else ended


def _more_than_once(blocks: list[str]) -> set[str]:
    seen: set[str] = set()
    twice: set[str] = set()
    for block in blocks:
        heading = _begin(block, 1)
        (twice if heading in seen else seen).add(heading)
    return twice


def _key_blocks(blocks: list[str], shared: set[str]) -> dict[Key, str]:
    """The messages by their headings, and by their subjects where two have the same heading."""
    seen: dict[str, int] = {}
    keyed: dict[Key, str] = {}
    for block in reversed(blocks):
        begin = _begin(block, 1)
        if begin in shared:
            begin = _begin(block, 2)
        seen[begin] = seen.get(begin, 0) + 1
        keyed[begin, seen[begin]] = block
    return dict(reversed(keyed.items()))


def _begin(block: str, lines: int) -> str:
    return _all_read("\n".join(block.split("\n", lines)[:lines]))


def _all_read(text: str) -> str:
    return text.replace(UNREAD, READ)


def _merge_blocks(base: dict[Key, str], ours: dict[Key, str], theirs: dict[Key, str]) -> list[str]:
    keys: list[Key | None] = []
    result: list[str] = []
    new = [block for key, block in theirs.items() if key not in base]
    for key, mine in ours.items():
        before, other = base.get(key), theirs.get(key)
        if before is not None and other is None and _all_read(mine) == _all_read(before):
            continue  # they took it out
        if before is None and other is None and any(_grew(mine, each) for each in new):
            continue  # it is whole now
        if other is not None and (before is not None or _grew(mine, other) or _grew(other, mine)):
            keys.append(key)
            result.append(_merge_block(before or "", mine, other))
        else:
            keys.append(None if other is not None else key)
            result.append(mine)
    below = len(result)
    for key, other in reversed(theirs.items()):
        before = base.get(key)
        if key in keys:
            below = keys.index(key)
        elif before is None or (key not in ours and _all_read(other) != _all_read(before)):
            keys.insert(below, key)
            result.insert(below, other)
    return result


def _merge_block(base: str, ours: str, theirs: str) -> str:
    """One message that both sides may have changed; a message that one side read is read."""
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    if not (UNREAD in ours and UNREAD in theirs) and (not base or UNREAD in base):
        base, ours, theirs = _all_read(base), _all_read(ours), _all_read(theirs)
    return merge_lines(base, ours, theirs)
