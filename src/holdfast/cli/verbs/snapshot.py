"""holdfast snapshot"""

from __future__ import annotations

import click

from holdfast.adapters.git import snapshot
from holdfast.adapters.git.restore import restore as restore_work_tree
from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, plural, safe, style, table
from holdfast.kernel import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.adapters.git.trees import Difference

SHOWN = 40


@click.group()
def command() -> None:
    """The whole work tree, untracked files too, as a commit under a private ref.

    Index, stash, branches and HEAD stay as they are. Ignored files are left out.
    """


@command.command("create")
@verb
def create(call: Call) -> Reply:
    """Take a snapshot of the work tree."""
    journal = call.workspace.journal if call.workspace.exists() else None
    settings = config.load(call.workspace, journal)
    limit = int(settings["snapshot.largest_mb"]) * 1_000_000
    made = snapshot.create(call.workspace.root, limit=limit, now=call.now)
    for left_out in made["skipped"]:
        warn(f"{left_out['path']} was left out: {left_out['reason']}.")
    word = "Nothing changed since" if made["duplicate"] else "Snapshot"
    return Reply({**made}, [f"{word} {made['id'][:12]}"], next=["holdfast snapshot list"])


@command.command("list")
@verb
def listing(call: Call) -> Reply:
    """The snapshots of this worktree, newest first."""
    found = snapshot.listing(call.workspace.root)
    rows = [
        [
            style(one["id"][:12], "yellow"),
            ago(one["at"], call.now),
            safe(one["branch"] or "detached"),
            plural(one["changed"], "path"),
            safe(one["session"][:12]),
        ]
        for one in found
    ]
    return Reply({"snapshots": found}, list(table(rows)) or ["There is no snapshot yet."])


@command.command("show")
@click.argument("id")
@verb
def show(call: Call, id: str) -> Reply:
    """What a snapshot holds, and what has changed since."""
    shown = snapshot.show(call.workspace.root, id)
    lines = [f"Snapshot {shown['snapshot']['id']} at {shown['snapshot']['at']}", "", "It holds:"]
    lines += _changes(shown["changes"]) or ["  what its commit holds"]
    lines += ["", "Since then:", *(_changes(shown["present"]) or ["  nothing changed"])]
    return Reply({**shown}, lines, pages=True)


@command.command("restore")
@click.argument("id")
@click.argument("paths", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@verb
def restore(call: Call, id: str, paths: tuple[str, ...], dry_run: bool) -> Reply:
    """Bring the work tree, or single PATHS, back to a snapshot.

    The present is snapshotted first, so this can be undone. It is refused when something would be
    overwritten that no snapshot holds.
    """
    done = restore_work_tree(call.workspace.root, id, paths, dry_run=dry_run)
    lines = [f"  {'write':8}{safe(path)}" for path in done["written"][:SHOWN]]
    lines += [f"  {'delete':8}{safe(path)}" for path in done["deleted"][:SHOWN]]
    count = len(done["written"]) + len(done["deleted"])
    said = "Would change" if dry_run else "Changed"
    lines.append(f"{said} {plural(count, 'path')}.")
    undo = [f"holdfast snapshot restore {done['before'][:12]}  # undo"] if done["before"] else []
    return Reply({**done}, lines, next=undo)


def _changes(changes: Sequence[Difference]) -> list[str]:
    lines = [f"  {change['status']}  {safe(change['path'])}" for change in changes[:SHOWN]]
    if len(changes) > SHOWN:
        lines.append(f"  and {len(changes) - SHOWN} more")
    return lines
