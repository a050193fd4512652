"""holdfast backup"""

from __future__ import annotations

import os

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import size
from holdfast.maintenance.backup import backup, restore_copy


@click.command()
@click.argument("file")
@click.option("--restore", is_flag=True, help="Replace the journal with FILE.")
@click.option("--dry-run", is_flag=True, help="Check that it would work; change nothing.")
@verb
def command(call: Call, file: str, restore: bool, dry_run: bool) -> Reply:
    """Write a consistent copy of the journal to FILE, also while other programs write to it.

    With --restore, FILE replaces the journal. The present journal is copied aside first, so you can
    undo the restore.
    """
    file = os.path.abspath(file)
    if restore:
        return _restore(call, file, dry_run)
    written = backup(call.workspace, file, dry_run=dry_run)
    if dry_run:
        return Reply({"file": file, "dry_run": True}, [f"Would copy the journal to {file}"])
    return Reply(
        {"file": file, "bytes": written, "dry_run": False},
        [f"Copied the journal, {size(written)}, to {file}"],
        next=[f"holdfast backup {file} --restore"],
    )


def _restore(call: Call, file: str, dry_run: bool) -> Reply:
    done = restore_copy(call.workspace, file, now=call.now, dry_run=dry_run)
    if dry_run:
        return Reply({"file": file, "dry_run": True}, [f"{file} is whole and could be restored."])
    lines = [f"The journal is what {file} is."]
    next = []
    if done["aside"]:
        lines.append(f"What it was is in {done['aside']}")
        next.append(f"holdfast backup {done['aside']} --restore")
    return Reply({**done, "dry_run": False}, lines, next=next)
