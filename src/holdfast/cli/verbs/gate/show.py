"""holdfast gate show"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import shown
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.gates import reading
from holdfast.gates.answering import facts, refused_attempts
from holdfast.protocols.pilot.gate_text import render
from holdfast.protocols.pilot.gate_xml import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.protocols.pilot.gate import GateState
    from holdfast.protocols.pilot.refusal import Refused


@click.command()
@click.argument("id")
@click.option("--xml", "as_xml", is_flag=True, help="Only the task, in the protocol's XML.")
@verb
def command(call: Call, id: str, as_xml: bool) -> Reply:
    """What gate ID asks, exactly as the protocol shows it; who answered, when, through what, and what
    they saw."""
    state = reading.settled(call.workspace, reading.named(call.workspace, id), now=call.now)
    content = state["content"]
    assert content is not None
    refused = refused_attempts(call.workspace, state["id"])
    data = {**state, "rendered": render(content), "refused": refused}
    if as_xml:
        return Reply({**data, "xml": write(content)}, write(content).split("\n"))
    lines = [*shown(content), "", *_about(state, refused, call.now)]
    next = [] if state["answer"] else [f"holdfast gate answer {state['id']}"]
    return Reply(data, lines, next=next)


def _about(state: GateState, refused: list[Refused], now: int) -> Iterator[str]:
    for line in facts(state, now):
        yield style(line, dim=True)
    answer = state["answer"]
    if answer is not None:
        person = answer["person"]
        what = f"no: {answer['text']}" if answer["verdict"] == "no" else answer["answer"]
        who = f"by {person['name']} at {person['terminal']}" if person else "by its expiry"
        colour = "green" if answer["verdict"] == "yes" else "red"
        yield f"{style('Answered ' + safe(who), colour, bold=True)}, {answer['at']}: {safe(what)}"
    for attempt in refused:
        yield style(f"Refused at {attempt['at']}: {safe(attempt['why'])}", "yellow")
