"""holdfast purge"""

from __future__ import annotations

import sys

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural
from holdfast.kernel.errors import NotFound, Usage
from holdfast.upkeep import purge

SHORTEST_TEXT = 4


@click.command()
@click.argument("id", required=False, default="")
@click.option(
    "--matching",
    is_flag=True,
    help="Erase a text wherever it stands. It is read from standard input or asked for, never "
    "from the command line, which other programs can see.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be erased, and erase nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@verb
def command(call: Call, id: str, matching: bool, dry_run: bool, yes: bool) -> Reply:
    """Erase the body of the record ID, or a text wherever it stands.

    Erased is erased: there is no undo. The hash chain still verifies, and says `erased`.
    Git history, backups and exports are yours to clean.
    """
    if bool(id) == matching:
        raise Usage("Name one record, or give --matching.", hint="See `holdfast purge --help`.")
    if not call.workspace.exists():
        raise NotFound("Nothing was written yet.")
    text = _secret() if matching else ""
    found = purge(call.workspace, id=id, text=text, now=call.now, dry_run=True)
    what = f"{plural(len(found['records']), 'record')} in {plural(len(found['streams']), 'stream')}"
    if found["quarantined"]:
        what += f", {plural(len(found['quarantined']), 'file')} in quarantine"
    if dry_run:
        return Reply({**found, "dry_run": True}, [f"Would erase {what}."])
    if not yes:
        _confirm(f"Erase {what} for good?")
    done = purge(call.workspace, id=id, text=text, now=call.now)
    return Reply({**done, "dry_run": False}, [f"Erased {what}."])


def _secret() -> str:
    if sys.stdin.isatty():
        text = click.prompt("The text to erase", hide_input=True, err=True)
    else:
        text = sys.stdin.read().rstrip("\n")
    if len(text) < SHORTEST_TEXT:
        raise Usage(f"The text to erase needs at least {SHORTEST_TEXT} characters.")
    return str(text)


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise Usage("This erases for good and needs a yes.", hint="Give --yes when you are sure.")
    click.confirm(question, abort=True, err=True)
