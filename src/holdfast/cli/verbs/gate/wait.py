"""holdfast gate wait"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import context_of, shown
from holdfast.cli.parser import verb
from holdfast.cli.terminal import echo, safe, style
from holdfast.gates import lookup
from holdfast.gates.rules.gate import is_open
from holdfast.gates.wait import conclude, present, wait
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState

PATIENCE = 60.0


@click.command()
@click.argument("id", required=False, default="")
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0),
    default=PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait; 0 looks once.",
)
@click.option(
    "--batch",
    is_flag=True,
    help="Ask all gates that were collected for the phase, and wait for all.",
)
@click.option("--phase", default="", metavar="NAME", help="Phase of the --batch gates.")
@verb
def command(call: Call, id: str, seconds: float, batch: bool, phase: str) -> Reply:
    """Wait for the answer to gate ID. ID is an id, a name, or a unique beginning of one.

    Exit codes: 0 approved, done, or an option chosen; 8 no answer yet; 9 declined; 5 withdrawn; 7 a stop
    holds. The gate stays open after this command ends; wait again at any time.
    """
    if isnan(seconds):
        raise Usage("nan is no time to wait.")
    if batch == bool(id) or (phase and not batch):
        raise Usage("Wait for a gate, or with --batch for those of a phase.")
    if batch:
        ids = present(context_of(call), phase)
        _show_together(call, ids)
    else:
        ids = [lookup.find_gate(call.workspace, id)]
    states = wait(call.workspace, ids, seconds=seconds)
    conclude(states)
    return Reply({"gates": states}, [line for state in states for line in _lines(state)])


def _show_together(call: Call, ids: list[str]) -> None:
    if call.as_json:
        return
    for id in ids:
        state = lookup.read(call.workspace, id)
        if state["content"] is not None and is_open(state):
            for line in [*shown(state["content"]), "", f"Gate {id}", ""]:
                echo(line, error=True)


def _lines(state: GateState) -> list[str]:
    answer = state["answer"]
    if answer is None:
        return []
    who = f"by {answer['person']['name']}" if answer["person"] else "by its expiry, nobody answered"
    return [f"{style(safe(answer['answer']), 'green', bold=True)}  {state['id']}, {safe(who)}"]
