"""holdfast rfc write"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.rfc_output import answers_from, context_of, describe, format_checkpoint
from holdfast.rfc.rules.model import GROUPS
from holdfast.rfc.write import WriteRequest, write


@click.command()
@click.argument("group", type=click.Choice(GROUPS))
@click.argument("id", required=False)
@click.option("--from", "source", default="-", metavar="FILE", help="Read the answers from FILE.")
@click.option("--lenient", is_flag=True, help="Write too few bullets with a warning.")
@click.option("--accept-versions", is_flag=True, help="Write even if the files' versions differ.")
@click.option("--dry-run", is_flag=True, help="Print the checkpoint; write nothing.")
@verb
def command(
    call: Call,
    group: str,
    id: str | None,
    source: str,
    lenient: bool,
    accept_versions: bool,
    dry_run: bool,
) -> Reply:
    """Write answers (Markdown or JSON on standard input) into .ohrfc/ID/checkpoint.md.

    Bullets of several lines are folded into one, and exact repeats are merged. The limits are 40 lines
    for a group and 200 lines in all. Answers over a limit are refused, never cut; the refusal says
    which section must give how many lines.
    """
    request = WriteRequest(
        id=id or "",
        group=group,
        answers=answers_from(source, lenient=lenient),
        dry_run=dry_run,
        accept_versions=accept_versions,
    )
    done = write(context_of(call), request)
    lines = describe(done, dry_run=dry_run)
    if dry_run:
        lines = [*format_checkpoint(done["text"]), "", *lines]
    return Reply({**done, "dry_run": dry_run}, lines, next=[f"holdfast rfc show {done['id']}"])
