"""holdfast gate show"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import shown
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.gates import lookup
from holdfast.gates.answer import attached, facts, refused_attempts
from holdfast.gates.pictures import path_of
from holdfast.gates.rules.content import render
from holdfast.gates.rules.gate import is_over, pictures_of, withdrawn_of
from holdfast.gates.rules.gate_xml import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.gates.rules.gate import GateState
    from holdfast.gates.rules.people import Refused


@click.command()
@click.argument("id")
@click.option("--xml", "as_xml", is_flag=True, help="Print only the task, in the protocol's XML.")
@verb
def command(call: Call, id: str, as_xml: bool) -> Reply:
    """Show what gate ID asks, as the protocol shows it, and its answer: who gave it, when and where."""
    state = lookup.read_now(call.workspace, lookup.find_gate(call.workspace, id), now=call.now)
    content = state["content"]
    assert content is not None
    refused = refused_attempts(call.workspace, state["id"])
    paths = [path_of(call.workspace, state, one) for one in pictures_of(state)]
    pictures = [{**one, "path": path} for one, path in zip(pictures_of(state), paths, strict=True)]
    data = {**state, "pictures": pictures, "rendered": render(content), "refused": refused}
    if as_xml:
        return Reply({**data, "xml": write(content)}, write(content).split("\n"))
    lines = [*shown(content), "", *_about(state, paths, refused, call.now)]
    next = [] if is_over(state) else [f"holdfast gate answer {state['id']}"]
    return Reply(data, lines, next=next)


def _about(state: GateState, paths: list[str], refused: list[Refused], now: int) -> Iterator[str]:
    for line in facts(state, now):
        yield style(line, dim=True)
    for line, path in zip(attached(state), paths, strict=True):
        yield style(line, dim=True)
        yield style(f"  {safe(path) or 'not on this machine any more, or never was'}", dim=True)
    answer = state["answer"]
    if answer is not None:
        person = answer["person"]
        what = f"no: {answer['text']}" if answer["verdict"] == "no" else answer["answer"]
        if answer["verdict"] == "yes" and answer["text"]:
            what += f" ({answer['text']})"
        who = f"by {person['name']}" if person else "by its expiry"
        who += f" at {person['terminal']}" if person and person["terminal"] else ""
        colour = "green" if answer["verdict"] == "yes" else "red"
        yield f"{style('Answered ' + safe(who), colour, bold=True)}, {answer['at']}: {safe(what)}"
    if "uncounted" in state:
        yield style("An answer without a valid signature does not count (gate.signers).", "red")
    known = withdrawn_of(state)
    if known is not None:
        who = style(f"Withdrawn by {safe(known['by'])}", "yellow", bold=True)
        yield f"{who}, {known['at']}: {safe(known['why'])}"
    for attempt in refused:
        yield style(f"Refused at {attempt['at']}: {safe(attempt['why'])}", "yellow")
