"""holdfast note"""

from __future__ import annotations

import sys

import click

from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.history import picture, state_now
from holdfast.kernel.errors import NotFound
from holdfast.protocols.note import stream_of


@click.command()
@click.argument("text", required=False, default="")
@click.option("--to", "name", default="default", show_default=True, help="Which note.")
@click.option("--id", default="", help="An id of your own: the same id again changes nothing.")
@verb
def command(call: Call, text: str, name: str, id: str) -> Reply:
    """Leave a note for whoever comes next, in .notes/NAME.md; without TEXT, show it.

    `-` reads the text from standard input.
    """
    stream = stream_of(name)
    if not text:
        return _show(call, stream)
    if text == "-":
        text = sys.stdin.read()
    command = {"add": text, "by": call.actor}
    outcome = call.writer.execute(stream, command, actor=call.actor, now=call.now, id=id)
    warn_of_views(outcome)
    if outcome["queued"]:
        return Reply(
            {**outcome},
            [
                "Queued: the journal cannot be written from here; the next process that can takes it in."
            ],
        )
    said = "Noted already." if outcome["duplicate"] else f"Noted as {outcome['id'][:8]}"
    return Reply({**outcome}, [said], next=["holdfast history"])


def _show(call: Call, stream: str) -> Reply:
    head = call.workspace.journal.head(stream) if call.workspace.exists() else None
    if head is None:
        raise NotFound(
            f"There is no {stream} yet.", hint='holdfast note "what the next reader must know"'
        )
    state, _ = state_now(call.workspace.journal, stream)
    return Reply({"state": state}, safe(picture(stream, state)).split("\n"), pages=True)
