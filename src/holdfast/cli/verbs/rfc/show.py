"""holdfast rfc show"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.rfcs import shown, warn_of, which
from holdfast.cli.terminal import ago, safe, style, table
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules import document
from holdfast.rfc.rules.bootstrap import drift
from holdfast.rfc.rules.budget import estimate_tokens
from holdfast.rfc.rules.transitions import owes
from holdfast.rfc.rules.words import MOST_LINES, max_rounds, rounds_of, strictness_of, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.rfc.rules.words import RfcState


@click.command()
@click.argument("id", required=False)
@verb
def command(call: Call, id: str | None) -> Reply:
    """How an RFC stands, and its checkpoint, with what was written into the files by hand."""
    found = which(call, id)
    with Reader(call.workspace) as reader:
        state, problems = reader.state(found)
        now, _ = reader.artifacts(found)
    warn_of(problems)
    text = document.write(state) if state["meta"]["last_phase"] else ""
    edited = drift(state["meta"]["artifacts"], now) if text else []
    lines = list(table(_facts(state, text, edited, call.now)))
    if text:
        # The table says what Meta says.
        _, rule, groups = text.partition("\n---\n")
        lines += ["", *shown(f"---\n{groups}")] if rule else []
    data = {"state": state, "checkpoint": text, "drift": edited, "problems": problems}
    next = [] if text else [f"holdfast rfc prompt discover {found}"]
    return Reply(data, lines, next=next, pages=True)


def _facts(state: RfcState, text: str, edited: list[str], now: int) -> list[list[str]]:
    fields, move = state["fields"], state["move"]
    number = rounds_of(fields)
    rounds = f", Gate-B round {number} of {max_rounds(fields)}" if number else ""
    rows = [
        ["RFC", style(safe(state["id"]), "yellow")],
        ["Phase", safe(f"{fields.get('current_phase', '')}{rounds}")],
        ["Strictness", strictness_of(fields)],
    ]
    if not text:
        return [*rows, ["Checkpoint", "not written yet"]]
    room = f"{len(text.splitlines())} of {MOST_LINES} lines, about {estimate_tokens(text)} tokens"
    rows.append(["Checkpoint", f"version {version_of(fields)}, {room}"])
    updated = str(fields.get("updated_at", ""))
    rows.append(["Updated", safe(f"{updated} ({ago(updated, now)})")])
    rows += [["Drift", style(safe(what), "yellow")] for what in edited]
    if owes(state):
        rows.append(["Owes", style(f"holdfast rfc write {owes(state)}", "yellow")])
    if move is not None and move["restart"]:
        rows.append(["Restart", style(f"holdfast rfc bootstrap {state['id']}", "yellow")])
    return rows
