"""holdfast agent send, inbox"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.agent_reply import context_for
from holdfast.cli.frame import Call, Reply, warn, warn_of_views
from holdfast.cli.parser import epic_option, verb
from holdfast.cli.terminal import plural, safe, style
from holdfast.fleet.messages import inbox, send
from holdfast.fleet.rules.messages import FIELDS
from holdfast.fleet.rules.model import PRIMARY
from holdfast.fleet.rules.names import message_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.fleet.rules.messages import AgentMessage


@click.command()
@click.argument("to")
@click.option("--from", "sender", default=PRIMARY, show_default=True, help="The sender.")
@click.option("--subject", required=True, help="The subject, in one line.")
@click.option("--action", default="", help="What the receiver should do.")
@click.option("--details", default="", help="Details; may have several lines.")
@click.option("--next", "then", default="", help="What comes next.")
@click.option("--acknowledge", default="", help="How the receiver should answer.")
@epic_option
@verb
def send_command(
    call: Call,
    to: str,
    sender: str,
    subject: str,
    action: str,
    details: str,
    then: str,
    acknowledge: str,
    epic: str | None,
) -> Reply:
    """Send a message to the agent TO, in agent_comms/."""
    result = send(
        context_for(send, call, epic),
        {
            "agent": to,
            "sender": sender,
            "subject": subject,
            "action": action,
            "details": details,
            "next": then,
            "acknowledge": acknowledge,
        },
    )
    for warning in result["warnings"]:
        warn(warning)
    outcome, number = result["outcome"], result["number"]
    warn_of_views(outcome)
    data = {**outcome, "path": result["path"]}
    if outcome["queued"]:
        said = "Queued in .holdfast/inbox: the journal cannot be written from here."
        return Reply(data, [said])
    return Reply(
        {**data, "number": number},
        [f"Message {number} to {to} in {safe(message_path(sender, to))}"],
        next=[f"holdfast agent inbox {to} --keep-unread"],
    )


@click.command()
@click.argument("agent")
@click.option("--unread", is_flag=True, help="Show only messages that were not read before.")
@click.option("--keep-unread", is_flag=True, help="Do not mark the messages as read.")
@click.option("--archive", is_flag=True, help="Then move them to agent_comms/archive/.")
@epic_option
@verb
def inbox_command(
    call: Call, agent: str, unread: bool, keep_unread: bool, archive: bool, epic: str | None
) -> Reply:
    """Show the messages of AGENT, newest first, and mark them as read."""
    result = inbox(
        context_for(inbox, call, epic),
        {"agent": agent, "unread": unread, "keep_unread": keep_unread, "archive": archive},
    )
    for warning in result["warnings"]:
        warn(warning)
    for outcome in result["outcomes"]:
        warn_of_views(outcome)
    where, files, archived = result["epic"], result["files"], result["archived"]
    data = {
        "agent_id": agent,
        "unread": result["unread"],
        "files": [{"path": where.file(path), "messages": messages} for path, messages in files],
        "archived": [{"path": where.file(path), "to": where.file(to)} for path, to in archived],
    }
    lines = [line for path, messages in files for line in _shown(path, messages)]
    if lines and not archived:
        lines.pop()
    lines += [f"Archived in {safe(to)}" for _, to in archived]
    nothing = "No unread message." if unread else "No messages yet."
    return Reply(data, lines or [nothing], pages=True)


def _shown(path: str, messages: list[AgentMessage]) -> Iterator[str]:
    if not messages:
        return
    fresh = sum(not message["read"] for message in messages)
    count = plural(len(messages), "message") + (f", {fresh} new" if fresh else "")
    yield style(safe(path), bold=True) + style(f"  {count}", dim=True)
    for message in messages:
        mark = style("●", "yellow") if not message["read"] else " "
        number = f"{message['number']:>3}" if message["number"] else "  –"
        when = style(safe(message["at"]), dim=True)
        yield f"{mark}{number}  {when}  {style(safe(message['subject']), bold=not message['read'])}"
        for name in FIELDS[1:]:
            yield from _field(name, message[name])  # type: ignore[literal-required]
    yield ""


def _field(name: str, text: str) -> Iterator[str]:
    label = f"{name.capitalize()}:"
    for line in safe(text).split("\n") if text else []:
        yield f"      {style(f'{label:<13}', dim=True)}{line}".rstrip()
        label = ""
