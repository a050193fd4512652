"""holdfast rfc bootstrap"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.rfc_output import warn_all
from holdfast.cli.terminal import safe
from holdfast.rfc.bootstrap import bootstrap


@click.command()
@click.argument("id", required=False)
@verb
def command(call: Call, id: str | None) -> Reply:
    """Print everything that a fresh context needs to continue an RFC, as one text. Writes nothing.

    The order is the protocol's: state.json, checkpoint.md, rfc.md and evidence.json, the reviewers'
    summary after a Gate-B failure, the references of the phase, and the questions to re-orient.
    """
    found = bootstrap(call.workspace, id or "")
    warn_all(found["warnings"])
    return Reply({**found}, safe(found["text"]).rstrip("\n").split("\n"))
