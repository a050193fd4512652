"""holdfast restore"""

from __future__ import annotations

import click

from holdfast.cli import terminal
from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.journal.interface import find_record
from holdfast.kernel.commit import REPAIR, Order, commit
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import RESTORED
from holdfast.loop.track import prepare_restore
from holdfast.maintenance.history import picture, state_at, state_now


@click.command()
@click.argument("id")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@verb
def command(call: Call, id: str, dry_run: bool) -> Reply:
    """Bring a stream, and its files, back to what they were after the record ID.

    It adds a record and removes none, so restoring the record before it undoes it.
    """
    journal = call.journal
    record = find_record(journal, id)
    stream = record["stream"]
    present, version = state_now(journal, stream)
    wanted = state_at(journal, stream, record["version"])
    lines = list(
        terminal.diff(picture(stream, present), picture(stream, wanted), "present", "restored")
    )
    newest = journal.latest(stream=stream, limit=1)[0]
    data = {"stream": stream, "to": record["id"], "from": newest["id"], "dry_run": dry_run}
    data["diff"] = [terminal.unstyle(line) for line in lines]
    here = journal.views(worktree=call.workspace.root, stream=stream)
    again = [row["path"] for row in here if row["removed"]]
    if dry_run:
        lines += [f"Would write again: {path}" for path in again]
        return Reply(data, lines or ["Nothing would change."])
    writer = call.writer
    with prepare_restore(call.workspace, writer, stream, actor=call.actor, now=call.now) as aside:
        if not lines and version == record["version"]:
            order = Order(stream, REPAIR, raise_removed=True)
            (outcome,) = commit(writer, [order], actor="holdfast", now=call.now)
            warn_of_views(outcome)
            written = [f"Wrote again: {path}" for path in again]
            written += [f"The file that could not be read is kept: {aside}"] if aside else []
            return Reply({**data, "views": outcome["views"]}, written or ["It is there already."])
        restored = Decision([(RESTORED, {"version": record["version"], "state": wanted})])
        order = Order(stream, restored, raise_removed=True)
        (outcome,) = commit(writer, [order], actor=call.actor, now=call.now)
    warn_of_views(outcome)
    lines += [f"The file that could not be read is kept: {aside}"] if aside else []
    data["record"], data["views"] = outcome["id"], outcome["views"]
    said = f"Restored {stream} to version {record['version']}."
    return Reply(data, [*lines, said], next=[f"holdfast restore {newest['id'][:8]}  # undo"])
