"""holdfast gate withdraw"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.gates.rules.gate import withdrawn_of
from holdfast.gates.withdraw import withdraw_own


@click.command()
@click.argument("id")
@click.option("--reason", required=True, metavar="WHY", help="Said to whoever looks for it.")
@verb
def command(call: Call, id: str, reason: str) -> Reply:
    """Take back what you asked: nobody is asked any more, and it approves nothing.

    Only for who asked it, by name or in the same session. Asked again, the same question is a new gate.
    """
    state = withdraw_own(call.workspace, id, why=reason, actor=call.actor, now=call.now)
    known = withdrawn_of(state)
    assert known is not None
    line = f"Withdrew {state['id']}: {safe(known['why'])}"
    return Reply({**state}, [line], next=["holdfast gate list"])
