"""holdfast rfc show"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.rfc_output import format_checkpoint, warn_all
from holdfast.cli.terminal import ago, safe, style, table
from holdfast.rfc.rules.model import MOST_LINES
from holdfast.rfc.summary import show

if TYPE_CHECKING:
    from holdfast.rfc.summary import RfcDetails


@click.command()
@click.argument("id", required=False)
@verb
def command(call: Call, id: str | None) -> Reply:
    """Show the phase of an RFC and its checkpoint, with the edits that people made in the files."""
    found = show(call.workspace, id or "")
    warn_all(found["problems"])
    lines = list(table(_facts(found, call.now)))
    # The table says what Meta says.
    _, rule, groups = found["checkpoint"].partition("\n---\n")
    lines += ["", *format_checkpoint(f"---\n{groups}")] if rule else []
    data = {name: found[name] for name in ("state", "checkpoint", "drift", "problems")}
    next = [] if found["checkpoint"] else [f"holdfast rfc prompt discover {found['state']['id']}"]
    return Reply(data, lines, next=next, pages=True)


def _facts(found: RfcDetails, now: int) -> list[list[str]]:
    row, fields = found["row"], found["state"]["fields"]
    rounds = f", Gate-B round {row['round']} of {row['max_rounds']}" if row["round"] else ""
    rows = [
        ["RFC", style(safe(row["id"]), "yellow")],
        ["Phase", safe(f"{fields.get('current_phase', '')}{rounds}")],
        ["Strictness", row["strictness"]],
        *([["Closed", safe(row["closed"])]] if row["closed"] else []),
    ]
    if not found["checkpoint"]:
        return [*rows, ["Checkpoint", "not written yet"]]
    room = f"{found['lines']} of {MOST_LINES} lines, about {found['tokens']} tokens"
    rows.append(["Checkpoint", f"version {row['version']}, {room}"])
    rows.append(["Updated", safe(f"{row['updated_at']} ({ago(row['updated_at'], now)})")])
    rows += [["Drift", style(safe(what), "yellow")] for what in found["drift"]]
    if row["owed"]:
        rows.append(["Owes", style(f"holdfast rfc write {row['owed']} {row['id']}", "yellow")])
    if row["restart"]:
        rows.append(["Restart", style(f"holdfast rfc bootstrap {row['id']}", "yellow")])
    return rows
