"""holdfast agent: what an agent reports and sends (start, block, unblock, phase, sync, complete, send, inbox), and
how the work of one that stopped goes on (resume, takeover, restart, defer, absorb, restore, handoff, guide)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply, warn, warn_of_views
from holdfast.cli.parser import TEXT_OR_EMPTY, epic_option, together, verb
from holdfast.cli.terminal import echo, safe, style
from holdfast.fleet.agents import resume, start
from holdfast.fleet.cli_beat import fence_option, reply
from holdfast.fleet.context import context_for
from holdfast.fleet.messages import inbox, send
from holdfast.fleet.recovery import absorb, defer, handoff, restart, takeover
from holdfast.fleet.rules.comms import FIELDS
from holdfast.fleet.rules.handoff import guide, parse
from holdfast.fleet.rules.model import PRIMARY, STAGES, message_path
from holdfast.fleet.sync import sync
from holdfast.fleet.updates import block, complete, phase, restore, unblock
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.inbox import QUEUED
from holdfast.kernel.text import plural, quote

if TYPE_CHECKING:
    from holdfast.fleet.context import Operation
    from holdfast.fleet.rules.comms import AgentMessage

yes_option = click.option("--yes", is_flag=True, help="Do it even if the agent may still be alive.")
transcript_option = click.option(
    "--transcript",
    default="",
    metavar="FILE",
    help="The session's transcript; its growth is a sign of life.",
)


def fleet_command(
    operation: Operation[...],
    help: str,
    *options: Callable[[Any], Any],
    agent: str = "AGENT",
    asks: bool = False,
) -> click.Command:
    """A command about an agent, whose other arguments and options are those of the operation. `asks`: at a
    terminal, or with --yes, a person may do it even though the signals do not suffice."""

    def answer(
        call: Call, agent: str, epic: str | None, fence: int | None = None, **given: Any
    ) -> Reply:
        context = context_for(operation, call, epic, fence)
        try:
            return reply(operation(context, agent, **given))
        except HoldfastError as refusal:
            can_ask = asks and refusal.kind in ("not_known_dead", "much_work")
            if not can_ask or call.as_json or not sys.stdin.isatty():
                raise
            echo(refusal.message, error=True)
            if not click.confirm("Do it anyway?", err=True):
                raise
        return reply(operation(context, agent, **{**given, "yes": True}))

    about, last = click.argument("agent", metavar=agent), [yes_option] if asks else []
    made = together(about, *options, *last, epic_option)(verb(answer))
    return click.command(help=help)(made)


@click.command()
@click.argument("agent", required=False)
@click.option(
    "--feature",
    default="",
    help="The feature that the agent owns, such as feature_02_team_penalty.",
)
@click.option(
    "--handoff", "package", metavar="FILE", help="A file with a handoff package; - is stdin."
)
@transcript_option
@click.option(
    "--from", "archive", default="", metavar="FILE", help="Start from an archived checkpoint."
)
@epic_option
@verb
def start_command(
    call: Call, agent: str | None, package: str | None, epic: str | None, **given: Any
) -> Reply:
    """Start AGENT: write its first checkpoint and its message files, and claim its feature.

    AGENT is Agent-Primary, Secondary-A, Secondary-B and so on. A handoff package names the agent and
    its feature; pasted again after a crash, it resumes the agent.
    """
    pasted = None if package is None else parse(_read(package))
    context = context_for(start, call, epic or (pasted["epic"] if pasted else ""))
    return reply(start(context, agent or "", package=pasted, **given))


def _read(source: str) -> str:
    """A package as some editors save it: with a byte order mark, or in UTF-16."""
    if source == "-":
        content = sys.stdin.buffer.read()
    else:
        try:
            content = Path(source).read_bytes()
        except OSError as error:
            raise Usage(f"{source} cannot be read: {error.strerror}.") from None
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return content.decode(encoding, "replace")


block_command = fleet_command(
    block,
    "Report what keeps AGENT from working: status BLOCKED, with the BLOCKER.",
    click.argument("blocker"),
    click.option("--recovery", help="How another agent would go on from here."),
    fence_option,
)
unblock_command = fleet_command(
    unblock,
    "Resolve BLOCKER, given with its exact text; without it, resolve all blockers of AGENT.",
    click.argument("blocker", required=False),
    fence_option,
)
phase_command = fleet_command(
    phase,
    "Write the last checkpoint of a stage and go on to the next one: STAGE is S2.P2 or S2.P3.",
    click.argument("stage"),
    click.option("--next", multiple=True, help="A step of the new stage; repeatable."),
    fence_option,
)
sync_command = fleet_command(
    sync,
    """Wait for the other agents at POINT: S2-S3 (4 h, at most 6 h) or S4-S5 (2 h, at most 3 h).

    The agent writes a checkpoint before the sync point, and one after it once all agents are there.
    Without --wait, call it again later.
    """,
    click.argument("point"),
    click.option(
        "--wait", is_flag=True, help="Wait until all are there, or the hard limit is reached."
    ),
    fence_option,
)
complete_command = fleet_command(
    complete,
    "Report the feature of AGENT as done: status COMPLETE, and a message to the Primary.",
    fence_option,
)


@click.command()
@click.argument("agent", metavar="TO")
@click.option("--from", "sender", default=PRIMARY, show_default=True, help="The sender.")
@click.option("--subject", required=True, help="The subject, in one line.")
@click.option("--action", type=TEXT_OR_EMPTY, default="", help="What the receiver should do.")
@click.option("--details", type=TEXT_OR_EMPTY, default="", help="Details; may have several lines.")
@click.option("--next", type=TEXT_OR_EMPTY, default="", help="What comes next.")
@click.option(
    "--acknowledge", type=TEXT_OR_EMPTY, default="", help="How the receiver should answer."
)
@epic_option
@verb
def send_command(call: Call, agent: str, sender: str, epic: str | None, **texts: Any) -> Reply:
    """Send a message to the agent TO, in agent_comms/."""
    context = context_for(send, call, epic)
    result = send(context, agent, sender=sender, **texts)
    warn(*result["warnings"])
    outcome, number = result["outcome"], result["number"]
    warn_of_views(outcome)
    data = {**outcome, "path": result["path"]}
    if outcome["queued"]:
        return Reply(data, [QUEUED])
    return Reply(
        {**data, "number": number},
        [f"Message {number} to {agent} in {safe(message_path(sender, agent))}"],
        next=[f"holdfast agent inbox {quote(agent)} --keep-unread"],
    )


@click.command()
@click.argument("agent")
@click.option("--unread", is_flag=True, help="Show only messages that were not read before.")
@click.option("--keep-unread", is_flag=True, help="Do not mark the messages as read.")
@click.option("--archive", is_flag=True, help="Then move them to agent_comms/archive/.")
@epic_option
@verb
def inbox_command(call: Call, agent: str, unread: bool, epic: str | None, **given: bool) -> Reply:
    """Show the messages of AGENT, newest first, and mark them as read."""
    result = inbox(context_for(inbox, call, epic), agent, unread=unread, **given)
    warn(*result["warnings"])
    for outcome in result["outcomes"]:
        warn_of_views(outcome)
    where, files, archived = result["epic"], result["files"], result["archived"]
    data = {
        "agent_id": agent,
        "unread": result["unread"],
        "files": [{"path": where.file(path), "messages": messages} for path, messages in files],
        "archived": [{"path": where.file(path), "to": where.file(to)} for path, to in archived],
    }
    lines = [line for path, messages in files for line in _message_lines(path, messages)]
    if lines and not archived:
        lines.pop()
    lines += [f"Archived in {safe(to)}" for _, to in archived]
    nothing = "No unread message." if unread else "No messages yet."
    return Reply(data, lines or [nothing], pages=True)


def _message_lines(path: str, messages: list[AgentMessage]) -> Iterator[str]:
    if not messages:
        return
    fresh = sum(not message["read"] for message in messages)
    count = plural(len(messages), "message") + (f", {fresh} new" if fresh else "")
    yield style(safe(path), bold=True) + style(f"  {count}", dim=True)
    for message in messages:
        mark = style("●", "yellow") if not message["read"] else " "
        number = f"{message['number']:>3}" if message["number"] else "  –"
        when = style(safe(message["at"]), dim=True)
        yield f"{mark}{number}  {when}  {style(safe(message['subject']), bold=not message['read'])}"
        for name in FIELDS[1:]:
            yield from _field_lines(name, message[name])  # type: ignore[literal-required]
    yield ""


def _field_lines(name: str, text: str) -> Iterator[str]:
    label = f"{name.capitalize()}:"
    for line in safe(text).split("\n") if text else []:
        yield f"      {style(f'{label:<13}', dim=True)}{line}".rstrip()
        label = ""


resume_command = fleet_command(
    resume,
    "Go on as AGENT in a fresh session, and print what it did, what it changed, and what comes next.",
    click.option("--feature", default="", help="The agent's feature, if no checkpoint names it."),
    transcript_option,
    yes_option,
)
takeover_command = fleet_command(
    takeover,
    """Let another agent go on where OLD stopped.

    The file of OLD is archived, and its life can write no more.
    """,
    click.option("--by", required=True, help="The agent that continues; may be the same id."),
    agent="OLD",
    asks=True,
)
restart_command = fleet_command(
    restart,
    """Start AGENT from scratch, as the last resort.

    This is for a broken checkpoint, or for less than 30 minutes of work.
    """,
    click.option(
        "--feature", default="", help="The agent's feature, if its file does not name it."
    ),
    asks=True,
)
defer_command = fleet_command(
    defer, "Defer the feature of AGENT to Wave 2, and archive the agent's file.", asks=True
)
absorb_command = fleet_command(
    absorb, "Give the feature of AGENT to the Primary, and archive the agent's file.", asks=True
)
restore_command = fleet_command(
    restore, "Replace the checkpoint of AGENT by its newest valid backup."
)


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="The agent's feature, if it has not started yet.")
@click.option("--from", "old", default="", help="The crashed agent whose work AGENT takes over.")
@epic_option
@verb
def handoff_command(call: Call, agent: str, feature: str, old: str, epic: str | None) -> Reply:
    """Print the text to paste into the session of AGENT: its id, its feature, its files.

    With --from, AGENT takes over from a crashed agent. Otherwise it starts at S2.P1, or resumes.
    """
    context = context_for(handoff, call, epic)
    if agent != PRIMARY and context.find_home(agent) is None:
        warn(
            f"There is no {PRIMARY} yet. Until it starts, the files of {agent} stay in the agent's own worktree: "
            f"holdfast agent start {PRIMARY} --feature FEATURE"
        )
    text = handoff(context, agent, feature=feature, taken_from=old)
    return Reply({"agent_id": agent, "text": text}, [safe(line) for line in text.split("\n")])


@click.command()
@click.argument("stage", required=False, type=click.Choice(STAGES))
@click.option("--all", "everything", is_flag=True, help="Print the steps of all stages.")
@verb
def guide_command(call: Call, stage: str | None, everything: bool) -> Reply:
    """Print the checkpoint steps that the guide of a STAGE needs. [S2.P1]"""
    stages = STAGES if everything else (stage or STAGES[0],)
    guides = {each: guide(each) for each in stages}
    text = "\n".join(guides.values())
    return Reply({"guides": guides}, text.rstrip("\n").split("\n"), pages=True)
