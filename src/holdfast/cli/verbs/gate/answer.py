"""holdfast gate answer"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import context_of
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.kernel.errors import Usage


@click.command()
@click.argument("id")
@click.argument("text", required=False, metavar="[ANSWER]")
@click.option("--no", "refusal", metavar="WHY", help="Decline, and say why.")
@verb
def command(call: Call, id: str, text: str | None, refusal: str | None) -> Reply:
    """Answer gate ID with "approved", the id of an option, "done", or what is wrong.

    Only a person at a terminal can answer: holdfast shows a word there, and the person types it. An agent
    gets exit code 4, and holdfast records the attempt. Without ANSWER, holdfast asks for it.
    """
    if refusal is not None and text is not None:
        raise Usage("An answer, or --no and why.")
    said = text if refusal is None else refusal
    request = AnswerRequest(gate=id, text=said, no=refusal is not None)
    state = answer(context_of(call), request)
    given = state["answer"]
    assert given is not None
    what = f"no: {given['text']}" if given["verdict"] == "no" else given["answer"]
    line = f"Answered {state['id']}: {safe(what)}"
    return Reply({**state}, [line], next=["holdfast gate list"])
