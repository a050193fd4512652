"""holdfast agent beat; and the reply of all verbs of agents."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import TEXT_OR_EMPTY, epic_option, together, verb
from holdfast.cli.terminal import safe
from holdfast.fleet.context import AgentResult, context_for
from holdfast.fleet.updates import FIELDS, FLAG, LIST, NOTES, TEXT, beat
from holdfast.kernel.errors import Usage

fence_option = click.option(
    "--fence", type=int, metavar="N", help="The fence of the life that a script belongs to."
)
field_options = together(
    *(
        click.option(
            field.option,
            field.name,
            is_flag=field.kind == FLAG or None,
            multiple=field.kind in (LIST, NOTES),
            type=TEXT_OR_EMPTY if field.kind == TEXT else None,
            metavar=field.metavar,
            help=field.help,
        )
        for field in FIELDS
    )
)


@click.command("beat")
@click.argument("agent")
@field_options
@fence_option
@epic_option
@verb
def beat_command(
    call: Call, agent: str, fence: int | None, epic: str | None, **given: Any
) -> Reply:
    """Send a heartbeat: what is done, what comes next, and how another agent would go on.

    Send one every 15 minutes, and whenever something changed. What is not given stays as it was. TIME
    is 15:40 on the local clock, or 2026-01-31T15:40:00Z.
    """
    notes = dict(_note(text) for text in given["file_notes"])
    context = context_for(beat, call, epic, fence)
    return reply(beat(context, agent, **{**given, "file_notes": notes}))


def _note(text: str) -> tuple[str, str]:
    path, equals, note = text.partition("=")
    if not equals or not path or not note:
        raise Usage(f"{text!r} is no note on a file.", hint="--file-note 'spec.md=80% complete'")
    return path, note


def reply(result: AgentResult) -> Reply:
    """The protocol's own lines for people, the checkpoint for programs; exit 7 under an emergency stop."""
    result.refuse_stopped()
    warn(*result.warnings)
    return Reply(result.data(), [safe(line) for line in result.lines], next=result.next)
