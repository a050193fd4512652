"""holdfast rfc init, close, list, show, lint"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, plural, safe, style, table
from holdfast.cli.verbs.rfc.checkpoint import context_of, format_checkpoint, warn_all
from holdfast.rfc.init import InitRequest, close, init
from holdfast.rfc.lint import Remark, lint
from holdfast.rfc.rules.model import MOST_LINES, STRICTNESS
from holdfast.rfc.summary import list_rfcs, show

if TYPE_CHECKING:
    from holdfast.rfc.summary import RfcDetails, RfcRow


@click.command()
@click.argument("id")
@click.option("--title", default="", help="Title in rfc.md; by default the id.")
@click.option(
    "--strictness",
    type=click.Choice(STRICTNESS, case_sensitive=False),
    default="standard",
    show_default=True,
    help="Rounds of Gate-B: light none, standard two, full three.",
)
@verb
def init_command(call: Call, id: str, title: str, strictness: str) -> Reply:
    """Begin an RFC in .ohrfc/ID: rfc.md, evidence.json and state.json, in the phase discover.

    Files that exist in that folder are kept.
    """
    begun = init(context_of(call), InitRequest(id=id, title=title, strictness=strictness))
    warn_of_views(begun["outcome"])
    lines = [f"{begun['folder']} is ready: discover, {strictness}."]
    lines += [f"Kept as it was: {name}" for name in begun["kept"]]
    if begun["outcome"]["queued"]:
        lines = ["Queued in .holdfast/inbox: the journal cannot be written from here."]
    return Reply({**begun}, lines, next=[f"holdfast rfc prompt discover {id}"])


@click.command()
@click.argument("id")
@click.option("--reopen", is_flag=True, help="Open the RFC again.")
@verb
def close_command(call: Call, id: str, reopen: bool) -> Reply:
    """End the RFC ID, which will not be accepted. Its files stay as they are.

    A closed RFC is in no list and in no resumed session; `rfc list --all` shows it.
    """
    found, outcome = close(context_of(call), id, reopen=reopen)
    warn_of_views(outcome)
    line = f"{found} is {'open' if reopen else 'closed'}."
    undo = "" if reopen else " --reopen"
    if outcome["queued"]:
        line = "Queued in .holdfast/inbox: the journal cannot be written from here."
    data = {"id": found, "closed": not reopen, "outcome": outcome}
    return Reply(data, [line], next=[f"holdfast rfc close {found}{undo}"])


@click.command()
@click.option("--all", "everything", is_flag=True, help="List accepted and closed RFCs too.")
@verb
def list_command(call: Call, everything: bool) -> Reply:
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


@click.command()
@click.argument("id", required=False)
@verb
def show_command(call: Call, id: str | None) -> Reply:
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


@click.command()
@click.argument("what", required=False, metavar="[ID | FILE]")
@click.option("--lenient", is_flag=True, help="Too few bullets are a warning, not an error.")
@verb
def lint_command(call: Call, what: str | None, lenient: bool) -> Reply:
    """Check a checkpoint against the protocol. Prints path:line: message; exits with 1 on an error.

    An ID stands for its checkpoint.md and state.json, a FILE for any checkpoint.
    """
    remarks = lint(call.workspace, what or "", lenient=lenient)
    errors = [remark for remark in remarks if remark["severity"] == "error"]
    end = (
        style(f"{plural(len(errors), 'error')}.", "red") if errors else style("No errors.", "green")
    )
    lines = [*(_line(remark) for remark in remarks), end]
    return Reply({"remarks": remarks}, lines, exit_code=1 if errors else 0)


def _line(remark: Remark) -> str:
    word = style("warning: ", "yellow") if remark["severity"] == "warning" else ""
    place = style(safe(f"{remark['path']}:{remark['line']}:"), bold=True)
    return f"{place} {word}{safe(remark['message'])}"
