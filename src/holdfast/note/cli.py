"""holdfast note"""

from __future__ import annotations

import sys

import click

from holdfast.cli.frame import Call, Reply, tell_of_new_file, warn_of_views
from holdfast.cli.parser import TEXT_OR_EMPTY, verb
from holdfast.cli.terminal import safe
from holdfast.kernel.errors import Usage
from holdfast.kernel.inbox import QUEUED, UNTIL_THEN
from holdfast.note.rules.note import stream_of
from holdfast.note.write import read_note, write_note


@click.command()
@click.argument("text", type=TEXT_OR_EMPTY, required=False)
@click.option("--to", "name", default="default", show_default=True, help="Name of the note.")
@click.option("--id", help="An id of your choice. The same id again changes nothing.")
@verb
def command(call: Call, text: str | None, name: str, id: str | None) -> Reply:
    """Add a line to .notes/NAME.md for the next reader. Without TEXT, show the note.

    `-` reads the text from standard input.
    """
    if text is None:
        from holdfast.maintenance.history import picture

        state = read_note(call.workspace, name)
        lines = safe(picture(stream_of(name), state)).split("\n")
        return Reply({"state": state}, lines, pages=True)
    if text == "-":
        text = _standard_input()
    outcome = write_note(
        call.workspace_for(write_note), text, name=name, actor=call.actor, now=call.now, id=id
    )
    warn_of_views(outcome)
    if outcome["queued"] and call.workspace.spools:
        return Reply({**outcome}, ["Queued in .holdfast/inbox for the server."])
    if outcome["queued"]:
        return Reply({**outcome}, [QUEUED, UNTIL_THEN])
    if outcome["version"] == 1 and not outcome["duplicate"]:
        for view in outcome["views"]:
            if view["status"] == "written":
                tell_of_new_file(call.workspace, view["path"])
    said = "Noted already." if outcome["duplicate"] else f"Noted as {outcome['id'][:8]}"
    return Reply({**outcome}, [said], next=["holdfast history"])


def _standard_input() -> str:
    """Read a text; refuse one that is not UTF-8 rather than change it."""
    if sys.stdin is None:
        raise Usage("There is no standard input to read from.")
    try:
        raw = getattr(sys.stdin, "buffer", None)
        return raw.read().decode() if raw is not None else sys.stdin.read()
    except UnicodeDecodeError as error:
        raise Usage(f"The text is not UTF-8 at byte {error.start}.") from None
