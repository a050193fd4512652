"""holdfast agent"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import click

VERBS = {
    "start": "Begin an agent's life: its first checkpoint, and its feature.",
    "beat": "A heartbeat: what is done, what comes, how to go on.",
    "block": "Something keeps the agent from working.",
    "unblock": "It does no more.",
    "phase": "The transition to the next stage.",
    "sync": "Wait for the others at a sync point.",
    "complete": "The feature is done.",
    "list": "Who is alive, what each does, and what to do next.",
    "watch": "The same, live.",
    "check": "The Primary's scan: warns, escalates, says what to do.",
    "resume": "The same agent goes on in a fresh session.",
    "takeover": "Another agent goes on where one stopped.",
    "restart": "From scratch, the last resort.",
    "defer": "The feature waits for Wave 2.",
    "absorb": "The Primary takes the feature itself.",
    "restore": "Bring the newest valid backup back.",
    "handoff": "The text to paste into an agent's session.",
    "guide": "The steps to put into the agents' guides.",
    "send": "A message to an agent, in the protocol's own file.",
    "inbox": "An agent's messages.",
}


def __getattr__(name: str) -> click.Command:
    """The group itself, through click; `agent beat` comes by without it."""
    if name != "command":
        raise AttributeError(name)
    from holdfast.cli.parser import Verbs

    return Verbs(
        "holdfast.cli.verbs.agent",
        VERBS,
        name="agent",
        help="Many agents at once: who is alive, what each does, and what to do next.",
    )
