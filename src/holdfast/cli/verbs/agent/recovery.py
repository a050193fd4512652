"""holdfast agent resume, takeover, restart, defer, absorb, restore, handoff, guide: continue the work of
an agent that stopped."""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import confirmed, epic_option, transcript_option, verb, yes_option
from holdfast.cli.terminal import safe
from holdfast.cli.verbs.agent import context_for, reply
from holdfast.fleet.agents import resume
from holdfast.fleet.recovery import absorb, defer, handoff, restart, takeover
from holdfast.fleet.rules.handoff import guide
from holdfast.fleet.rules.model import STAGES
from holdfast.fleet.updates import restore


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="The agent's feature, if no checkpoint names it.")
@transcript_option
@yes_option
@epic_option
@verb
def resume_command(
    call: Call, agent: str, feature: str, transcript: str, yes: bool, epic: str | None
) -> Reply:
    """Go on as AGENT in a fresh session, and print what it did, what it changed, and what comes next."""
    return reply(
        resume(
            context_for(resume, call, epic),
            {"agent": agent, "feature": feature, "transcript": transcript, "yes": yes},
        )
    )


@click.command()
@click.argument("old")
@click.option("--by", "new", required=True, help="The agent that goes on; may be the same id.")
@yes_option
@epic_option
@verb
def takeover_command(call: Call, old: str, new: str, yes: bool, epic: str | None) -> Reply:
    """Let another agent go on where OLD stopped.

    The file of OLD is archived, and its life can write no more.
    """
    context = context_for(takeover, call, epic)
    return reply(
        confirmed(
            *(call, yes), lambda sure: takeover(context, {"agent": old, "by": new, "yes": sure})
        )
    )


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="The agent's feature, if its file does not name it.")
@yes_option
@epic_option
@verb
def restart_command(call: Call, agent: str, feature: str, yes: bool, epic: str | None) -> Reply:
    """Start AGENT from scratch, as the last resort.

    This is for a broken checkpoint, or for less than 30 minutes of work.
    """
    context = context_for(restart, call, epic)
    return reply(
        confirmed(
            *(call, yes),
            lambda sure: restart(context, {"agent": agent, "feature": feature, "yes": sure}),
        )
    )


@click.command()
@click.argument("agent")
@yes_option
@epic_option
@verb
def defer_command(call: Call, agent: str, yes: bool, epic: str | None) -> Reply:
    """Defer the feature of AGENT to Wave 2, and archive the agent's file."""
    context = context_for(defer, call, epic)
    return reply(confirmed(call, yes, lambda sure: defer(context, {"agent": agent, "yes": sure})))


@click.command()
@click.argument("agent")
@yes_option
@epic_option
@verb
def absorb_command(call: Call, agent: str, yes: bool, epic: str | None) -> Reply:
    """Give the feature of AGENT to the Primary, and archive the agent's file."""
    context = context_for(absorb, call, epic)
    return reply(confirmed(call, yes, lambda sure: absorb(context, {"agent": agent, "yes": sure})))


@click.command()
@click.argument("agent")
@epic_option
@verb
def restore_command(call: Call, agent: str, epic: str | None) -> Reply:
    """Replace the checkpoint of AGENT by its newest valid backup."""
    return reply(restore(context_for(restore, call, epic), {"agent": agent}))


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
    text = handoff(context, {"agent": agent, "feature": feature, "taken_from": old})
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
