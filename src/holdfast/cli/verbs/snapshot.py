"""holdfast snapshot"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from holdfast.cli import terminal
from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import VerbGroup, verb
from holdfast.cli.terminal import ago, safe, style, table
from holdfast.git import remote as remotes
from holdfast.git import snapshot
from holdfast.git.remote import Shared
from holdfast.git.restore import restore as restore_work_tree
from holdfast.git.snapshot import Difference, Snapshot
from holdfast.kernel.errors import Usage
from holdfast.kernel.places import PlaceFinder
from holdfast.kernel.text import plural, quote
from holdfast.session import snapshots

SHOWN = 40


@click.group(cls=VerbGroup)
def command() -> None:
    """Save the whole work tree, untracked files too, as a commit under a private ref.

    Index, stash, branches and HEAD stay as they are. Ignored files are left out.
    """


@command.command("create")
@verb
def create(call: Call) -> Reply:
    """Take a snapshot of the work tree."""
    # A hook starts this in a process whose output no person sees.
    unattended = not sys.stderr.isatty()
    made, problems = snapshots.create_snapshot(
        call.workspace, actor=call.actor, now=call.now, unattended=unattended
    )
    _warn_of_skipped(made)
    warn(*problems)
    word = "Nothing changed since" if made["duplicate"] else "Snapshot"
    return Reply({**made}, [f"{word} {made['id'][:12]}"], next=["holdfast snapshot list"])


def _warn_of_skipped(made: Snapshot) -> None:
    for skipped in made["skipped"]:
        warn(f"{skipped['path']} was left out: {skipped['reason']}.")


@command.command("push")
@click.argument("remote", required=False, default="")
@click.option("--all", "everything", is_flag=True, help="Send every snapshot of this worktree.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent; send nothing.")
@verb
def push(call: Call, remote: str, everything: bool, dry_run: bool) -> Reply:
    """Take a snapshot and send it to a git REMOTE, for another machine to continue with.

    Everyone who can read that repository can read the snapshot. It holds what is not committed, secrets
    too. Branches, tags and other snapshots stay as they are.
    """
    if not dry_run:
        _warn_of_skipped(snapshots.take_snapshot(call.workspace, call.now))
    done, problems = snapshots.push(
        call.workspace, remote, everything=everything, dry_run=dry_run, actor=call.actor
    )
    remotes.refuse_unshared(done)
    for problem in problems:
        warn(f"Pushed, and not written down: {problem}")
    lines = [_shared_line(one) for one in done["snapshots"]]
    lines.append(f"{'Would send' if dry_run else 'On'} {safe(done['remote'])}")
    there = [f"holdfast snapshot fetch {quote(done['remote'])}  # on the other machine"]
    return Reply({**done}, lines, next=[] if dry_run else there)


@command.command("fetch")
@click.argument("remote", required=False, default="")
@click.option("--dry-run", is_flag=True, help="Show what would be fetched; fetch nothing.")
@verb
def fetch(call: Call, remote: str, dry_run: bool) -> Reply:
    """Fetch the snapshots that other machines pushed to a git REMOTE. The work tree stays as it is."""
    done = snapshots.fetch(call.workspace, remote, dry_run=dry_run)
    if done["ignored"]:
        warn(
            f"{plural(done['ignored'], 'ref')} of {done['remote']} skipped: not names of Holdfast."
        )
    for one in done["snapshots"]:
        if one["reason"]:
            warn(f"{one['id'][:12]} {one['status']}: {one['reason']}.")
    fresh = [one for one in done["snapshots"] if one["status"] != "there"]
    lines = [_shared_line(one) for one in fresh]
    if not lines:
        lines = [f"Nothing new on {safe(done['remote'])}."]
    got = [one for one in fresh if one["status"] == "fetched"]
    return Reply({**done}, lines, next=["holdfast snapshot list"] if got else [])


def _shared_line(one: Shared) -> str:
    place = f"{one['worktree']} of machine {one['machine'][:8]}"
    return f"  {style(one['id'][:12], 'yellow')}  {one['status']:12}{safe(place)}"


@command.command("list")
@click.option(
    "--all", "everywhere", is_flag=True, help="List those of all worktrees of this repository."
)
@verb
def listing(call: Call, everywhere: bool) -> Reply:
    """List the snapshots of this worktree, then those that were fetched, each newest first.

    The number is how many paths of a snapshot differ from its commit."""
    found = snapshot.list_with_counts(call.workspace.root, everywhere=everywhere)
    has_rows = everywhere or any(map(snapshot.is_fetched, found))
    rows = [
        [
            style(one["id"][:12], "yellow"),
            *([safe(_row_of(one))] if has_rows else []),
            ago(one["at"], call.now),
            safe(one["branch"] or "detached"),
            plural(one["holds"], "path"),
            safe(one["session"][:12]),
        ]
        for one in found
    ]
    return Reply({"snapshots": found}, list(table(rows)) or ["There is no snapshot yet."])


@command.command("show")
@click.argument("id")
@verb
def show(call: Call, id: str) -> Reply:
    """Show what a snapshot holds, and what has changed since."""
    shown = snapshot.show(call.workspace.root, id)
    lines = [f"Snapshot {shown['snapshot']['id']} at {shown['snapshot']['at']}", ""]
    lines.append(f"{plural(len(shown['changes']), 'path')} differ from its commit:")
    lines += _changes(shown["changes"]) or ["  none"]
    lines += ["", "Since then:", *(_changes(shown["present"]) or ["  nothing changed"])]
    return Reply({**shown}, lines, pages=True)


@command.command("restore")
@click.argument("id")
@click.argument("paths", nargs=-1)
@click.option(
    "--changed",
    is_flag=True,
    help="Bring over what was changed there and not committed; keep every file of this work tree.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@verb
def restore(call: Call, id: str, paths: tuple[str, ...], changed: bool, dry_run: bool) -> Reply:
    """Bring the work tree, or single PATHS, back to a snapshot.

    The present work tree is saved as a snapshot first, so you can undo the restore. The command refuses
    to overwrite a file that no snapshot holds.
    """
    if changed:
        paths = _choose_changed(call, id, paths)
        if not paths:
            return Reply({"written": [], "deleted": []}, ["Nothing to bring over."])
    if not dry_run:
        meant = snapshot.find(call.workspace.root, id)
        terminal.confirm_short_id(id, meant["id"], f"the snapshot of {meant['at']}")
    done = restore_work_tree(call.workspace.root, id, paths, dry_run=dry_run)
    lines = [f"  {'write':8}{safe(path)}" for path in done["written"][:SHOWN]]
    lines += [f"  {'delete':8}{safe(path)}" for path in done["deleted"][:SHOWN]]
    count = len(done["written"]) + len(done["deleted"])
    said = "Would change" if dry_run else "Changed"
    lines.append(f"{said} {plural(count, 'path')}.")
    undo = [f"holdfast snapshot restore {quote(done['before'][:12])}"] if done["before"] else []
    lines += [f"To undo it: {command}" for command in undo]
    return Reply({**done}, lines, next=undo)


def _choose_changed(call: Call, id: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The files to bring over: not those that were changed here, too, and no file that Holdfast itself writes."""
    if paths:
        raise Usage("--changed takes no PATHS.", hint="Leave one of them out.")
    root, places = call.workspace.root, PlaceFinder(call.workspace)
    ours, mixed = (
        [path for path in found if places.find(os.path.join(root, path)) is None]
        for found in snapshot.split_changes(root, id)
    )
    warn(
        *(
            f"{path} was changed here, too, and stays. To replace it: "
            f"holdfast snapshot restore {quote(id)} {quote(path)}"
            for path in mixed
        )
    )
    return tuple(ours)


def _row_of(one: Snapshot) -> str:
    machine, _, worktree = one["worktree"].rpartition("/")
    machine = machine.removeprefix(snapshot.MACHINE)
    return f"{worktree} of machine {machine[:8]}" if machine else worktree


def _changes(changes: Sequence[Difference]) -> list[str]:
    lines = [f"  {change['status']}  {safe(change['path'])}" for change in changes[:SHOWN]]
    if len(changes) > SHOWN:
        lines.append(f"  and {len(changes) - SHOWN} more")
    return lines
