"""holdfast rfc close"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.rfc_output import context_of
from holdfast.rfc.init import close


@click.command()
@click.argument("id")
@click.option("--reopen", is_flag=True, help="Open the RFC again.")
@verb
def command(call: Call, id: str, reopen: bool) -> Reply:
    """End the RFC ID, which will not be accepted. Its files stay as they are.

    A closed RFC is in no list and in no resumed session; `rfc list --all` shows it.
    """
    found, outcome = close(context_of(call), id, reopen=reopen)
    warn_of_views(outcome)
    line = f"{found} is {'open' if reopen else 'closed'}."
    undo = "" if reopen else " --reopen"
    if outcome["queued"]:
        line = "Queued in .holdfast/inbox: the journal cannot be written from here."
    data = {"id": found, "closed": not reopen, "outcome": outcome}
    return Reply(data, [line], next=[f"holdfast rfc close {found}{undo}"])
