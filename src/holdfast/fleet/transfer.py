"""Bring an agent's work from one machine to another: its archived checkpoint, and where its snapshot is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from holdfast.clients.table import own_id
from holdfast.fleet import current_life
from holdfast.fleet.context import FleetAgent, worktree_with
from holdfast.fleet.epic import Epic
from holdfast.fleet.rules import checkpoint as file
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.session.snapshots import take_snapshot

if TYPE_CHECKING:
    from holdfast.fleet.rules.model import Origin, Pushed


def write_archive(epic: Epic, saved: dict[str, Any], archive: str) -> str:
    """Archive the journal's copy of a checkpoint whose file is on another machine; the reason, if that
    failed."""
    try:
        target = epic.tree_file(archive)
        if target.status() is None:
            target.write(file.write(saved).encode(), 0o600, is_new=True)
    except (OSError, HoldfastError) as error:
        why = error.message if isinstance(error, HoldfastError) else error.strerror
        return f"{archive} was not written: {why}. It is in the journal."
    return ""


def origin_of(agent: FleetAgent) -> tuple[Origin | None, list[str]]:
    """Where an agent's work is, and what went wrong. On this machine a snapshot of that worktree is taken,
    so that a session in another worktree can bring its files over."""
    state, here = agent.state, agent.context.worktree
    life, machine, pushed = state["life"], state.get("machine"), state.get("snapshot")
    if life is not None and life.get("awaits"):
        return state.get("origin"), []
    place = (life["worktree"] if life else "") or state["worktree"]
    place = place or worktree_with(agent.epic, agent.id)
    origin: Origin = {
        "agent": agent.id,
        "worktree": place,
        "machine": "",
        "snapshot": "",
        "remote": "",
        "at": clock.stamp(agent.context.now),
    }
    if not agent.is_here:
        origin["machine"] = (machine["name"] if machine else "") or "another machine"
        if pushed is not None:
            origin |= {"snapshot": pushed["id"], "remote": pushed["remote"], "at": pushed["at"]}
        return origin, []
    if not here.git_dir or not os.path.isdir(place):
        return None, []
    try:
        origin["snapshot"] = take_snapshot(here.at(place), agent.context.now)["id"]
    except HoldfastError as error:
        return origin, [f"{place} has no snapshot: {error.message}"]
    return origin, []


def describe(origin: Origin) -> tuple[list[str], list[str]]:
    """Lines about the place where the work was, and the commands that bring it over and keep every file that is
    here. The commands are quoted, because another machine may have written their arguments."""
    machine, id = origin["machine"], origin["snapshot"][:12]
    lines, commands = [f"Worked in: {origin['worktree']}"], []
    if machine:
        lines = [f"Lived on: {machine}. Its process and its files cannot be seen from here."]
        if not id:
            lines.append(
                f"Snapshot: none was pushed. What it had not committed is on {machine} alone."
            )
        else:
            lines.append(f"Snapshot: {id} of {origin['at']}, on {origin['remote']}")
            commands = [f"holdfast snapshot fetch {quote(origin['remote'])}"]
    elif id:
        lines.append(f"Snapshot: {id}, taken of it at {origin['at']}")
    if id:
        commands.append(f"holdfast snapshot restore --changed {quote(id)}")
        lines.append("What it had not committed comes here, and nothing of yours is removed, with:")
    return [*lines, *(f"  {command}" for command in commands)], commands


def record_push(workspace: Workspace, pushed: Pushed, actor: str, now: int) -> list[str]:
    """Record a pushed snapshot with the agents that live here, for an agent that takes over. Return what could not
    be recorded."""
    problems = []
    writer = open_writer(workspace)
    for stream, life in current_life.lives_of_session(workspace, own_id()):
        command = {"do": "pushed", "session": life["session"], "snapshot": pushed}
        try:
            writer.execute(stream, command, actor=actor, now=now, fence=life["fence"])
        except HoldfastError as error:
            problems.append(f"{stream.partition(':')[2]}: {error.message}")
    return problems
