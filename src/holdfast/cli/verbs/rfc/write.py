"""holdfast rfc write"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.rfcs import answers_from, said_of, shown, which
from holdfast.rfc.checkpoints import write
from holdfast.rfc.rules.transitions import GROUPS


@click.command()
@click.argument("group", type=click.Choice(GROUPS))
@click.argument("id", required=False)
@click.option("--from", "source", default="-", metavar="FILE", help="Read the answers from FILE.")
@click.option("--lenient", is_flag=True, help="Too few bullets are a warning, not a refusal.")
@click.option(
    "--accept-vanished", is_flag=True, help="Take the compressor's result though bullets are gone."
)
@click.option("--accept-versions", is_flag=True, help="Go on though the two files are apart.")
@click.option("--dry-run", is_flag=True, help="Show the checkpoint as it would be.")
@verb
def command(
    call: Call,
    group: str,
    id: str | None,
    source: str,
    lenient: bool,
    accept_vanished: bool,
    accept_versions: bool,
    dry_run: bool,
) -> Reply:
    """Take answers, in Markdown or JSON on standard input, into .ohrfc/ID/checkpoint.md.

    Several lines of a bullet are folded into one, exact repeats merged; 40 lines a group and 200 in
    all are the most. What does not fit is refused, never cut, and says what would have to give.
    """
    answers = answers_from(source, lenient=lenient, accept_vanished=accept_vanished)
    done = write(
        call.workspace,
        which(call, id),
        group,
        answers,
        actor=call.actor,
        now=call.now,
        dry_run=dry_run,
        accept_versions=accept_versions,
    )
    lines = said_of(done, dry_run=dry_run)
    if dry_run:
        lines = [*shown(done["text"]), "", *lines]
    return Reply({**done, "dry_run": dry_run}, lines, next=[f"holdfast rfc show {done['id']}"])
