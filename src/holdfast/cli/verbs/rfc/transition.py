"""holdfast rfc transition"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.rfc_output import answers_from, context_of, describe, warn_all
from holdfast.cli.terminal import style, table
from holdfast.rfc.rules.model import heading_of, word_of
from holdfast.rfc.rules.transitions import TRANSITIONS
from holdfast.rfc.transition import TransitionRequest, transition

if TYPE_CHECKING:
    from holdfast.rfc.transition import TransitionResult


@click.command()
@click.argument("name", type=click.Choice(list(TRANSITIONS)), metavar="TRANSITION")
@click.argument("id", required=False)
@click.option(
    "--to", type=click.Choice(["design", "discover"]), help="Next phase after gate-b-fail."
)
@click.option("--pressure", type=click.IntRange(0, 100), help="Percent of the context in use.")
@click.option("--restart/--no-restart", default=None, help="Restart the context, or do not.")
@click.option("--from", "source", metavar="FILE", help="Write the answers in FILE (or -) too.")
@click.option("--lenient", is_flag=True, help="Write too few bullets with a warning.")
@click.option("--accept-versions", is_flag=True, help="Write even if the files' versions differ.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked for; change nothing.")
@verb
def command(
    call: Call,
    name: str,
    id: str | None,
    to: str | None,
    pressure: int | None,
    restart: bool | None,
    source: str | None,
    lenient: bool,
    accept_versions: bool,
    dry_run: bool,
) -> Reply:
    """Leave a phase. Says whether to write a checkpoint and whether to restart the context.

    Trigger points: discover-design, design-gate-a, gate-b-fail, review-reject. Write their checkpoint
    before (`rfc write`), after, or with --from in one step; until it is written, no other transition is
    possible. Others: gate-a-pass, gate-a-fail, gate-b-pass, review-approve, baseline-change.
    """
    request = TransitionRequest(
        id=id or "",
        name=name,
        to=to or "",
        restart=restart,
        pressure=pressure,
        answers=None if source is None else answers_from(source, lenient=lenient),
        dry_run=dry_run,
        accept_versions=accept_versions,
    )
    done = transition(context_of(call), request)
    warn_all(done["warnings"])
    if done["outcome"] is not None and done["written"] is None:
        warn_of_views(done["outcome"])
    lines = _lines(done, dry_run=dry_run)
    return Reply({**done, "dry_run": dry_run}, lines, next=_next(done))


def _lines(done: TransitionResult, *, dry_run: bool) -> list[str]:
    advice = done["advice"]
    moved = f"{advice['source']} to {advice['target']}"
    if done["outcome"] is not None and done["outcome"]["queued"]:
        return ["Queued in .holdfast/inbox: the journal cannot be written from here."]
    head = f"{done['id']} {'would go' if dry_run else 'went'} from {moved}."
    if done["repeated"]:
        what = "nothing changed" if done["written"] is None else "what it owed is written now"
        head = f"{done['id']} went to {advice['target']} already; {what}."
    write = "no"
    if advice["write"]:
        first = f"first of all: holdfast rfc write {word_of(advice['group'])} {done['id']}"
        write = f"yes, {heading_of(advice['group'])}; {first if done['owed'] else 'it is written'}"
    restart = style("yes", "yellow", bold=True) if advice["restart"] else "no"
    rows = [["Write", write], ["Restart", f"{restart} ({advice['why']})"]]
    lines = [style(head, bold=True), *table(rows, indent="  ")]
    if done["written"] is not None:
        lines += describe(done["written"], dry_run=dry_run)
    return lines


def _next(done: TransitionResult) -> list[str]:
    found = []
    if done["owed"]:
        word = word_of(done["owed"])
        found += [f"holdfast rfc {verb} {word} {done['id']}" for verb in ("prompt", "write")]
    if done["advice"]["restart"]:
        found.append(f"holdfast rfc bootstrap {done['id']}")
    return found
