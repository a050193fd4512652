"""List what `uninstall` leaves behind, with the command that removes each item; and remove all of it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import TypedDict

from holdfast import registry
from holdfast.clients.installation import Done, uninstall
from holdfast.clients.launcher import folder_of_user
from holdfast.clients.table import NAMES
from holdfast.git.repository import GitError
from holdfast.git.run import git
from holdfast.git.snapshot import REFS
from holdfast.journal.postgres.url import without_password
from holdfast.kernel.errors import HoldfastError, from_os_error
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import TOOL_FOLDER, Workspace, user_folder, worktrees
from holdfast.maintenance import known_roots
from holdfast.maintenance.purge_snapshots import PRIVATE_REFS
from holdfast.parts import Copies
from holdfast.people import person
from holdfast.session.snapshots import pushed_refs

PURPOSE = "remove everything that holdfast keeps of this project"


class Remain(TypedDict):
    """Something that is left. `remove` is a command for a shell, or a sentence. `files` are the files in
    `path` that it means; none: all of it. `yours`: not holdfast's to remove, so a person does it."""

    what: str
    path: str
    files: list[str]
    remove: str
    yours: bool


def list_remains(workspace: Workspace) -> list[Remain]:
    """Return what is left of this workspace, the journal first."""
    found: list[Remain] = []
    if os.path.isdir(workspace.home):
        what = "work files of this repository"
        if workspace.exists():
            what = "the journal of all that happened, and its backups and quarantine"
        found.append(_whole(what, workspace.home))
    rows = _view_paths(workspace)
    copies: list[Copies] = [*registry.parts("copies", registry.all_features)]
    for root in worktrees(workspace):
        views = rows.get(root, [])
        ours = [os.path.join(root, path) for path in views]
        for one in copies:
            ours += one.list_beside(root, views)
        written = set(filter(os.path.lexists, ours))
        tracked = _tracked(workspace, root) & written
        found += _grouped(root, written - tracked)
        if tracked:
            found.append(_committed(root, sorted(tracked)))
        for one in copies:
            found += [
                _whole(what, path, yours=True) for what, path in one.list_authored(root, views)
            ]
        private = workspace.at(root).private if os.path.isdir(root) else ""
        if os.path.isdir(private) and os.path.dirname(private) != workspace.home:
            found.append(_whole("what the hooks keep for a worktree", private))
        tool_folder = os.path.join(root, TOOL_FOLDER)
        if os.path.lexists(tool_folder) and tool_folder != workspace.home:
            found.append(_whole("commands that wait, and work files", tool_folder))
    refs = _private_refs(workspace)
    if refs:
        words = f"git for-each-ref --format='delete %(refname)' {PRIVATE_REFS}"
        # Without `git gc --prune=now`, which would also destroy what a person could still find with
        # `git fsck`. Git removes unreachable objects by itself after two weeks.
        command = f"{words} | git update-ref --stdin"
        what = f"snapshots of the work tree ({len(refs)})"
        found.append(_remain(what, REFS, command))
    for remote, pushed in pushed_refs(workspace).items():
        if pushed:
            names = " ".join(map(quote, pushed))
            command = f"git push {quote(remote)} --delete {names}"
            what = (
                f"snapshots that were pushed to {remote} ({len(pushed)}); all who can read it can read "
                "them, untracked files too"
            )
            found.append(_remain(what, remote, command, yours=True))
    if workspace.url:
        what, hint = "the journal on the server", "Ask the people who run that database."
        found.append(_remain(what, without_password(workspace.url), hint, yours=True))
    others = [root for root in known_roots.list_roots() if root not in worktrees(workspace)]
    for what, path in (
        ("what holdfast keeps for all your projects", user_folder()),
        ("the launcher of the hooks, for all your projects", folder_of_user()),
        ("compiled modules that versions up to 0.2 left", _old_cache_folder()),
    ):
        if path and os.path.isdir(path):
            used = f"; still used in {', '.join(others)}" if others else ""
            found.append(_whole(f"{what}{used}", path, yours=bool(others)))
    return found


def _old_cache_folder() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        cache = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "holdfast")


class Removal(TypedDict):
    """What `uninstall` did: to clients' settings, what else it removed, and what is left."""

    clients: list[Done]
    removed: list[Remain]
    left: list[Remain]


def remove_from_clients(
    workspace: Workspace, clients: Sequence[str] = (), *, dry_run: bool = False
) -> Removal:
    """Take holdfast out of the settings of these clients, or of all. With all, list what is left."""
    done = uninstall(workspace, list(dict.fromkeys(clients or NAMES)), dry_run=dry_run)
    if clients:
        return {"clients": done, "removed": [], "left": []}
    if not dry_run:
        with contextlib.suppress(OSError, HoldfastError):  # the page looks whether it is there
            known_roots.forget(workspace)
    return {"clients": done, "removed": [], "left": list_remains(workspace)}


def remove_everything(workspace: Workspace, *, now: int, dry_run: bool = False) -> Removal:
    """Uninstall, and remove what is left, after a person at the terminal agreed. What is a person's own
    stays."""
    remains = list_remains(workspace)
    if not dry_run and any(not one["yours"] for one in remains):
        shown = [f"{one['what']}: {one['path']}" for one in remains if not one["yours"]]
        person.require(workspace, PURPOSE, ["This cannot be undone:", *shown], now=now)
    done = uninstall(workspace, NAMES, dry_run=dry_run)
    if not dry_run:
        known_roots.forget(workspace)
        remains = list_remains(workspace)
        workspace.close()
    # The journal last: it alone knows which files are holdfast's, and this process may be killed.
    removed = [one for one in remains if not one["yours"]]
    removed.sort(key=lambda one: one["path"] == workspace.home)
    for one in removed if not dry_run else []:
        try:
            _remove(workspace, one)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise from_os_error(error, f"removing {one['path']}") from error
    return {"clients": done, "removed": removed, "left": [one for one in remains if one["yours"]]}


def _remove(workspace: Workspace, one: Remain) -> None:
    if one["path"] == REFS:
        orders = b"".join(b"delete " + name + b"\n" for name in _private_refs(workspace))
        git(workspace.root, "update-ref", "--stdin", input=orders)
    elif one["files"]:
        for path in one["files"]:
            os.unlink(path)
        if os.path.isdir(one["path"]):
            _remove_empty_folders(one["path"])
    elif os.path.isdir(one["path"]) and not os.path.islink(one["path"]):
        shutil.rmtree(one["path"])
    else:
        os.unlink(one["path"])


def _remove_empty_folders(top: str) -> None:
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            continue  # a file of a person's is in it


def _remain(
    what: str, path: str, remove: str, files: Sequence[str] = (), *, yours: bool = False
) -> Remain:
    return {"what": what, "path": path, "files": [*files], "remove": remove, "yours": yours}


def _whole(what: str, path: str, *, yours: bool = False) -> Remain:
    word = "rm -r" if os.path.isdir(path) and not os.path.islink(path) else "rm"
    return _remain(what, path, f"{word} {quote(path)}", yours=yours)


def _grouped(root: str, paths: Iterable[str]) -> Iterator[Remain]:
    """Return the files by the folder at the top of the work tree; the folders that become empty go as well."""
    groups: dict[str, list[str]] = {}
    for path in sorted(paths):
        top = os.path.join(root, os.path.relpath(path, root).split(os.sep)[0])
        groups.setdefault(top, []).append(path)
    for top, files in groups.items():
        command = " ".join(["rm", *map(quote, files)])
        what = "a file that holdfast wrote for you"
        if top != files[0]:
            command += f" && find {quote(top)} -type d -empty -delete"
            what = f"files that holdfast wrote for you ({len(files)})"
        yield _remain(what, top, command, files)


def _committed(root: str, paths: list[str]) -> Remain:
    names = " ".join(quote(os.path.relpath(path, root)) for path in paths)
    command = f"git -C {quote(root)} rm {names}"
    what = f"files that holdfast wrote, and that git tracks ({len(paths)})"
    return _remain(what, root, command, paths, yours=True)


def _view_paths(workspace: Workspace) -> dict[str, list[str]]:
    """Return the files that show streams, by worktree. A journal that cannot be read names none."""
    try:
        rows = workspace.journal.views() if workspace.exists() else []
    except HoldfastError:
        return {}
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["worktree"], []).append(row["path"])
    return found


def _tracked(workspace: Workspace, root: str) -> set[str]:
    try:
        names = git(root, "ls-files", "-z").split(b"\0") if workspace.git_dir else []
    except GitError:
        return set()
    return {os.path.join(root, os.fsdecode(name)) for name in names if name}


def _private_refs(workspace: Workspace) -> list[bytes]:
    if not workspace.git_dir:
        return []
    try:
        return git(workspace.root, "for-each-ref", "--format=%(refname)", PRIVATE_REFS).split()
    except GitError:
        return []
