"""holdfast gate answer"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.gates.answer import answer
from holdfast.kernel.errors import Usage
from holdfast.plans.lookup import gate_named


@click.command()
@click.argument("id")
@click.argument("text", required=False, metavar="[ANSWER]")
@click.option("--no", "refusal", metavar="WHY", help="Say no, whatever was asked.")
@verb
def command(call: Call, id: str, text: str | None, refusal: str | None) -> Reply:
    """Answer gate ID: "approved" or what is wrong, an option's id, or "done".

    Only for a person at a terminal, who types back the word that is shown there. An agent is refused
    with 4, and the attempt is recorded. Without ANSWER, it is asked for.
    """
    if refusal is not None and text is not None:
        raise Usage("An answer, or --no and why.")
    said = text if refusal is None else refusal
    state = answer(
        call.workspace, gate_named(call.workspace, id), said, no=refusal is not None, now=call.now
    )
    given = state["answer"]
    assert given is not None
    what = f"no: {given['text']}" if given["verdict"] == "no" else given["answer"]
    line = f"Answered {state['id']}: {safe(what)}"
    return Reply({**state}, [line], next=["holdfast gate list"])
