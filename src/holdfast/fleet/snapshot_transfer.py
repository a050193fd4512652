"""Snapshots of the work tree to other machines and from them, by a git remote that they share.

A snapshot holds what is not committed, as it is and not redacted; so it leaves this machine only when
somebody asks, or when the user's own environment names a remote (`snapshot.remote`).
"""

from __future__ import annotations

from holdfast.clients.current_session import own_id
from holdfast.fleet import transfer
from holdfast.git import remote as remotes
from holdfast.git import snapshot
from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError, NotFound, from_os_error
from holdfast.remote import server_time
from holdfast.remote.identity import own_machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.git.remote import Exchange
    from holdfast.git.trailers import Snapshot
    from holdfast.kernel.workspace import Workspace


def take(workspace: Workspace, now: int, *, session: str = "") -> Snapshot:
    """A snapshot of the work tree, as the settings want it."""
    limit = int(_settings(workspace)["snapshot.largest_mb"]) * 1_000_000
    return snapshot.create(workspace.root, limit=limit, now=now, session=session)


def push(
    workspace: Workspace, named: str, *, everything: bool = False, dry_run: bool = False, actor: str
) -> tuple[Exchange, list[str]]:
    """Send the newest snapshot of this worktree, or all of them, and tell those who live here: whoever
    takes them over has to know. What they could not be told is a warning."""
    remote = remotes.remote_of(workspace.root, named)
    found = snapshot.listing(workspace.root)
    if not found:
        raise NotFound("There is no snapshot yet.", hint="holdfast snapshot create")
    wanted = found if everything else found[:1]
    done = remotes.push(workspace.root, wanted, _machine(workspace), remote, dry_run=dry_run)
    newest = done["snapshots"][0]
    if dry_run or newest["status"] not in ("pushed", "there"):
        return done, []
    problems: list[str] = []
    try:
        now = server_time.now(workspace)
        pushed = transfer.pushed_of(newest["id"], newest["commit"], remote, now)
        options = {"session": own_id(), "actor": actor}
        problems = transfer.tell(workspace, pushed, **options, now=now)
    except HoldfastError as error:
        problems.append(error.message)
    return done, problems


def fetch(workspace: Workspace, named: str, *, dry_run: bool = False) -> Exchange:
    """Get what other machines pushed."""
    remote = remotes.remote_of(workspace.root, named)
    return remotes.fetch(workspace.root, _machine(workspace), remote, dry_run=dry_run)


def pushed_by_itself(workspace: Workspace, *, actor: str) -> list[str]:
    """After a snapshot was taken: send it, where the user's environment names a remote; what went
    wrong. A remote that is away never costs a snapshot."""
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
    """Without asking a server: a snapshot is taken while that is away, too."""
    has_file = not workspace.url and workspace.exists()
    return config.load(workspace, workspace.journal if has_file else None)


def _machine(workspace: Workspace) -> str:
    try:
        return own_machine(workspace)
    except OSError as error:
        raise from_os_error(error, "writing this machine's name down") from error
