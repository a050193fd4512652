"""holdfast init"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.clients import CLIENTS, install
from holdfast.hooks.run import command as hook_command

SAID = {"installed": "Installed", "already": "Installed already"}


@click.command()
@click.option(
    "--client",
    "clients",
    multiple=True,
    type=click.Choice(CLIENTS),
    default=["claude"],
    show_default=True,
    help="Which client; repeat it for several.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be changed, and change nothing.")
@verb
def command(call: Call, clients: tuple[str, ...], dry_run: bool) -> Reply:
    """Let an agent's client call holdfast by itself: at session start, before compaction, at stop
    and at the end of a session.

    Doing it twice changes nothing; `holdfast uninstall` restores the file byte for byte.
    """
    done = [install(call.workspace, client, hook_command, dry_run=dry_run) for client in clients]
    word = "Would install" if dry_run else ""
    lines = [
        f"{word or SAID[one['status']]}: {one['client']} in {safe(one['path'])}" for one in done
    ]
    return Reply({"clients": done, "dry_run": dry_run}, lines, next=["holdfast doctor"])
