"""Messages between agents: sending them, and looking into an agent's inbox.

An inbox is every `agent_comms/*_to_<agent>.md` of the epic, whoever writes into it.
"""

from __future__ import annotations

import os

from holdfast.fleet.arrivals import bring
from holdfast.fleet.rules import comms, messages
from holdfast.fleet.rules.model import COMMS, PRIMARY
from holdfast.fleet.rules.names import agent_of, check_agent, message_path, stem_of
from holdfast.fleet.unread import inbox_files
from holdfast.kernel.views.files import Unreadable, read_file
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    from holdfast.fleet.epic import Epic
    from holdfast.fleet.rules.messages import Message
    from holdfast.kernel.commit import Outcome

    class Taken(TypedDict):
        """What was in an inbox: its files with their messages, how many were new, and what was done
        about it."""

        files: list[tuple[str, list[Message]]]
        unread: int
        archived: list[tuple[str, str]]
        outcomes: list[Outcome]
        warnings: list[str]


def send(
    epic: Epic,
    sender: str,
    receiver: str,
    fields: Mapping[str, str],
    *,
    actor: str,
    now: int,
    warns: str = "",
) -> Outcome:
    """Deliver a message, in its file. `warns` is the last_checkpoint that it warns about: a second
    warning for the same one is not sent. A file that was deleted is there again, with all of it."""
    more = {"fields": dict(fields), "warns": warns}
    return _execute(epic, "send", sender, receiver, more, actor=actor, now=now)


def open_channel(epic: Epic, sender: str, receiver: str, *, actor: str, now: int) -> Outcome:
    """The file, with its title, for messages to come."""
    return _execute(epic, "open", sender, receiver, {}, actor=actor, now=now)


def inbox(epic: Epic, agent: str) -> list[tuple[str, list[Message]]]:
    """Each file of an agent's inbox, as the epic calls it, and its messages, newest first."""
    return [(path, messages.parse(text)) for path, text, _ in _files(epic, agent)]


def take(
    epic: Epic,
    agent: str,
    *,
    unread: bool = False,
    keep_unread: bool = False,
    put_away: bool = False,
    actor: str,
    now: int,
) -> Taken:
    """Look into an inbox: what is shown counts as read from then on, unless it is to stay unread."""
    outcomes: list[Outcome] = []
    warnings: list[str] = []
    bring(epic, agent)
    found = inbox(epic, agent)
    if not found and not keep_unread and agent != PRIMARY:
        path = message_path(PRIMARY, agent)
        existed = os.path.lexists(epic.file(path))
        outcomes.append(open_channel(epic, PRIMARY, agent, actor=actor, now=now))
        if not existed and not outcomes[0]["queued"]:
            warnings.append(f"{path} was missing; it is there now.")
        found = inbox(epic, agent)
    files = [
        (path, [message for message in messages if not (unread and message["read"])])
        for path, messages in found
    ]
    fresh = sum(not message["read"] for _, messages in files for message in messages)
    if fresh and not keep_unread:
        shown = {path: [message["number"] for message in each] for path, each in files}
        outcomes += mark_read(epic, agent, shown, actor=actor, now=now)
    archived = archive(epic, agent, actor=actor, now=now) if put_away else []
    return {
        "files": files,
        "unread": fresh,
        "archived": archived,
        "outcomes": outcomes,
        "warnings": warnings,
    }


def mark_read(
    epic: Epic,
    agent: str,
    shown: Mapping[str, Sequence[int]] | None = None,
    *,
    actor: str,
    now: int,
) -> list[Outcome]:
    """Mark messages as read: the numbers of each file, or all of them."""
    outcomes = []
    for path, text, sender in _files(epic, agent):
        numbers = None if shown is None else [*shown.get(path, ())]
        if messages.mark_read(text, numbers) != text:
            more = {"numbers": numbers}
            outcomes.append(_execute(epic, "read", sender, agent, more, actor=actor, now=now))
    return outcomes


def archive(epic: Epic, agent: str, *, actor: str, now: int) -> list[tuple[str, str]]:
    """Move every file of an inbox that holds messages aside, and begin it anew; from where to where."""
    moved = []
    for path, text, sender in _files(epic, agent):
        if not messages.parse(text):
            continue
        name = _unused(epic, comms.channel_of(sender, agent), now)
        more = {"to": epic.path(name)}
        outcome = _execute(epic, "archive", sender, agent, more, actor=actor, now=now)
        if outcome["records"]:
            moved.append((path, name))
    return moved


def _unused(epic: Epic, channel: str, now: int) -> str:
    copy = 1
    while os.path.lexists(epic.file(comms.archive_name(channel, now, copy))):
        copy += 1
    return comms.archive_name(channel, now, copy)


def _execute(
    epic: Epic, do: str, sender: str, receiver: str, more: Any, *, actor: str, now: int
) -> Outcome:
    check_agent(sender)
    check_agent(receiver)
    stream = epic.stream("comms", comms.channel_of(sender, receiver))
    command = {"do": do, "sender": sender, "receiver": receiver, **more}
    writer = open_writer(epic.workspace)
    return writer.execute(stream, command, actor=actor, now=now, raise_removed=True)


def _files(epic: Epic, agent: str) -> list[tuple[str, str, str]]:
    """Path, text and sender of each file of an inbox; what cannot be read is left out."""
    files = []
    for name in inbox_files(epic, agent):
        path = f"{COMMS}/{name}"
        try:
            content = read_file(epic.file(path))[1]
        except (FileNotFoundError, Unreadable):
            continue
        text = content.decode("utf-8", "replace").replace("\r\n", "\n")
        files.append((path, text, _sender(name.partition("_to_")[0], text)))
    return files


def _sender(stem: str, text: str) -> str:
    """The agent behind a file's name; the title knows how its letters are written."""
    titled = text.partition("\n")[0].removeprefix("# Messages: ").partition(" → ")[0].strip()
    return titled if stem != stem_of(PRIMARY) and stem_of(titled) == stem else agent_of(stem)
