"""holdfast agent beat"""

from __future__ import annotations

from holdfast.cli.plain_options import PlainOption
from holdfast.cli.verbs.agent import context_for, reply
from holdfast.fleet.updates import beat
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.cli.frame import Call, Reply
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
