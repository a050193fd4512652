"""holdfast restore"""

from __future__ import annotations

import click

from holdfast.cli import terminal
from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.journal.interface import find_record
from holdfast.maintenance.history import restore
from holdfast.maintenance.record_text import word_of


@click.command()
@click.argument("id")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@verb
def command(call: Call, id: str, dry_run: bool) -> Reply:
    """Bring a stream, and its files, back to what they were after the record ID.

    It asks first when ID has fewer than six letters. A restore adds a record and removes none. To undo it, restore the record before it.
    """
    if not dry_run:
        record = find_record(call.journal, id)
        what = f"{word_of(record)} of {record['stream']} at {record['at']}"
        terminal.confirm_short_id(id, record["id"], what)
    done = restore(call.workspace, id, actor=call.actor, now=call.now, dry_run=dry_run)
    lines = list(terminal.diff(done["present"], done["wanted"], "present", "restored"))
    data = {
        "stream": done["stream"],
        "to": done["to"],
        "from": done["newest"],
        "dry_run": dry_run,
        "diff": [terminal.unstyle(line) for line in lines],
    }
    outcome = done["outcome"]
    if outcome is None:
        lines += [f"Would write again: {path}" for path in done["again"]]
        return Reply(data, lines or ["Nothing would change."])
    warn_of_views(outcome)
    data["views"] = outcome["views"]
    kept = [f"The file that could not be read is kept: {done['aside']}"] if done["aside"] else []
    if not done["changed"]:
        written = [f"Wrote again: {path}" for path in done["again"]] + kept
        return Reply(data, written or ["It is there already."])
    data["record"] = outcome["id"]
    said = f"Restored {done['stream']} to version {done['version']}."
    undo = f"holdfast restore {done['newest'][:8]}  # undo"
    return Reply(data, [*lines, *kept, said], next=[undo])
