"""What the rest of the house asks about agents."""

from __future__ import annotations

from holdfast.fleet.current_life import lives_of_session
from holdfast.fleet.epic import find
from holdfast.kernel.errors import NotFound
from holdfast.kernel.workspace import Workspace
from holdfast.usage.spending import steps_of_agent


def list_agents(workspace: Workspace, session: str) -> list[str]:
    """Return the names of the agents that a client's session is."""
    streams = [stream for stream, _ in lives_of_session(workspace, session)]
    return [stream.rpartition("/")[2].rpartition(":")[2] for stream in streams]


def list_steps(
    workspace: Workspace, agent: str, *, epic: str, folder: str
) -> dict[str, list[tuple[str, str]]]:
    """Return the steps of an agent's lives, by their transcripts."""
    place = find(workspace, epic, base=folder or workspace.root)
    stream = place.agent_stream(agent)
    if not place.workspace.exists() or place.workspace.journal.head(stream) is None:
        raise NotFound(f"There is no agent {agent}.", hint="`holdfast agent list` lists them.")
    return steps_of_agent(place.workspace, stream)
