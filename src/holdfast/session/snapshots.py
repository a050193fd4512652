"""Snapshots of the work tree: take them within the limits of the settings, and exchange them through a git remote.

A snapshot holds uncommitted files as they are, not redacted. So it leaves this machine only when a person
or agent asks for it, or when the user's own environment names a remote (`snapshot.remote`).
"""

from __future__ import annotations

import json
import os
from typing import Any

from holdfast import registry
from holdfast.git import remote as remotes
from holdfast.git import snapshot
from holdfast.git.remote import Exchange
from holdfast.git.snapshot import Snapshot
from holdfast.kernel import clock, config, failures
from holdfast.kernel.canonical_json import list_of, read_table
from holdfast.kernel.errors import HoldfastError, NotFound, from_os_error
from holdfast.kernel.plain_file import write_synced
from holdfast.kernel.workspace import Workspace
from holdfast.remote import server_time
from holdfast.remote.identity import own_machine

# In the journal's home: the refs of snapshots that this clone pushed, by remote.
PUSHED_FILE = "pushed.json"


def create_snapshot(
    workspace: Workspace, *, actor: str, now: int, session: str = "", unattended: bool = False
) -> tuple[Snapshot, list[str]]:
    """Take a snapshot, and push it where `snapshot.remote` names a remote. Return it, and what went wrong there.

    `unattended` also writes the problems down for `holdfast status`: a hook starts this in a process
    whose output no person sees."""
    made = take_snapshot(workspace, now, session=session)
    problems = push_if_configured(workspace, actor=actor)
    if unattended:
        for problem in problems:
            failures.note(workspace, "snapshot push", problem, now)
    return made, problems


def take_snapshot(workspace: Workspace, now: int, *, session: str = "") -> Snapshot:
    """Take a snapshot of the work tree within the limits of the settings."""
    limit = int(_settings(workspace)["snapshot.largest_mb"]) * 1_000_000
    return snapshot.create(workspace.root, limit=limit, now=now, session=session)


def push(
    workspace: Workspace, named: str, *, everything: bool = False, dry_run: bool = False, actor: str
) -> tuple[Exchange, list[str]]:
    """Push the newest snapshot of this worktree, or all of them, and record it. The second result lists what could
    not be recorded."""
    remote = remotes.remote_of(workspace.root, named)
    found = snapshot.list_snapshots(workspace.root)
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
        id, commit = newest["id"], newest["commit"]
        pushed = {"id": id, "commit": commit, "remote": remote, "at": clock.stamp(now)}
        for record in registry.offers("record_push"):
            problems += record(workspace, pushed, actor, now)
        return done, problems
    except HoldfastError as error:
        return done, [*problems, error.message]


def pushed_refs(workspace: Workspace) -> dict[str, list[str]]:
    """The refs that this clone pushed and has not removed, by remote. No remote is asked."""
    known = read_table(os.path.join(workspace.home, PUSHED_FILE))
    return {remote: [str(ref) for ref in list_of(refs)] for remote, refs in known.items()}


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
