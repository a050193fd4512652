"""holdfast uninstall"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.clients import CLIENTS, uninstall

SAID = {
    "restored": "Restored as it was",
    "removed": "Took our hooks out, and left the changes made since",
    "absent": "Nothing of ours",
}


@click.command()
@click.option("--client", "clients", multiple=True, type=click.Choice(CLIENTS), default=["claude"])
@click.option("--dry-run", is_flag=True, help="Say what would be changed, and change nothing.")
@verb
def command(call: Call, clients: tuple[str, ...], dry_run: bool) -> Reply:
    """Take holdfast out of a client's settings. The journal and your files stay."""
    done = [uninstall(call.workspace, client, dry_run=dry_run) for client in clients]
    word = "would be: " if dry_run else ""
    lines = [f"{word}{SAID[one['status']]}: {safe(one['path'])}" for one in done]
    return Reply({"clients": done, "dry_run": dry_run}, lines)
