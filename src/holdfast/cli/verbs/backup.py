"""holdfast backup"""

from __future__ import annotations

import os

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import size
from holdfast.journal import upkeep
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.remote.move import copy_to_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


@click.command()
@click.argument("file")
@click.option("--restore", is_flag=True, help="Make the journal what FILE is.")
@click.option("--dry-run", is_flag=True, help="Check that it would work, and change nothing.")
@verb
def command(call: Call, file: str, restore: bool, dry_run: bool) -> Reply:
    """Write a consistent copy of the journal to FILE, also while others write.

    With --restore the journal becomes what FILE is; what it was is copied aside first, so that
    this too can be undone.
    """
    file = os.path.abspath(file)
    if restore:
        return _restore(call, file, dry_run)
    journal = call.journal
    if dry_run:
        upkeep.refuse_existing(file)
        return Reply({"file": file, "dry_run": True}, [f"Would copy the journal to {file}"])
    if isinstance(journal, SqliteJournal):
        upkeep.backup(journal, file)
    else:
        copy_to_file(call.workspace, file)
    written = os.stat(file).st_size
    return Reply(
        {"file": file, "bytes": written, "dry_run": False},
        [f"Copied the journal, {size(written)}, to {file}"],
        next=[f"holdfast backup {file} --restore"],
    )


def _restore(call: Call, file: str, dry_run: bool) -> Reply:
    upkeep.check_copy(file)
    if dry_run:
        return Reply({"file": file, "dry_run": True}, [f"{file} is whole and could be restored."])
    workspace = call.workspace
    if workspace.url:
        raise HoldfastError(
            "A copy is restored into a file, and this journal is on a server.",
            hint="Restore the database with PostgreSQL's own tools, or into an empty one: "
            'HOLDFAST_URL= holdfast backup FILE --restore, then holdfast journal move --to "$URL"',
            kind="on_a_server",
        )
    aside = ""
    with workspace.lock():
        if workspace.exists():
            stamp = clock.stamp(call.now).replace(":", "")
            aside = _keep_present(workspace, f"{stamp}-{new_id()[:8]}")
        upkeep.restore(workspace.file(), file)
    lines = [f"The journal is what {file} is."]
    next = []
    if aside:
        lines.append(f"What it was is in {aside}")
        next.append(f"holdfast backup {aside} --restore")
    return Reply({"file": file, "aside": aside, "dry_run": False}, lines, next=next)


def _keep_present(workspace: Workspace, stamp: str) -> str:
    """A copy of the journal as it is, or, when it is too damaged to be copied, the file itself."""
    aside = os.path.join(workspace.home, f"{upkeep.COPY_PREFIXES[0]}{stamp}.db")
    try:
        upkeep.backup(workspace.file(), aside)
        return aside
    except HoldfastError as error:
        if error.kind != "journal_damaged":
            raise
        workspace.close()
        return upkeep.set_aside(workspace.journal_path, stamp)
