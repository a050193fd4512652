"""holdfast purge"""

from __future__ import annotations

import sys

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural, safe
from holdfast.kernel.errors import Usage
from holdfast.maintenance.purge import erase, find


@click.command()
@click.argument("id", required=False, default="")
@click.option(
    "--matching",
    is_flag=True,
    help="Erase a text everywhere. Give the text on standard input or at the prompt: other programs "
    "can see the command line.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be erased; erase nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@verb
def command(call: Call, id: str, matching: bool, dry_run: bool, yes: bool) -> Reply:
    """Erase the body of the record ID, or a text everywhere.

    This cannot be undone. The hash chain still verifies, and says `erased`. Copies that
    `backup --restore` kept are removed too. It looks again at the end, and names what is left and why; the
    exit code is 1 when that is a file of holdfast. Clean your git history, backups, exports and the clients'
    own transcripts yourself.
    """
    if bool(id) == matching:
        raise Usage("Name one record, or give --matching.", hint="See `holdfast purge --help`.")
    _ = call.journal  # or there is nothing to erase
    text = _secret() if matching else ""
    found = find(call.workspace, id=id, text=text, now=call.now)
    what = f"{plural(len(found['records']), 'record')} in {plural(len(found['streams']), 'stream')}"
    if found["files"]:
        what += f", {plural(len(found['files']), 'file')}"
    if found["snapshots"]:
        what += f", {plural(len(found['snapshots']), 'snapshot')} of the work tree"
    if dry_run:
        return Reply({**found, "dry_run": True}, [f"Would erase {what}."])
    if not yes:
        _confirm(f"Erase {what} for good?")
    done = erase(call.workspace, found, text=text, actor=call.actor, now=call.now)
    lines = [f"Erased {what}."]
    if done["snapshots"]:
        lines.append("Git still holds what the snapshots held, until `git gc --prune=now`.")
    is_unfinished = any(one["ours"] for one in done["left"])
    if done["left"]:
        lines.append("Left:")
        lines += [f"  {safe(one['path'])}: {safe(one['why'])}" for one in done["left"]]
    return Reply({**done, "dry_run": False}, lines, exit_code=int(is_unfinished))


def _secret() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("The text to erase", hide_input=True, err=True))
    return sys.stdin.read().rstrip("\n")


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise Usage("This erases for good and needs a yes.", hint="Give --yes when you are sure.")
    click.confirm(question, abort=True, err=True)
