"""holdfast gate withdraw"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import context_of
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.gates.ask import WithdrawRequest, withdraw
from holdfast.gates.rules.gate import withdrawn_of


@click.command()
@click.argument("id")
@click.option(
    "--reason", required=True, metavar="WHY", help="Why you withdraw it. `gate show` prints this."
)
@verb
def command(call: Call, id: str, reason: str) -> Reply:
    """Withdraw gate ID. It then has no answer and approves nothing.

    Only a person at a terminal can withdraw it. The same question, asked again, is a new gate.
    """
    state = withdraw(context_of(call), WithdrawRequest(gate=id, reason=reason))
    known = withdrawn_of(state)
    assert known is not None
    line = f"Withdrew {state['id']}: {safe(known['why'])}"
    return Reply({**state}, [line], next=["holdfast gate list"])
