"""What goes from one machine to another when an agent's work does: its archive, and its work tree."""

from __future__ import annotations

import os

from holdfast.fleet import current_life
from holdfast.fleet.rules import checkpoint as file
from holdfast.kernel import clock
from holdfast.kernel.atomic import write_synced
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.views.files import target_of
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.fleet.epic import Epic
    from holdfast.fleet.rules.model import AgentState, Pushed
    from holdfast.kernel.workspace import Workspace


def archive_here(epic: Epic, saved: dict[str, Any], archive: str) -> str:
    """An agent's last checkpoint as the journal has it, where its own file is on another machine; why
    not, if it could not be written."""
    try:
        target = target_of(epic.workspace, epic.path(archive))
        if not os.path.lexists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write_synced(target, file.write(saved).encode())
    except (OSError, HoldfastError) as error:
        why = error.message if isinstance(error, HoldfastError) else error.strerror
        return f"{archive} was not written: {why}. It is in the journal."
    return ""


def lines_of(state: AgentState) -> list[str]:
    """What whoever goes on must know of a life on another machine: how to come by its work tree."""
    machine = state.get("machine")
    name = machine["name"] if machine else "another machine"
    pushed = state.get("snapshot")
    lines = [f"Lived on: {name}. Its process and its files cannot be seen from here."]
    if pushed is None:
        return [*lines, f"Snapshot: none was pushed. What it had not committed is on {name} alone."]
    return [
        *lines,
        f"Snapshot: {pushed['id'][:12]} of {pushed['at']}, on {pushed['remote']}",
        *(f"  {command}" for command in commands_of(pushed)),
    ]


def place_of(state: AgentState) -> tuple[str, str] | None:
    """Where a life has worked: its worktree, and the machine that has it."""
    life, machine = state["life"], state.get("machine")
    return (life["worktree"], machine["id"] if machine else "") if life else None


def commands_of(pushed: Pushed) -> list[str]:
    """To be typed as they stand, so that what another machine wrote must not be more than a word."""
    from shlex import quote

    remote, id = quote(pushed["remote"]), quote(pushed["id"][:12])
    return [
        f"holdfast snapshot fetch {remote}",
        f"holdfast snapshot restore {id} --dry-run",
        f"holdfast snapshot restore {id}",
    ]


def tell(workspace: Workspace, pushed: Pushed, *, session: str, actor: str, now: int) -> list[str]:
    """Write down with the agents that live in this worktree what was pushed, for whoever goes on with
    their work; what could not be written down."""
    problems = []
    writer = open_writer(workspace)
    for stream, life in current_life.of_session(workspace, session):
        command = {"do": "pushed", "session": life["session"], "snapshot": pushed}
        try:
            writer.execute(stream, command, actor=actor, now=now, fence=life["fence"])
        except HoldfastError as error:
            problems.append(f"{stream.partition(':')[2]}: {error.message}")
    return problems


def pushed_of(id: str, commit: str, remote: str, now: int) -> Pushed:
    return {"id": id, "commit": commit, "remote": remote, "at": clock.stamp(now)}
