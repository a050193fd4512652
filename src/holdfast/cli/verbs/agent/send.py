"""holdfast agent send"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agent_reply import context_for
from holdfast.cli.frame import Call, Reply, warn, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.fleet.messages import send
from holdfast.fleet.rules.model import PRIMARY
from holdfast.fleet.rules.names import message_path


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
def command(
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
