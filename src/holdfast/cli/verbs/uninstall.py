"""holdfast uninstall"""

from __future__ import annotations

import contextlib

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.clients.installation import CLIENTS, uninstall
from holdfast.kernel.errors import HoldfastError
from holdfast.maintenance import registry
from holdfast.maintenance.remains import list_remains

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.maintenance.remains import Remain

SAID = {
    "restored": "Restored as it was",
    "removed": "Took ours out, and left the rest",
    "absent": "Nothing of ours",
}


@click.command()
@click.option(
    "--client",
    "clients",
    multiple=True,
    type=click.Choice(CLIENTS),
    help="A client; repeatable. Without it: all clients.",
)
@click.option("--dry-run", is_flag=True, help="Say what would change; change nothing.")
@verb
def command(call: Call, clients: tuple[str, ...], dry_run: bool) -> Reply:
    """Take holdfast out of the settings of your clients.

    The journal and your files stay. It lists them, each with the command that removes it.
    """
    wanted = list(dict.fromkeys(clients or CLIENTS))
    done = uninstall(call.workspace, wanted, dry_run=dry_run)
    if not clients and not dry_run:
        with contextlib.suppress(OSError, HoldfastError):  # the page looks whether it is there
            registry.forget(call.workspace)
    word = "Would be: " if dry_run else ""
    lines = [
        f"{word}{SAID[file['status']]}: {safe(file['path'])}"
        for one in done
        for file in one["files"]
        if file["status"] != "absent" or clients
    ]
    lines += [style(f"  {safe(note)}", "yellow") for one in done for note in one["notes"]]
    lines = lines or ["Nothing of ours is installed."]
    left = [] if clients else list_remains(call.workspace)
    if left:
        lines += ["", "Left, because it is yours. To remove it:"]
        lines += [line for one in left for line in _remain(one)]
    return Reply({"clients": done, "left": left, "dry_run": dry_run}, lines)


def _remain(one: Remain) -> list[str]:
    return [f"  {safe(one['what'])}", style(f"    {safe(one['remove'])}", dim=True)]
