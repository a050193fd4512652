"""holdfast rfc prompt"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.kernel.errors import NotFound
from holdfast.protocols.rfc.prompts import prompt
from holdfast.protocols.rfc.transitions import GATE_B, GROUPS, group_for
from holdfast.rfcs.reading import Reader


@click.command()
@click.argument("group", type=click.Choice(GROUPS))
@click.argument("id", required=False)
@verb
def command(call: Call, group: str, id: str | None) -> Reply:
    """The questions at a boundary, with the number of bullets that each wants.

    Answer each under its heading (`### User Intent Signals`), one line a bullet, and give the answers
    to `holdfast rfc write GROUP`. ID is needed where several RFCs are open.
    """
    key, where = group, ""
    with Reader(call.workspace) as reader:
        try:
            where = reader.named(id or "")
        except NotFound:
            # The questions of DISCOVER and DESIGN are the same for every RFC.
            if id or group == GATE_B:
                raise
        if where:
            key = group_for(reader.state(where)[0], group)
    text = prompt(key)
    data = {"id": where, "group": key, "prompt": text}
    return Reply(data, text.split("\n"), next=[f"holdfast rfc write {group} {where}".rstrip()])
