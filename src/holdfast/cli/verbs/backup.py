"""holdfast backup, export, gc, purge: copy the journal, and remove from it."""

from __future__ import annotations

import os
import sys

import click

from holdfast.cli.frame import Call, ReaderGone, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, safe, size
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import plural, quote
from holdfast.maintenance.backup import backup, export, restore_copy
from holdfast.maintenance.gc import collect
from holdfast.maintenance.history import find_decisions
from holdfast.maintenance.purge import erase, find


@click.command()
@click.argument("file")
@click.option("--restore", is_flag=True, help="Replace the journal with FILE.")
@verb
def backup_command(call: Call, file: str, restore: bool) -> Reply:
    """Write a consistent copy of the journal to FILE, also while other programs write to it.

    With --restore, FILE replaces the journal. The present journal is copied aside first, so you can
    undo the restore.
    """
    file = os.path.abspath(file)
    if restore:
        return _restore(call, file)
    with ProgressLine("Copying the journal", is_shown=not call.as_json):
        written = backup(call.workspace, file)
    return Reply(
        {"file": file, "bytes": written, "dry_run": False},
        [f"Copied the journal, {size(written)}, to {file}"],
        next=[f"holdfast backup {quote(file)} --restore"],
    )


def _restore(call: Call, file: str) -> Reply:
    done = restore_copy(call.workspace, file, now=call.now)
    lines = [f"The journal is what {file} is."]
    next = []
    if done["aside"]:
        lines.append(f"What it was is in {done['aside']}")
        next.append(f"holdfast backup {quote(done['aside'])} --restore")
    return Reply({**done, "dry_run": False}, lines, next=next)


@click.command()
@verb
def export_command(call: Call) -> Reply:
    """Print everything that the journal holds as JSON lines: a header, then every record in order.

    With --json the last line is the envelope.
    """
    count = 0
    try:
        for line in export(call.workspace):
            sys.stdout.write(f"{line}\n")
            count += 1
    except BrokenPipeError:
        raise ReaderGone from None
    return Reply({"lines": count})


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be removed; remove nothing.")
@click.option(
    "--decisions",
    is_flag=True,
    help="Also remove old records of gates, budgets and stops. Only a person can.",
)
@verb
def gc_command(call: Call, dry_run: bool, decisions: bool) -> Reply:
    """Remove the records that are older than the retention settings, and give unused space back.

    Every stream keeps its state, and an anchor with which its hash chain still verifies. Records of
    attempts that were refused stay.
    """
    if not call.workspace.exists():
        return Reply({"dry_run": dry_run}, ["Nothing was written yet."])
    # With --decisions a person is asked on this terminal.
    with ProgressLine("Removing old records", is_shown=not call.as_json and not decisions):
        freed = collect(call.workspace, call.now, dry_run=dry_run, decisions=decisions)
    removed = f"{plural(freed['records'], 'record')} of {plural(freed['streams'], 'stream')}"
    if dry_run:
        also = [f"Would remove {one}." for one in freed["also"]]
        return Reply({**freed, "dry_run": True}, [f"Would remove {removed}.", *also])
    did = f"Removed {removed}" if freed["records"] else "No record is old enough to go"
    lines = [f"{did}; freed {size(max(0, freed['bytes']))}."]
    if freed["quarantined"]:
        lines.append(f"Removed {plural(freed['quarantined'], 'old file')} from quarantine.")
    if freed["snapshots"]:
        lines.append(f"Removed {plural(freed['snapshots'], 'old snapshot')}.")
    if freed["leftovers"]:
        lines.append(f"Removed {plural(freed['leftovers'], 'leftover')} of interrupted writes.")
    lines += [f"Removed {one}." for one in freed["also"]]
    return Reply({**freed, "dry_run": False}, lines)


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
def purge_command(call: Call, id: str, matching: bool, dry_run: bool, yes: bool) -> Reply:
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
    with ProgressLine("Looking in every place that holdfast writes to", is_shown=not call.as_json):
        found = find(call.workspace, id=id, text=text, now=call.now)
    what = f"{plural(len(found['records']), 'record')} in {plural(len(found['streams']), 'stream')}"
    if found["files"]:
        what += f", {plural(len(found['files']), 'file')}"
    if found["snapshots"]:
        what += f", {plural(len(found['snapshots']), 'snapshot')} of the work tree"
    if dry_run:
        return Reply({**found, "dry_run": True}, [f"Would erase {what}."])
    if not yes and not sys.stdin.isatty():
        raise Usage("This erases for good and needs a yes.", hint="Give --yes when you are sure.")
    if not yes:
        click.confirm(f"Erase {what} for good?", abort=True, err=True)
    # Where people decided something, a person is asked on this terminal.
    is_asked = bool(find_decisions(found["streams"]))
    with ProgressLine("Erasing, and looking again", is_shown=not call.as_json and not is_asked):
        done = erase(call.workspace, found, text=text, actor=call.actor, now=call.now)
    lines = [f"Erased {what}."]
    if any(one["path"].startswith("git object") for one in done["left"]):
        lines.append(
            "Some of it is still among git's unreachable objects. "
            '"Erase a secret" in docs/how-to/README.md says how to remove it at once.'
        )
    is_unfinished = any(one["ours"] for one in done["left"])
    if done["left"]:
        lines.append("Left:")
        lines += [f"  {safe(one['path'])}: {safe(one['why'])}" for one in done["left"]]
    return Reply({**done, "dry_run": False}, lines, exit_code=int(is_unfinished))


def _secret() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("The text to erase", hide_input=True, err=True))
    return sys.stdin.read().rstrip("\n")
