"""holdfast note"""

from __future__ import annotations

import sys

import click

from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.kernel.errors import NotFound, Usage
from holdfast.maintenance.history import picture, state_now
from holdfast.note.rules.note import stream_of
from holdfast.note.write import write_note


@click.command()
@click.argument("text", required=False)
@click.option("--to", "name", default="default", show_default=True, help="Which note.")
@click.option("--id", help="An id of your own: the same id again changes nothing.")
@verb
def command(call: Call, text: str | None, name: str, id: str | None) -> Reply:
    """Leave a note for whoever comes next, in .notes/NAME.md; without TEXT, show it.

    `-` reads the text from standard input.
    """
    stream = stream_of(name)
    if text is None:
        return _show(call, stream)
    if id is not None and not id.strip():
        raise Usage("An id needs at least one character.", hint="Leave --id out for a random one.")
    if text == "-":
        text = _standard_input()
    outcome = write_note(
        call.workspace_for(write_note), text, name=name, actor=call.actor, now=call.now, id=id or ""
    )
    warn_of_views(outcome)
    if outcome["queued"] and call.workspace.spools:
        return Reply({**outcome}, ["Queued in .holdfast/inbox for the server."])
    if outcome["queued"]:
        return Reply(
            {**outcome},
            [
                "Queued in .holdfast/inbox: the journal cannot be written from here. The next process",
                "that can takes it in; until then `git clean -fdx` would remove it.",
            ],
        )
    said = "Noted already." if outcome["duplicate"] else f"Noted as {outcome['id'][:8]}"
    return Reply({**outcome}, [said], next=["holdfast history"])


def _standard_input() -> str:
    """A text that is no UTF-8 is refused rather than changed."""
    if sys.stdin is None:
        raise Usage("There is no standard input to read from.")
    try:
        raw = getattr(sys.stdin, "buffer", None)
        return raw.read().decode() if raw is not None else sys.stdin.read()
    except UnicodeDecodeError as error:
        raise Usage(f"The text is not UTF-8 at byte {error.start}.") from None


def _show(call: Call, stream: str) -> Reply:
    head = call.workspace.journal.head(stream) if call.workspace.exists() else None
    if head is None:
        raise NotFound(
            f"There is no {stream} yet.", hint='holdfast note "what the next reader must know"'
        )
    state, _ = state_now(call.workspace.journal, stream)
    return Reply({"state": state}, safe(picture(stream, state)).split("\n"), pages=True)
