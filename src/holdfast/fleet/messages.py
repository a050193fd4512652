"""Messages between agents: send them, and read an agent's inbox.

An inbox is every `agent_comms/*_to_<agent>.md` of the epic, by any writer. Every heartbeat counts
the unread messages, so what only the other functions need is imported in them.
"""

from __future__ import annotations

from holdfast.fleet.rules.model import (
    COMMS,
    PRIMARY,
    UNREAD,
    agent_of,
    check_agent,
    message_path,
    stem_of,
)
from holdfast.kernel import clock, latch
from holdfast.kernel.commit import REPAIR, Order, commit
from holdfast.kernel.errors import Usage
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.stops import words as stop_text
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import nearest
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    from holdfast.fleet.context import FleetContext
    from holdfast.fleet.epic import Epic
    from holdfast.fleet.rules.comms import AgentMessage
    from holdfast.kernel.commit import Outcome

    class SendResult(TypedDict):
        """`path` is the message file on disk; `number` is 0 while the message is queued."""

        outcome: Outcome
        path: str
        number: int
        warnings: list[str]

    class InboxResult(TypedDict):
        """The inbox's files with their messages, how many were unread, and the files that were moved:
        paths are from the folder of `epic`."""

        epic: Epic
        files: list[tuple[str, list[AgentMessage]]]
        unread: int
        archived: list[tuple[str, str]]
        outcomes: list[Outcome]
        warnings: list[str]


_UNREAD = UNREAD.encode()
_ENDING = ".md"


def send(context: FleetContext, id: str, *, sender: str = PRIMARY, **fields: str) -> SendResult:
    """Write a message, with its `fields`, into the receiver's inbox."""
    from holdfast.fleet.rules.comms import FIELDS

    for name in fields.keys() - FIELDS:
        raise Usage(f"A message has no {name}.", hint=nearest(name, FIELDS))
    receiver = context.agent(id)
    warnings = []
    if receiver.state["checkpoint"] is None and not receiver.read()[1]:
        warnings.append(f"No agent called {receiver.id} has begun yet; the message waits.")
    outcome = write_message(context, receiver.epic, sender, receiver.id, fields)
    return {
        "outcome": outcome,
        "path": receiver.epic.file(message_path(sender, receiver.id)),
        "number": 0 if outcome["queued"] else outcome["records"][-1]["body"]["number"],
        "warnings": warnings,
    }


def inbox(
    context: FleetContext,
    id: str,
    *,
    unread: bool = False,
    keep_unread: bool = False,
    archive: bool = False,
) -> InboxResult:
    """Read an inbox. What it shows counts as read from then on, unless it is to stay unread.

    Args:
        unread: leave out what was read before.
        archive: move the files to agent_comms/archive/ afterwards.
    """
    if keep_unread and archive:
        raise Usage(
            "What is archived counts as read.", hint="Leave --keep-unread or --archive out."
        )
    stopped = latch.read(context.worktree)
    if not keep_unread:
        refuse_stopped(context.worktree, "Your messages stay unread.")
    agent = context.agent(id)
    epic = agent.epic
    outcomes: list[Outcome] = []
    warnings = [f"{stop_text(stopped)}."] if stopped else []
    bring_messages(epic, id)
    found = read_inbox(epic, id)
    if not found and not keep_unread and id != PRIMARY:
        path = message_path(PRIMARY, id)
        existed = epic.tree_file(path).status() is not None
        outcomes.append(open_channel(context, epic, PRIMARY, id))
        is_made = all(view["status"] != "failed" for view in outcomes[0]["views"])
        if not existed and is_made and not outcomes[0]["queued"]:
            warnings.append(f"{path} was missing; it is there now.")
        found = read_inbox(epic, id)
    files = [
        (path, [message for message in messages if not (unread and message["read"])])
        for path, messages in found
    ]
    count = sum(not message["read"] for _, messages in files for message in messages)
    if count and not keep_unread:
        shown = {path: [message["number"] for message in each] for path, each in files}
        outcomes += mark_read(context, epic, id, shown)
    archived = move_aside(context, epic, id) if archive else []
    if not keep_unread and agent.is_here and agent.state["checkpoint"] is not None:
        update: dict[str, Any] = {"unread_messages": unread_count(epic, id)}
        if agent.is_caller():
            update["last_inbox_check"] = clock.stamp(context.now)
        outcomes.append(agent.execute({"do": "coordinate", "set": update}))
    return {
        "epic": epic,
        "files": files,
        "unread": count,
        "archived": archived,
        "outcomes": outcomes,
        "warnings": warnings,
    }


def tell_primary(context: FleetContext, sender: str, fields: Mapping[str, str]) -> None:
    """Write a message of an agent to the Primary, where the Primary keeps its files."""
    write_message(context, context.agent(PRIMARY).epic, sender, PRIMARY, fields)


# One epic's message files


def write_message(
    context: FleetContext,
    epic: Epic,
    sender: str,
    receiver: str,
    fields: Mapping[str, str],
    *,
    warns: str = "",
) -> Outcome:
    """Write a message into its file; a file that was deleted is written again, with all its messages.
    `warns` is the last_checkpoint that the message warns about: each gets one warning only."""
    return _execute(context, epic, "send", sender, receiver, fields=dict(fields), warns=warns)


def open_channel(context: FleetContext, epic: Epic, sender: str, receiver: str) -> Outcome:
    """Create the file for messages to come, with its title."""
    return _execute(context, epic, "open", sender, receiver)


def read_inbox(epic: Epic, agent: str) -> list[tuple[str, list[AgentMessage]]]:
    """Each file of an agent's inbox, by its path in the epic, and its messages, newest first."""
    from holdfast.fleet.rules.comms import parse

    return [(path, parse(text)) for path, text, _ in _files(epic, agent)]


def list_latest(epic: Epic, most: int) -> list[dict[str, Any]]:
    """Return the latest messages between all agents of an epic, each with its sender and its receiver; newest first.
    Only the files that were written to last are read."""
    from holdfast.fleet.rules.comms import parse

    folder, times = epic.tree_file(COMMS), {}
    for name in folder.names_if_any():
        status = folder.below(name).status()
        if status is not None and name.endswith(_ENDING):
            times[name] = status.st_mtime_ns
    found: list[dict[str, Any]] = []
    for name in sorted(times, key=lambda one: -times[one])[:most]:
        sender, _, receiver = name.removesuffix(_ENDING).partition("_to_")
        try:
            text = text_of(read_file(folder.below(name))[1])
        except (FileNotFoundError, Unreadable):
            continue
        found += [{"sender": sender, "to": receiver, **message} for message in parse(text)]
    found.sort(key=lambda message: (message["at"], message["number"]), reverse=True)
    return found[:most]


def mark_read(
    context: FleetContext, epic: Epic, agent: str, shown: Mapping[str, Sequence[int]]
) -> list[Outcome]:
    """Mark messages as read: the numbers of each file."""
    from holdfast.fleet.rules import comms

    outcomes = []
    for path, text, sender in _files(epic, agent):
        numbers = [*shown.get(path, ())]
        if comms.mark_read(text, numbers) != text:
            outcomes.append(_execute(context, epic, "read", sender, agent, numbers=numbers))
    return outcomes


def move_aside(context: FleetContext, epic: Epic, agent: str) -> list[tuple[str, str]]:
    """Move every file of an inbox that holds messages aside and begin it anew; from where to where."""
    from holdfast.fleet.rules.comms import archive_name, channel_of, parse

    moved = []
    for path, text, sender in _files(epic, agent):
        if not parse(text):
            continue
        channel, copy = channel_of(sender, agent), 1
        while epic.tree_file(archive_name(channel, context.now, copy)).status():
            copy += 1
        name = archive_name(channel, context.now, copy)
        outcome = _execute(context, epic, "archive", sender, agent, to=epic.path(name))
        if outcome["records"]:
            moved.append((path, name))
    return moved


def _execute(
    context: FleetContext, epic: Epic, do: str, sender: str, receiver: str, **more: Any
) -> Outcome:
    from holdfast.fleet.rules.comms import channel_of

    check_agent(sender)
    check_agent(receiver)
    stream = epic.stream("comms", channel_of(sender, receiver))
    command = {"do": do, "sender": sender, "receiver": receiver, **more}
    writer = open_writer(epic.workspace)
    return writer.execute(stream, command, actor=context.actor, now=context.now, raise_removed=True)


def _files(epic: Epic, agent: str) -> list[tuple[str, str, str]]:
    """Path, text and sender of each readable file of an inbox."""
    files = []
    for name in inbox_files(epic, agent):
        path = f"{COMMS}/{name}"
        try:
            content = read_file(epic.tree_file(path))[1]
        except (FileNotFoundError, Unreadable):
            continue
        text = content.decode("utf-8", "replace").replace("\r\n", "\n")
        files.append((path, text, _sender(name.partition("_to_")[0], text)))
    return files


def _sender(stem: str, text: str) -> str:
    """The agent that a file's name stands for; its title has the exact spelling."""
    titled = text.partition("\n")[0].removeprefix("# Messages: ").partition(" → ")[0].strip()
    return titled if stem != stem_of(PRIMARY) and stem_of(titled) == stem else agent_of(stem)


def inbox_files(epic: Epic, agent: str) -> list[str]:
    """The names of the files in `agent_comms/` that others write to an agent."""
    ending = f"_to_{stem_of(check_agent(agent))}{_ENDING}"
    found = epic.tree_file(COMMS).names_if_any()
    received = [name for name in found if name.endswith(ending)]
    primary = f"{stem_of(PRIMARY)}{ending}"
    return sorted(name for name in received if name == primary or name.startswith("secondary_"))


def unread_count(epic: Epic, agent: str) -> int:
    """How many messages an agent has not read."""
    count = 0
    for name in inbox_files(epic, agent):
        try:
            count += read_file(epic.tree_file(f"{COMMS}/{name}"))[1].count(_UNREAD)
        except (FileNotFoundError, Unreadable):
            continue
    return count


def bring_messages(epic: Epic, agent: str) -> None:
    """Write the files of an agent's inbox that other machines have written to since this one did.

    Messages from other machines are in the journal, and an inbox is read from files. A journal on this
    machine's disk has no other machines.
    """
    workspace = epic.workspace
    if workspace.local or not workspace.url or workspace.journal.read_only:
        return
    ending = f"_to_{stem_of(check_agent(agent))}"
    heads = workspace.journal.heads(epic.stream("comms", ""))
    channels = [head for head in heads if head["stream"].endswith(ending)]
    if not channels:
        return
    shown = {
        row["stream"]: row["placed_version"]
        for row in workspace.journal.views(worktree=workspace.root)
    }
    writer = open_writer(workspace)
    for head in channels:
        if shown.get(head["stream"], 0) < head["version"]:
            repair = Order(head["stream"], REPAIR)
            commit(writer, [repair], actor="holdfast", now=server_time.now(workspace))
