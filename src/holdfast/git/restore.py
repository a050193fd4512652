"""Back to a snapshot: the work tree alone is written, and what it held before is a snapshot too.

`git read-tree -m -u` does the writing on our own index, from the tree of the present to the tree
that is wanted: it looks at every file before it touches the first, and refuses to write over what
the present snapshot does not hold, even when it changed in the last instant.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypedDict

from holdfast.git.capture import LIMIT, capture
from holdfast.git.repository import GitError, locate
from holdfast.git.shadow_index import GITLINK, ObjectWriter, Shadow
from holdfast.git.snapshot import Snapshot, TreeEntry, entries, find, names, record
from holdfast.git.status import is_covered
from holdfast.kernel.errors import HoldfastError, NotFound

NAMED = 5
NOTHING = "000000"
REFUSALS = ("would be overwritten", "not uptodate", "would lose untracked files")


class Restoration(TypedDict):
    """What a restore did, or would do. Paths are seen from the top of the work tree."""

    snapshot: str
    before: str
    """The snapshot of what was there; restore it to undo. Empty for a dry run."""
    written: list[str]
    deleted: list[str]
    unchanged: int
    """How many of the wanted files were as in the snapshot."""
    submodules: list[str]
    """Where a submodule's commit differs; submodules are left alone."""
    dry_run: bool


def restore(
    root: str,
    prefix: str,
    paths: Iterable[str] = (),
    *,
    dry_run: bool = False,
    limit: int = LIMIT,
    session: str = "",
) -> Restoration:
    """Make the work tree, or single files and folders of it, as in a snapshot.

    Everything: files that the snapshot has not got are deleted. Single paths: nothing is deleted
    but what stands in their way.
    """
    place = locate(root)
    wanted = [place.from_top(path) for path in paths]
    snapshot = find(root, prefix)
    selected = _select(place.top, snapshot, wanted)
    with Shadow(place) as shadow:
        present = capture(shadow, limit)
        found = entries(place.top, present["tree"], snapshot["tree"])
        changes, submodules = _plan(found, selected, snapshot, everything=not wanted)
        target = _target(shadow, changes)
        changes = entries(place.top, present["tree"], target)
        written = [entry.path for entry in changes if entry.status != "D"]
        deleted = [entry.path for entry in changes if entry.status == "D"]
        _refuse_loss(place.top, changes)
        before = ""
        if not dry_run:
            with ObjectWriter(place) as scribe:
                before = record(shadow, scribe, present, session=session)["id"]
            _write(shadow, present["tree"], target)
    return {
        "snapshot": snapshot["id"],
        "before": before,
        "written": written,
        "deleted": deleted,
        "unchanged": len(selected.difference(written, submodules)),
        "submodules": submodules,
        "dry_run": dry_run,
    }


def _select(top: str, snapshot: Snapshot, wanted: list[str]) -> set[str]:
    held = names(top, snapshot["tree"])
    for path in wanted:
        if not any(is_covered(name, [path]) for name in held):
            raise NotFound(f"The snapshot {snapshot['id'][:8]} has no {path!r}.")
    return {name for name in held if not wanted or is_covered(name, wanted)}


def _plan(
    found: list[TreeEntry], selected: set[str], snapshot: Snapshot, *, everything: bool
) -> tuple[list[TreeEntry], list[str]]:
    """The entries to carry out, and the submodules that differ."""
    left_out = [skipped["path"] for skipped in snapshot["skipped"]]
    changes, submodules = [], []
    for entry in found:
        if entry.status == "D":
            if not everything or is_covered(entry.path, left_out):
                continue
        elif entry.path not in selected:
            continue
        if entry.mode == GITLINK or (entry.old_mode == GITLINK and entry.status == "D"):
            submodules.append(entry.path)
        else:
            changes.append(entry)
    return changes, submodules


def _target(shadow: Shadow, changes: list[TreeEntry]) -> str:
    """The tree of the present with these changes made."""
    scratch = shadow.copy("scratch")
    try:
        lines = [
            os.fsencode(f"{entry.mode} {entry.object}\t{entry.path}") + b"\0"
            for entry in sorted(changes, key=lambda entry: entry.mode != NOTHING)
        ]
        options = ("update-index", "-z", "--add", "--replace", "--index-info")
        shadow.git(*options, input=b"".join(lines), index=scratch)
        return shadow.git("write-tree", index=scratch).decode("ascii").strip()
    finally:
        os.unlink(scratch)


def _refuse_loss(top: str, changes: list[TreeEntry]) -> None:
    """Nothing is overwritten that the snapshot of the present does not hold."""
    held = {entry.path for entry in changes if entry.old_mode not in (NOTHING, GITLINK)}
    lost: set[str] = set()
    for entry in changes:
        if entry.old_mode == GITLINK:
            lost.add(entry.path)
        elif entry.status != "D":
            lost.update(_list_obstacles(top, entry.path, held))
    if lost:
        named = ", ".join(sorted(lost)[:NAMED]) + (", ..." if len(lost) > NAMED else "")
        raise _unsnapshotted(f"it would overwrite what no snapshot holds: {named}")


def _list_obstacles(top: str, path: str, held: set[str]) -> list[str]:
    parts = path.split("/")
    for count in range(1, len(parts)):
        folder = "/".join(parts[:count])
        whole = os.path.join(top, folder)
        if not os.path.lexists(whole):
            return []
        if os.path.islink(whole) or not os.path.isdir(whole):
            return [] if folder in held else [folder]
    whole = os.path.join(top, path)
    if os.path.isdir(whole) and not os.path.islink(whole):
        inner = (
            os.path.relpath(os.path.join(folder, name), top)
            for folder, folders, files in os.walk(whole)
            for name in [*files, *(name for name in folders if _is_link(folder, name))]
        )
        return [name for name in inner if name not in held]
    return [path] if os.path.lexists(whole) and path not in held else []


def _is_link(folder: str, name: str) -> bool:
    return os.path.islink(os.path.join(folder, name))


def _write(shadow: Shadow, present: str, target: str) -> None:
    shadow.git("update-index", "-q", "--refresh")
    try:
        shadow.git("read-tree", "-m", "-u", "--no-recurse-submodules", present, target)
    except GitError as error:
        if any(words in error.message for words in REFUSALS):
            raise _unsnapshotted(error.message) from error
        raise


def _unsnapshotted(why: str) -> HoldfastError:
    return HoldfastError(
        f"Nothing was restored: {why}.",
        hint="Move it away, or commit it, and restore again; or name single paths.",
        kind="unsnapshotted",
    )
