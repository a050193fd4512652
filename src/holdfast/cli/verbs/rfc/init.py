"""holdfast rfc init"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.rfc_output import context_of
from holdfast.rfc.init import InitRequest, init
from holdfast.rfc.rules.model import STRICTNESS


@click.command()
@click.argument("id")
@click.option("--title", default="", help="Title in rfc.md; by default the id.")
@click.option(
    "--strictness",
    type=click.Choice(STRICTNESS, case_sensitive=False),
    default="standard",
    show_default=True,
    help="Rounds of Gate-B: light none, standard two, full three.",
)
@verb
def command(call: Call, id: str, title: str, strictness: str) -> Reply:
    """Begin an RFC in .ohrfc/ID: rfc.md, evidence.json and state.json, in the phase discover.

    Files that exist in that folder are kept.
    """
    begun = init(context_of(call), InitRequest(id=id, title=title, strictness=strictness))
    warn_of_views(begun["outcome"])
    lines = [f"{begun['folder']} is ready: discover, {strictness}."]
    lines += [f"Kept as it was: {name}" for name in begun["kept"]]
    if begun["outcome"]["queued"]:
        lines = ["Queued in .holdfast/inbox: the journal cannot be written from here."]
    return Reply({**begun}, lines, next=[f"holdfast rfc prompt discover {id}"])
