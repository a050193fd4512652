"""holdfast agent"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import click

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
