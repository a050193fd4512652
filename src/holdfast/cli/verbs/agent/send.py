"""holdfast agent send"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agents import post_of
from holdfast.cli.frame import Call, Reply, warn, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.fleet.messages import send
from holdfast.fleet.rules.model import PRIMARY
from holdfast.fleet.rules.names import message_path


@click.command()
@click.argument("to")
@click.option("--from", "sender", default=PRIMARY, show_default=True, help="Who writes.")
@click.option("--subject", required=True, help="What it is about, in one line.")
@click.option("--action", default="", help="What the receiver should do.")
@click.option("--details", default="", help="What else there is to know; may have several lines.")
@click.option("--next", "then", default="", help="What comes next.")
@click.option("--acknowledge", default="", help="How the receiver is to answer.")
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
    fields = {
        "subject": subject,
        "action": action,
        "details": details,
        "next": then,
        "acknowledge": acknowledge,
    }
    receiver = post_of(call, epic).agent(to)
    where = receiver.epic
    if receiver.state["checkpoint"] is None and not receiver.read()[1]:
        warn(f"Nobody called {to} has begun yet; the message waits.")
    outcome = send(where, sender, to, fields, actor=call.actor, now=call.now)
    warn_of_views(outcome)
    path = message_path(sender, to)
    data = {**outcome, "path": where.file(path)}
    if outcome["queued"]:
        said = "Queued in .holdfast/inbox: the journal cannot be written from here."
        return Reply(data, [said])
    number = outcome["records"][-1]["body"]["number"]
    data["number"] = number
    return Reply(
        data,
        [f"Message {number} to {to} in {safe(path)}"],
        next=[f"holdfast agent inbox {to} --keep-unread"],
    )
