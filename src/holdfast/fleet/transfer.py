"""Bring an agent's work from one machine to another: its archived checkpoint, and snapshots of its work
tree through a git remote that both machines use.

A snapshot holds uncommitted files as they are, not redacted. So it leaves this machine only when a person
or agent asks for it, or when the user's own environment names a remote (`snapshot.remote`).
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from holdfast.clients.table import own_id
from holdfast.fleet import current_life
from holdfast.fleet.rules import checkpoint as file
from holdfast.git import remote as remotes
from holdfast.git import snapshot
from holdfast.kernel import clock, config
from holdfast.kernel.errors import HoldfastError, NotFound, from_os_error
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.text import quote
from holdfast.remote import server_time
from holdfast.remote.identity import own_machine
from holdfast.streams import open_writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.fleet.context import FleetAgent
    from holdfast.fleet.epic import Epic
    from holdfast.fleet.rules.model import Origin, Pushed
    from holdfast.git.remote import Exchange
    from holdfast.git.snapshot import Snapshot
    from holdfast.kernel.workspace import Workspace


# In the journal's home: the refs of snapshots that this clone pushed, by remote.
PUSHED_FILE = "pushed.json"


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


def describe(origin: Origin, epic: Epic, missing: Sequence[str]) -> tuple[list[str], list[str]]:
    """Lines about the place where the work was, and the commands that bring it over. The commands are
    quoted, because another machine may have written their arguments."""
    machine, id = origin["machine"], origin["snapshot"][:12]
    if machine:
        lines = [f"Lived on: {machine}. Its process and its files cannot be seen from here."]
        if not id:
            lines.append(
                f"Snapshot: none was pushed. What it had not committed is on {machine} alone."
            )
            return lines, []
        lines.append(f"Snapshot: {id} of {origin['at']}, on {origin['remote']}")
        restore = f"holdfast snapshot restore {quote(id)}"
        commands = [
            f"holdfast snapshot fetch {quote(origin['remote'])}",
            f"{restore} --dry-run",
            restore,
        ]
        return [*lines, *(f"  {command}" for command in commands)], []
    there = epic.in_worktree(origin["worktree"])
    lines = [f"Worked in: {origin['worktree']}"]
    if not id:
        return lines, []
    lines.append(f"Snapshot: {id}, taken of it at {origin['at']}")
    paths = [epic.path(name) for name in missing if os.path.lexists(there.file(name))]
    command = f"holdfast snapshot show {quote(id)}"
    if paths:
        command = f"holdfast snapshot restore {quote(id)} {' '.join(map(quote, paths))}"
    return [*lines, f"  {command}"], [command]


# Snapshots


def take_snapshot(workspace: Workspace, now: int, *, session: str = "") -> Snapshot:
    """Take a snapshot of the work tree within the limits of the settings."""
    limit = int(_settings(workspace)["snapshot.largest_mb"]) * 1_000_000
    return snapshot.create(workspace.root, limit=limit, now=now, session=session)


def push(
    workspace: Workspace, named: str, *, everything: bool = False, dry_run: bool = False, actor: str
) -> tuple[Exchange, list[str]]:
    """Push the newest snapshot of this worktree, or all of them, and record it with the agents that live
    here, for an agent that takes over. The second result lists what could not be recorded."""
    remote = remotes.remote_of(workspace.root, named)
    found = snapshot.listing(workspace.root)
    if not found:
        raise NotFound("There is no snapshot yet.", hint="holdfast snapshot create")
    wanted = found if everything else found[:1]
    done = remotes.push(workspace.root, wanted, _machine(workspace), remote, dry_run=dry_run)
    problems = [] if dry_run else _remember_pushed(workspace, done)
    newest = done["snapshots"][0]
    if dry_run or newest["status"] not in ("pushed", "there"):
        return done, problems
    try:
        now = server_time.now(workspace)
        pushed: Pushed = {
            "id": newest["id"],
            "commit": newest["commit"],
            "remote": remote,
            "at": clock.stamp(now),
        }
        return done, [*problems, *_record_push(workspace, pushed, actor=actor, now=now)]
    except HoldfastError as error:
        return done, [*problems, error.message]


def pushed_refs(workspace: Workspace) -> dict[str, list[str]]:
    """The refs that this clone pushed and has not removed, by remote. No remote is asked."""
    try:
        known = json.loads(read_plain(os.path.join(workspace.home, PUSHED_FILE)))
        return {str(remote): [str(ref) for ref in refs] for remote, refs in known.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _remember_pushed(workspace: Workspace, done: Exchange) -> list[str]:
    known = pushed_refs(workspace)
    refs = set(known.get(done["remote"], ()))
    for one in done["snapshots"]:
        ref = remotes.ref_of(one)
        if one["status"] in ("pushed", "there"):
            refs.add(ref)
        elif one["status"] == "removed":
            refs.discard(ref)
    known[done["remote"]] = sorted(refs)
    try:
        write_synced(os.path.join(workspace.home, PUSHED_FILE), json.dumps(known).encode())
    except OSError as error:
        return [from_os_error(error, PUSHED_FILE).message]
    return []


def _record_push(workspace: Workspace, pushed: Pushed, *, actor: str, now: int) -> list[str]:
    problems = []
    writer = open_writer(workspace)
    for stream, life in current_life.lives_of_session(workspace, own_id()):
        command = {"do": "pushed", "session": life["session"], "snapshot": pushed}
        try:
            writer.execute(stream, command, actor=actor, now=now, fence=life["fence"])
        except HoldfastError as error:
            problems.append(f"{stream.partition(':')[2]}: {error.message}")
    return problems


def fetch(workspace: Workspace, named: str, *, dry_run: bool = False) -> Exchange:
    """Fetch the snapshots that other machines pushed."""
    remote = remotes.remote_of(workspace.root, named)
    return remotes.fetch(workspace.root, _machine(workspace), remote, dry_run=dry_run)


def push_if_configured(workspace: Workspace, *, actor: str) -> list[str]:
    """Push a new snapshot if the user's environment names a remote; the warnings. A remote that cannot
    be reached never costs a snapshot."""
    named = str(_settings(workspace)["snapshot.remote"])
    if not named:
        return []
    try:
        done, problems = push(workspace, named, actor=actor)
        remotes.refuse_unshared(done)
    except HoldfastError as error:
        return [f"The snapshot stays here: {error.message}"]
    return [f"The snapshot is on {done['remote']}, and not written down: {one}" for one in problems]


def _settings(workspace: Workspace) -> dict[str, Any]:
    """The settings without the server's: a snapshot is taken also while the server is away."""
    has_file = not workspace.url and workspace.exists()
    return config.load(workspace, workspace.journal if has_file else None)


def _machine(workspace: Workspace) -> str:
    try:
        return own_machine(workspace)
    except OSError as error:
        raise from_os_error(error, "writing this machine's name down") from error
