"""holdfast init"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.clients.hook_runs import hook_runs
from holdfast.clients.installation import CLIENTS, detect, install, server
from holdfast.clients.settings.condition import conditions
from holdfast.kernel.errors import HoldfastError
from holdfast.maintenance import registry

if TYPE_CHECKING:
    from holdfast.clients.installation import Done, FoundClient

SAID = {"installed": "Installed", "already": "Installed already", "left": "Left as it is"}
WOULD = {"installed": "Would write", "already": "Written already", "left": "Would leave"}


@click.command()
@click.option(
    "--client",
    "clients",
    multiple=True,
    type=click.Choice(CLIENTS),
    help="A client; repeatable. Without it, show what would be done for the clients found here.",
)
@click.option("--dry-run", is_flag=True, help="Say what would change; change nothing.")
@verb
def command(call: Call, clients: tuple[str, ...], dry_run: bool) -> Reply:
    """Let the clients of your agents call holdfast by themselves.

    A session then starts with the text to continue from. It is captured before compaction, at every stop
    and at its end, and budgets are checked while it works. To run this twice changes nothing.
    `holdfast uninstall` restores every file byte for byte.
    """
    found = detect()
    wanted = list(dict.fromkeys(clients)) or [one["client"] for one in found if one["because"]]
    only_shown = dry_run or not clients
    done = install(call.workspace, wanted, server(), dry_run=only_shown)
    if not only_shown:
        _remember(call)
    lines = list(_lines(done, only_shown))
    chosen = " ".join(f"--client {client}" for client in wanted)
    following = ["holdfast doctor"]
    if not clients:
        lines = [*_detected(wanted, found), *_broken(call), *lines]
        following = [f"holdfast init {chosen}"] if wanted else []
    data = {
        "clients": done,
        "detected": found,
        "dry_run": only_shown,
        "hooks": hook_runs(call.workspace, server()),
    }
    return Reply(data, lines, next=following)


def _remember(call: Call) -> None:
    """Let `holdfast serve` find this workspace. A failure is only a warning: nothing else needs it."""
    try:
        registry.remember(call.workspace)
    except (OSError, HoldfastError) as error:
        warn(f"`holdfast serve` will not find this workspace by itself: {error}")


def _detected(wanted: list[str], found: list[FoundClient]) -> Iterator[str]:
    if not wanted:
        yield f"None of {', '.join(CLIENTS)} was found here."
        yield "To name one: holdfast init --client claude"
        return
    for one in found:
        if one["because"]:
            yield f"Found: {one['client']} ({safe(one['because'])})"
    yield ""


def _broken(call: Call) -> Iterator[str]:
    """What is installed, but does not work or belongs to another holdfast."""
    for one in conditions(call.workspace, server()):
        if one["problem"]:
            yield style(safe(one["problem"]), "yellow")
            yield f"  To repair it: holdfast init --client {one['client']}"
    for run in hook_runs(call.workspace, server()):
        if run["problem"]:
            yield style(safe(run["problem"]), "yellow")
            yield f"  {run['fix']}"


def _lines(done: list[Done], only_shown: bool) -> Iterator[str]:
    words = WOULD if only_shown else SAID
    for one in done:
        for file in one["files"]:
            yield f"{words[file['status']]}: {one['client']} in {safe(file['path'])}"
        for note in one["notes"]:
            yield style(f"  {safe(note)}", "yellow")
    if only_shown and done:
        chosen = " ".join(f"--client {one['client']}" for one in done)
        yield ""
        yield f"Nothing was changed. To do it: holdfast init {chosen}"
