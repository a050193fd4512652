"""holdfast rfc prompt"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.rfc.questions import questions
from holdfast.rfc.rules.transitions import GROUPS


@click.command()
@click.argument("group", type=click.Choice(GROUPS))
@click.argument("id", required=False)
@verb
def command(call: Call, group: str, id: str | None) -> Reply:
    """The questions at a boundary, with the number of bullets that each wants.

    Answer each under its heading (`### User Intent Signals`), one line a bullet, and give the answers
    to `holdfast rfc write GROUP`. ID is needed where several RFCs are open.
    """
    found = questions(call.workspace, group, id or "")
    next = f"holdfast rfc write {group} {found['id']}".rstrip()
    return Reply({**found}, found["prompt"].split("\n"), next=[next])
