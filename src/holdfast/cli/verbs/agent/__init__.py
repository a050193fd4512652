"""holdfast agent: its verbs, the context in which they run an operation, and the reply."""

from __future__ import annotations

from holdfast.cli.frame import Reply, warn
from holdfast.cli.terminal import safe
from holdfast.fleet.context import open_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import click

    from holdfast.cli.frame import Call
    from holdfast.fleet.context import AgentResult, FleetContext

VERBS = {
    "start": "Start an agent: write its first checkpoint and claim its feature.",
    "beat": "Send a heartbeat: what is done, what comes next, how to go on.",
    "block": "Report what keeps the agent from working.",
    "unblock": "Resolve a blocker, or all of them.",
    "phase": "Go on to the next stage.",
    "sync": "Wait for the other agents at a sync point.",
    "complete": "Report the feature as done.",
    "list": "List all agents: who is alive, what each does, and what to do next.",
    "watch": "Show the list live.",
    "check": "Scan all agents as the Primary: warn, escalate, suggest what to do.",
    "resume": "Go on as the same agent in a fresh session.",
    "takeover": "Let another agent go on where one stopped.",
    "restart": "Start an agent from scratch, as the last resort.",
    "defer": "Defer an agent's feature to Wave 2.",
    "absorb": "Give an agent's feature to the Primary.",
    "restore": "Bring the newest valid backup of a checkpoint back.",
    "handoff": "Print the text to paste into an agent's session.",
    "guide": "Print the checkpoint steps for the agents' guides.",
    "send": "Send a message to an agent.",
    "inbox": "Show an agent's messages.",
}
MODULES = {
    "updates": ("start", "block", "unblock", "phase", "sync", "complete", "send", "inbox"),
    "roster": ("list", "watch", "check"),
    "recovery": (
        *("resume", "takeover", "restart", "defer", "absorb", "restore"),
        *("handoff", "guide"),
    ),
}


def __getattr__(name: str) -> click.Command:
    """The group itself, built with click; `agent beat` runs without it."""
    if name != "command":
        raise AttributeError(name)
    from holdfast.cli.parser import Verbs

    return Verbs(
        "holdfast.cli.verbs.agent",
        VERBS,
        modules=MODULES,
        name="agent",
        help="Run several agents: who is alive, what each does, who takes over.",
    )


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
    for warning in result.warnings:
        warn(warning)
    return Reply(result.data(), [safe(line) for line in result.lines], next=result.next)
