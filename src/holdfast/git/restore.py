"""Back to a snapshot: the work tree alone is written, and what it held before is a snapshot too.

Git looks at every file before the first is touched, and refuses to write over what the present snapshot does not
hold. It makes the wanted files in a folder of our own. From there they are put in place as every file of a work
tree is: without following a link, and with a look at what was displaced, so that a change in the last instant stays.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from typing import TypedDict

from holdfast.git.capture import LIMIT, capture
from holdfast.git.repository import GitError, locate
from holdfast.git.shadow_index import GITLINK, Shadow, join_names
from holdfast.git.snapshot import Snapshot, TreeEntry, entries, find, names, record
from holdfast.git.status import is_covered
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.plain_file import write_all
from holdfast.kernel.text import plural, quote
from holdfast.kernel.tree_file import UNFINISHED, TreeFile, exchange, place_new
from holdfast.kernel.views.files import identity

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
            before = record(shadow, present, session=session)["id"]
            _write(shadow, present["tree"], target, changes, before)
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
            lost.update(list_obstacles(top, entry.path, held))
    if lost:
        named = ", ".join(sorted(lost)[:NAMED]) + (", ..." if len(lost) > NAMED else "")
        raise _unsnapshotted(f"it would overwrite what no snapshot holds: {named}")


def list_obstacles(top: str, path: str, held: set[str]) -> list[str]:
    """Return what stands where a file is to be written, and is none of the files that are `held`."""
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


def _write(
    shadow: Shadow, present: str, target: str, changes: list[TreeEntry], before: str
) -> None:
    """Make the work tree, which is as the tree `present` says, as the tree `target` says. `before` undoes it."""
    top = shadow.place.top
    files = {entry.path: TreeFile(top, entry.path, is_strict=True) for entry in changes}
    # Before git looks: what changes from here on is found by its identity.
    found = {path: _identity(file) for path, file in files.items()}
    shadow.git("update-index", "-q", "--refresh")
    try:
        shadow.git("read-tree", "-n", "-m", "-u", "--no-recurse-submodules", present, target)
    except GitError as error:
        if any(words in error.message for words in REFUSALS):
            raise _unsnapshotted(error.message) from error
        raise
    made = _Checkout(shadow, target, [each.path for each in changes if each.status != "D"])
    left: list[str] = []
    try:
        # What goes makes room for what comes: a file where a folder is to be, and the other way round.
        for entry in sorted(changes, key=lambda each: each.status != "D"):
            file = files[entry.path]
            try:
                if entry.status == "D":
                    _remove(file, found[entry.path])
                else:
                    made.place(file, found[entry.path])
            except (OSError, _Changed) as problem:
                left.append(f"{entry.path} ({getattr(problem, 'strerror', None) or problem})")
    finally:
        made.remove()
    if left:
        named = ", ".join(left[:NAMED]) + (", ..." if len(left) > NAMED else "")
        raise HoldfastError(
            f"{plural(len(left), 'file')} of {len(changes)} could not be restored: {named}.",
            hint="They stay as they are; restore again. To undo what was restored: "
            f"holdfast snapshot restore {quote(before[:12])}",
            kind="unsnapshotted",
        )


class _Changed(Exception):
    """A file changed in the last instant."""


class _Checkout:
    """Files of a tree as git would write them into the work tree, in a folder of our own."""

    def __init__(self, shadow: Shadow, tree: str, paths: list[str]) -> None:
        self._folder = os.path.join(shadow.folder, f"restored-{new_id()[:8]}")
        os.mkdir(self._folder, 0o700)
        index = f"{self._folder}.index"
        try:
            shadow.git("read-tree", "--no-sparse-checkout", tree, index=index)
            words = (f"--work-tree={self._folder}", "checkout-index", "-q", "-z", "--stdin")
            shadow.git(*words, input=join_names(paths), index=index)
        except BaseException:
            self.remove()
            raise
        finally:
            if os.path.exists(index):
                os.unlink(index)

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def place(self, file: TreeFile, found: str | None) -> None:
        """Put a file in the place of what was `found` there."""
        aside = file.beside(f"{UNFINISHED}{new_id()[:16]}.unfinished")
        self._copy(os.path.join(self._folder, file.path), aside)
        try:
            if found is None:
                place_new(aside, file)
                return
            if exchange(aside, file) and _identity(aside) != found:
                exchange(aside, file)
                raise _Changed("it changed just now")
        except FileExistsError:
            raise _Changed("it appeared just now") from None
        finally:
            aside.remove_if_any()

    def _copy(self, source: str, to: TreeFile) -> None:
        if os.path.islink(source):
            to.write_link(os.readlink(os.fsencode(source)))
            return
        descriptor = to.create(0o600, make_folders=True)
        try:
            os.fchmod(descriptor, os.stat(source).st_mode & 0o777)
            with open(source, "rb") as file:
                while chunk := file.read(1 << 20):
                    write_all(descriptor, chunk)
        finally:
            os.close(descriptor)


def _remove(file: TreeFile, found: str | None) -> None:
    """Remove a file that is what was `found`, and the folders that are empty then."""
    aside = file.beside(f"{UNFINISHED}{new_id()[:16]}.unfinished")
    place_new(file, aside)
    if _identity(aside) != found:
        place_new(aside, file)
        raise _Changed("it changed just now")
    aside.remove()
    parts = file.path.split("/")[:-1]
    while parts:
        TreeFile(file.root, "/".join(parts), is_strict=True).remove_folder()
        parts.pop()


def _identity(file: TreeFile) -> str | None:
    """What stands there; None when nothing does, or a folder whose files go first."""
    try:
        status = file.status()
    except OSError:
        return None
    return None if status is None or stat.S_ISDIR(status.st_mode) else identity(status)


def _unsnapshotted(why: str) -> HoldfastError:
    return HoldfastError(
        f"Nothing was restored: {why}.",
        hint="Move it away, or commit it, and restore again; or name single paths.",
        kind="unsnapshotted",
    )
