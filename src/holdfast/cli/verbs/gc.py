"""holdfast gc"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural, size
from holdfast.maintenance.gc import collect


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be removed; remove nothing.")
@click.option(
    "--decisions",
    is_flag=True,
    help="Also remove old records of gates, budgets and stops. Only a person can.",
)
@verb
def command(call: Call, dry_run: bool, decisions: bool) -> Reply:
    """Remove the records that are older than the retention settings, and give unused space back.

    Every stream keeps its state, and an anchor with which its hash chain still verifies. Records of
    attempts that were refused stay.
    """
    if not call.workspace.exists():
        return Reply({"dry_run": dry_run}, ["Nothing was written yet."])
    freed = collect(call.workspace, call.now, dry_run=dry_run, decisions=decisions)
    removed = f"{plural(freed['records'], 'record')} of {plural(freed['streams'], 'stream')}"
    if dry_run:
        return Reply({**freed, "dry_run": True}, [f"Would remove {removed}."])
    did = f"Removed {removed}" if freed["records"] else "No record is old enough to go"
    lines = [f"{did}; freed {size(max(0, freed['bytes']))}."]
    if freed["quarantined"]:
        lines.append(f"Removed {plural(freed['quarantined'], 'old file')} from quarantine.")
    if freed["snapshots"]:
        lines.append(f"Removed {plural(freed['snapshots'], 'old snapshot')}.")
    if freed["leftovers"]:
        lines.append(f"Removed {plural(freed['leftovers'], 'leftover')} of interrupted writes.")
    return Reply({**freed, "dry_run": False}, lines)
