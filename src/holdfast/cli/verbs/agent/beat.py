"""holdfast agent beat"""

from __future__ import annotations

from holdfast.cli.agents import carried_out, post_of, reply
from holdfast.cli.plain_output import Option
from holdfast.fleet.agents import update
from holdfast.fleet.heartbeat import heartbeat
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.cli.frame import Call, Reply

ARGUMENTS = ("agent",)
OPTIONS = (
    Option("--step", "text", "What you are doing right now."),
    Option("--done", "many", "A step that is done; may be repeated."),
    Option("--next", "many", "A step still to do; replaces the list, may be repeated."),
    Option("--file", "many", "A file that you changed; may be repeated.", metavar="PATH"),
    Option("--file-note", "many", "How far a file is.", metavar="PATH=TEXT"),
    Option("--recovery", "text", "How somebody else would go on from here."),
    Option("--stage", "text", "S2.P1, S2.P2 or S2.P3; never backwards."),
    Option("--phase", "text", "The phase, in words."),
    Option("--status", "text", "IN_PROGRESS, WAITING or BLOCKED."),
    Option("--committed", "flag", "Everything is committed: the list of files begins anew."),
    Option("--busy-until", "text", "A long operation: no news until then.", metavar="TIME"),
    Option("--doing", "text", "What that operation is."),
    Option("--transcript", "text", "The session's transcript, watched for signs of life."),
    Option("--no-backup", "flag", "No backup of the checkpoint before this update."),
    Option("--fence", "number", "Which life this is, for scripts.", metavar="N"),
    Option("--epic", "text", "The epic's folder.", metavar="PATH"),
)


def answer(call: Call, agent: str, fence: int | None, epic: str | None, **said: Any) -> Reply:
    """A heartbeat: what is done, what comes, and how somebody else would go on.

    Every 15 minutes, and whenever something changed. What is not given stays as it was. TIME is
    15:40 on the clock here, or 2026-01-31T15:40:00Z.
    """
    post = post_of(call, epic, fence)
    said["file_notes"] = dict(_note(text) for text in said["file_note"])
    command = heartbeat(post, said, folder=call.folder)
    backup = not said["no_backup"]
    return reply(carried_out(post, lambda: update(post, agent, command, backup=backup)))


def _note(text: str) -> tuple[str, str]:
    path, equals, note = text.partition("=")
    if not equals or not path or not note:
        raise Usage(f"{text!r} is no note on a file.", hint="--file-note 'spec.md=80% complete'")
    return path, note
