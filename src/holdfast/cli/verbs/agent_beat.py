"""holdfast agent beat; and the context and the reply of all verbs of agents, which need no click."""

from __future__ import annotations

from holdfast.cli.frame import Reply, warn
from holdfast.cli.plain_options import PlainOption
from holdfast.cli.terminal import safe
from holdfast.fleet.context import open_context
from holdfast.fleet.updates import beat
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.cli.frame import Call
    from holdfast.fleet.context import AgentResult, FleetContext
    from holdfast.fleet.updates import BeatRequest

ARGUMENTS = ("agent",)
OPTIONS = (
    PlainOption("--step", "text or empty", "What you are doing right now."),
    PlainOption("--done", "many", "A step that is done; repeatable."),
    PlainOption("--next", "many", "A step still to do; repeatable. Replaces the list."),
    PlainOption("--file", "many", "A file that you changed; repeatable.", metavar="PATH"),
    PlainOption("--file-note", "many", "How far a file is; repeatable.", metavar="PATH=TEXT"),
    PlainOption("--recovery", "text or empty", "How another agent would go on from here."),
    PlainOption("--stage", "text", "S2.P1, S2.P2 or S2.P3; never backwards."),
    PlainOption("--phase", "text or empty", "The phase, as a short text."),
    PlainOption("--status", "text", "IN_PROGRESS, WAITING or BLOCKED."),
    PlainOption("--committed", "flag", "Everything is committed: clear the list of changed files."),
    PlainOption("--busy-until", "text", "Expect no heartbeat before TIME.", metavar="TIME"),
    PlainOption("--doing", "text", "The long operation that --busy-until is about."),
    PlainOption(
        "--transcript",
        "text",
        "The session's transcript; its growth is a sign of life.",
        metavar="FILE",
    ),
    PlainOption("--no-backup", "flag", "Do not back up the checkpoint before this update."),
    PlainOption(
        "--fence", "number", "The fence of the life that a script belongs to.", metavar="N"
    ),
    PlainOption("--epic", "text", "The epic's folder.", metavar="PATH"),
)


def answer(call: Call, agent: str, fence: int | None, epic: str | None, **given: Any) -> Reply:
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
