"""holdfast rfc bootstrap"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.rfcs import warn_of, which
from holdfast.cli.terminal import safe
from holdfast.rfc.bootstrap import bootstrap


@click.command()
@click.argument("id", required=False)
@verb
def command(call: Call, id: str | None) -> Reply:
    """Everything that a fresh context needs to go on with an RFC, in one text. Writes nothing.

    In the protocol's order: state.json, checkpoint.md, rfc.md and evidence.json, the reviewers'
    summary after a Gate-B failure, the phase's references, and the questions to re-orient by.
    """
    found = bootstrap(call.workspace, which(call, id))
    warn_of(found["warnings"])
    return Reply({**found}, safe(found["text"]).rstrip("\n").split("\n"))
