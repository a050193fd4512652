"""holdfast rfc list"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, plural, safe, style, table
from holdfast.rfc.summary import list_rfcs

if TYPE_CHECKING:
    from holdfast.rfc.summary import RfcRow


@click.command()
@click.option("--all", "everything", is_flag=True, help="List accepted and closed RFCs too.")
@verb
def command(call: Call, everything: bool) -> Reply:
    """List the open RFCs and what each waits for."""
    known = list_rfcs(call.workspace)
    shown = [row for row in known if everything or row["open"]]
    lines = list(table([_cells(row, call.now) for row in shown])) or ["No RFC is open."]
    hidden = len(known) - len(shown)
    if hidden:
        lines.append(style(f"and {plural(hidden, 'accepted or closed one')}: --all", dim=True))
    next = [f"holdfast rfc bootstrap {row['id']}" for row in shown if row["restart"]]
    return Reply({"rfcs": shown}, lines, next=next if shown else ["holdfast rfc init ID"])


def _cells(row: RfcRow, now: int) -> list[str]:
    return [
        style(safe(row["id"]), "yellow"),
        safe(row["phase"]),
        safe(row["strictness"]),
        f"round {row['round']}/{row['max_rounds']}" if row["round"] else "",
        f"version {row['version']}" if row["version"] else "no checkpoint",
        ago(row["updated_at"], now) if row["updated_at"] else "",
        _waits_for(row),
    ]


def _waits_for(row: RfcRow) -> str:
    if row["problems"]:
        return style(f"cannot be read: holdfast rfc lint {row['id']}", "red")
    if row["closed"]:
        return style(f"closed: holdfast rfc close {row['id']} --reopen", dim=True)
    if row["owed"]:
        return style(
            f"owes its checkpoint: holdfast rfc prompt {row['owed']} {row['id']}", "yellow"
        )
    return style("bootstrap first", "yellow") if row["restart"] else ""
