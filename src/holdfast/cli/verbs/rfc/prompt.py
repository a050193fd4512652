"""holdfast rfc prompt"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.rfc.rules.model import GROUPS
from holdfast.rfc.write import ask


@click.command()
@click.argument("group", type=click.Choice(GROUPS))
@click.argument("id", required=False)
@verb
def command(call: Call, group: str, id: str | None) -> Reply:
    """Print the questions at a phase boundary, with the number of bullets for each section.

    Answer under each heading (`### User Intent Signals`), one line a bullet, and give the answers to
    `holdfast rfc write GROUP`. ID is required if several RFCs are open.
    """
    found = ask(call.workspace, group, id or "")
    next = f"holdfast rfc write {group} {found['id']}".rstrip()
    return Reply({**found}, found["prompt"].split("\n"), next=[next])
