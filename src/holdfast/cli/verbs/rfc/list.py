"""holdfast rfc list"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, plural, safe, style, table
from holdfast.rfc.listing import listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.rfc.listing import Row


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also those that are accepted.")
@verb
def command(call: Call, everything: bool) -> Reply:
    """The open RFCs, and what each waits for."""
    known = listing(call.workspace)
    shown = [row for row in known if everything or row["open"]]
    rows = [
        [
            style(safe(row["id"]), "yellow"),
            safe(row["phase"]),
            safe(row["strictness"]),
            f"round {row['round']}/{row['max_rounds']}" if row["round"] else "",
            f"version {row['version']}" if row["version"] else "no checkpoint",
            ago(row["updated_at"], call.now) if row["updated_at"] else "",
            _waits(row),
        ]
        for row in shown
    ]
    lines = list(table(rows))
    hidden = len(known) - len(shown)
    if not lines:
        lines = ["No RFC is open."]
    if hidden:
        lines.append(style(f"and {plural(hidden, 'accepted one')}: --all", dim=True))
    next = [f"holdfast rfc bootstrap {row['id']}" for row in shown if row["restart"]]
    return Reply({"rfcs": shown}, lines, next=next or [] if shown else ["holdfast rfc init ID"])


def _waits(row: Row) -> str:
    if row["problems"]:
        return style(f"cannot be read: holdfast rfc lint {row['id']}", "red")
    if row["owed"]:
        return style(f"owes its checkpoint: holdfast rfc prompt {row['owed']}", "yellow")
    return style("bootstrap first", "yellow") if row["restart"] else ""
