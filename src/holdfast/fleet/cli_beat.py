"""holdfast agent beat; and the context and the reply of all verbs of agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import TEXT_OR_EMPTY, verb
from holdfast.cli.terminal import safe
from holdfast.fleet.context import AgentResult, FleetContext, open_context
from holdfast.fleet.updates import beat
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    from holdfast.fleet.updates import BeatRequest

ARGUMENTS = ("agent",)


@click.command("beat")
@click.argument("agent")
@click.option("--step", type=TEXT_OR_EMPTY, help="What you are doing right now.")
@click.option("--done", multiple=True, help="A step that is done; repeatable.")
@click.option("--next", multiple=True, help="A step still to do; repeatable. Replaces the list.")
@click.option("--file", multiple=True, metavar="PATH", help="A file that you changed; repeatable.")
@click.option(
    "--file-note", multiple=True, metavar="PATH=TEXT", help="How far a file is; repeatable."
)
@click.option("--recovery", type=TEXT_OR_EMPTY, help="How another agent would go on from here.")
@click.option("--stage", help="S2.P1, S2.P2 or S2.P3; never backwards.")
@click.option("--phase", type=TEXT_OR_EMPTY, help="The phase, as a short text.")
@click.option("--status", help="IN_PROGRESS, WAITING or BLOCKED.")
@click.option(
    "--committed", is_flag=True, help="Everything is committed: clear the list of changed files."
)
@click.option("--busy-until", metavar="TIME", help="Expect no heartbeat before TIME.")
@click.option("--doing", help="The long operation that --busy-until is about.")
@click.option(
    "--transcript", metavar="FILE", help="The session's transcript; its growth is a sign of life."
)
@click.option("--no-backup", is_flag=True, help="Do not back up the checkpoint before this update.")
@click.option(
    "--fence", type=int, metavar="N", help="The fence of the life that a script belongs to."
)
@click.option("--epic", metavar="PATH", help="The epic's folder.")
@verb
def beat_command(
    call: Call, agent: str, fence: int | None, epic: str | None, **given: Any
) -> Reply:
    """Send a heartbeat: what is done, what comes next, and how another agent would go on.

    Send one every 15 minutes, and whenever something changed. What is not given stays as it was. TIME
    is 15:40 on the local clock, or 2026-01-31T15:40:00Z.
    """
    context = context_for(beat, call, epic, fence)
    request: BeatRequest = {
        "agent": agent,
        "files": given.pop("file"),
        "file_notes": dict(_note(text) for text in given.pop("file_note")),
        "backup": not given.pop("no_backup"),
        **given,  # type: ignore[typeddict-item]
    }
    return reply(beat(context, request))


def _note(text: str) -> tuple[str, str]:
    path, equals, note = text.partition("=")
    if not equals or not path or not note:
        raise Usage(f"{text!r} is no note on a file.", hint="--file-note 'spec.md=80% complete'")
    return path, note


def context_for(
    operation: Callable[..., Any], call: Call, epic: str | None, fence: int | None = None
) -> FleetContext:
    """The context in which a call runs an operation."""
    return open_context(
        call.workspace_for(operation),
        epic or "",
        folder=call.folder,
        actor=call.actor,
        now=call.now,
        fence=fence,
    )


def reply(result: AgentResult) -> Reply:
    """The protocol's own lines for people, the checkpoint for programs; exit 7 under an emergency stop."""
    result.refuse_stopped()
    warn(*result.warnings)
    return Reply(result.data(), [safe(line) for line in result.lines], next=result.next)
