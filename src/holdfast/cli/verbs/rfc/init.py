"""holdfast rfc init"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.rfc.beginning import begin
from holdfast.rfc.rules.words import STRICTNESS


@click.command()
@click.argument("id")
@click.option("--title", default="", help="The title in rfc.md; by default the id.")
@click.option(
    "--strictness",
    type=click.Choice(STRICTNESS, case_sensitive=False),
    default="standard",
    show_default=True,
    help="light has no Gate-B, standard two rounds of it, full three.",
)
@verb
def command(call: Call, id: str, title: str, strictness: str) -> Reply:
    """Begin an RFC in .ohrfc/ID: rfc.md, evidence.json and state.json, in the phase discover.

    What is in that folder already is kept.
    """
    begun = begin(
        call.workspace, id, title=title, strictness=strictness, actor=call.actor, now=call.now
    )
    outcome = begun["outcome"]
    warn_of_views(outcome)
    lines = [f"{begun['folder']} is ready: discover, {strictness}."]
    lines += [f"Kept as it was: {name}" for name in begun["kept"]]
    if outcome["queued"]:
        lines = ["Queued in .holdfast/inbox: the journal cannot be written from here."]
    return Reply({**begun}, lines, next=[f"holdfast rfc prompt discover {id}"])
