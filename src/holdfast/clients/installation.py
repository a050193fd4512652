"""Letting agents' clients call holdfast by themselves, and taking that back byte for byte.

Only settings of the project are touched: a hook for all projects would make a journal in each of them.
`files_beside` lists what is written elsewhere.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Collection, Iterable
from typing import Literal, Protocol, TypedDict

from holdfast.clients import launcher
from holdfast.clients.settings import files
from holdfast.clients.settings.files import Part, SettingsChange, Status
from holdfast.clients.settings.shared import is_shared, share
from holdfast.clients.table import CLIENTS, NAMES, part, settings_home_of
from holdfast.kernel import git_exclude
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.trust import WORKSPACES, listed_workspaces
from holdfast.kernel.workspace import Workspace, user_folder, worktrees
from holdfast.processes import relaunch
from holdfast.processes.child import find_program
from holdfast.processes.distribution import install_command

NO_SERVER = "No MCP server is registered: {}, then run this again."
SHARED_NOTE = "its hooks do nothing where Holdfast is not installed, and say once how to get it."
# The words of `server()`, as JSON and TOML spell a list.
_STARTS_SERVER = re.compile(r'"-m",\s*"holdfast",\s*"mcp"')


class Installer(Protocol):
    """The module `install` of a client. If the client's row has a `review`, the module has
    `is_reviewed(workspace)`, too."""

    # The events that our hooks are for; a dict has the time that the client may wait, in its own unit.
    EVENTS: Collection[str]

    def parts(self, workspace: Workspace, server: list[str]) -> list[Part]:
        """The files of the client's row, and what of them is ours. `server` says how our MCP server is
        started (nothing: it cannot be)."""

    def notes(self, workspace: Workspace) -> list[str]:
        """What the client's user has to know."""


class FileDone(TypedDict):
    """What `init` or `uninstall` did to one file. `deleted`: holdfast made it, and nothing is left."""

    path: str
    status: Status
    deleted: bool


class Done(TypedDict):
    """What they did for one client. `notes` are for its user to read."""

    client: str
    status: Status
    files: list[FileDone]
    notes: list[str]


class BesideFile(TypedDict):
    """A file or folder that `init` writes beside the settings. `status`: it is as `init` leaves it
    (already), or is to be written."""

    path: str
    what: str
    status: Literal["installed", "already"]


class Setup(TypedDict):
    """What `init` did. `in_place`: it had nothing to do, because everything was there."""

    clients: list[Done]
    beside: list[BesideFile]
    in_place: bool


class FoundClient(TypedDict):
    """A client, and by what it was noticed; empty when it was not."""

    client: str
    because: str


def installer_of(client: str) -> Installer:
    found: Installer = part(client, "install")
    return found


def server() -> list[str]:
    """How our MCP server is started; nothing where its library is not installed."""
    return relaunch.command("mcp") if importlib.util.find_spec("mcp") else []


def has_server(workspace: Workspace, client: str) -> bool:
    """Return whether a client's settings start our MCP server."""
    parts = parts_of(workspace, [client], ["holdfast"])[client]
    return any(_STARTS_SERVER.search(launcher.content_of(part.path)) for part in parts)


def detect() -> list[FoundClient]:
    """Which clients this user has."""
    found: list[FoundClient] = []
    for client in NAMES:
        program, home = find_program(CLIENTS[client].start[0]), settings_home_of(client)
        because = program or (home if os.path.isdir(home) else "")
        found.append({"client": client, "because": because})
    return found


def install(
    workspace: Workspace,
    clients: Iterable[str],
    server: list[str],
    *,
    without_server: bool = False,
    shared: bool = False,
    dry_run: bool = False,
) -> list[Done]:
    """Put the launcher in place and add ours to clients' settings; everything else in them stays.
    `server` says how our MCP server is started (nothing: it cannot be). `without_server`: the user wants none.
    `shared`: into the settings that a team commits."""
    if shared:
        without_server = True
    elif without_server:
        server = []
        clients = list(clients)
        if not dry_run:
            uninstall(workspace, [one for one in clients if has_server(workspace, one)])
    parts = parts_of(workspace, clients, [] if shared else server, shared=shared)
    if parts and not dry_run:
        launcher.install()
    changes = _change(workspace, parts, files.plan_install, dry_run)
    done: list[Done] = []
    hidden = [] if dry_run else hide_from_git(workspace)
    for place, client in enumerate(parts):
        ours = changes[client]
        statuses = {change["status"] for change in ours}
        done.append(
            {
                "client": client,
                "status": "installed" if "installed" in statuses else "already",
                "files": _shown(ours),
                "notes": [
                    *(note for change in ours for note in change["notes"]),
                    *(note for change in ours for note in _seen_by_git(workspace, change)),
                    *(hidden if place == 0 else []),
                    *([f"Commit {CLIENTS[client].shared}: {SHARED_NOTE}"] if shared else []),
                    *installer_of(client).notes(workspace),
                    *(
                        []
                        if server or without_server
                        else [NO_SERVER.format(install_command("mcp"))]
                    ),
                ],
            }
        )
    return done


def set_up(
    workspace: Workspace,
    clients: Iterable[str],
    server: list[str],
    *,
    without_server: bool = False,
    shared: bool = False,
    dry_run: bool = False,
) -> Setup:
    """What `init` does: `install`, and which of its files were to be written."""
    clients = list(clients)
    options = {"without_server": without_server, "shared": shared}
    planned = install(workspace, clients, server, **options, dry_run=True)
    is_new = any(file["status"] == "installed" for one in planned for file in one["files"])
    beside = files_beside(workspace, is_new=is_new, shared=shared) if planned else []
    done = planned if dry_run else install(workspace, clients, server, **options)
    files_done = [file["status"] for one in done for file in one["files"]]
    return {
        "clients": done,
        "beside": beside,
        "in_place": bool(done)
        and all(status == "already" for status in files_done)
        and all(one["status"] == "already" for one in beside),
    }


def uninstall(workspace: Workspace, clients: Iterable[str], *, dry_run: bool = False) -> list[Done]:
    """Put clients' files back as they were; in files that changed since, only our part goes."""
    # The last first, as their folders were made: the first one's are gone when they are empty.
    parts = {
        client: ours[::-1] for client, ours in parts_of(workspace, clients, ["holdfast"]).items()
    }
    changes = _change(workspace, parts, files.plan_uninstall, dry_run)
    hidden = [] if dry_run else _show_to_git(workspace)
    if not dry_run:
        files.drop_empty_folder(workspace)
    done: list[Done] = []
    for client in parts:
        ours = changes[client][::-1]
        statuses: set[Status] = {change["status"] for change in ours} - {"absent"}
        status: Status = "removed" if "removed" in statuses else "restored"
        status = status if statuses else "absent"
        notes = [note for change in ours for note in change["notes"]]
        done.append({"client": client, "status": status, "files": _shown(ours), "notes": notes})
    if done:
        done[0]["notes"] += hidden
    return done


def files_beside(workspace: Workspace, *, is_new: bool, shared: bool = False) -> list[BesideFile]:
    """What `init` writes beside the settings of a client, all of it for this user alone. `is_new`: it writes
    settings, too; `shared`: those of a team, which git sees."""
    kept, listed = files.folder_of(workspace), os.path.join(user_folder(), WORKSPACES)
    is_listed = not {*worktrees(workspace)}.isdisjoint(listed_workspaces())
    has_kept = not is_new and os.path.isdir(kept)
    rows = [
        (launcher.folder_of_user(), "the launcher that the hooks start", not launcher.problem()),
        (kept, "what the settings were, for `uninstall`", has_kept),
        (listed, "the list of your workspaces, for `serve`", is_listed),
    ]
    if workspace.git_dir and not shared:
        what = "lines that hide the new settings from git: they name paths of this machine"
        made = _made_in_worktrees(workspace)
        is_hidden = not is_new and git_exclude.has_settings_hidden(workspace, made)
        rows.append((git_exclude.exclude_file(workspace), what, is_hidden))
    return [
        {"path": path, "what": what, "status": "already" if is_there else "installed"}
        for path, what, is_there in rows
    ]


def made_settings(workspace: Workspace) -> list[str]:
    """The settings with ours in them that `init` made, in all worktrees."""
    return [
        path
        for path in _settings_with_ours(workspace)
        if files.is_created(workspace, path) and not is_shared(path)
    ]


def _settings_with_ours(workspace: Workspace) -> list[str]:
    return [
        os.path.realpath(part.path)
        for root in worktrees(workspace)
        for ours in parts_of(workspace.at(root), NAMES, ["holdfast"]).values()
        for part in ours
        # `doctor` names what cannot be read.
        if files.has_ours(part, if_unreadable=False)
    ]


def hide_from_git(workspace: Workspace) -> list[str]:
    """Let git not see the settings that `init` made in any worktree; what a person has to know."""
    try:
        git_exclude.hide_settings(workspace, _made_in_worktrees(workspace))
    except HoldfastError as error:
        return [f"Git sees the settings, which name paths of this machine: {error.message}"]
    return []


def _made_in_worktrees(workspace: Workspace) -> set[str]:
    """The settings that `init` made, each as seen from the top of its worktree."""
    roots = [os.path.realpath(root) for root in worktrees(workspace)]
    return {
        os.path.relpath(path, root)
        for path in made_settings(workspace)
        for root in roots
        if path.startswith(root + os.sep)
    }


def _show_to_git(workspace: Workspace) -> list[str]:
    """After `uninstall`: with the last client, the lines of the library go too."""
    if _settings_with_ours(workspace):
        return hide_from_git(workspace)
    try:
        shown = git_exclude.show_all(workspace)
    except HoldfastError as error:
        return [f"Lines of Holdfast are left: {error.message}"]
    # An earlier version kept there what the file was.
    files.forget(workspace, os.path.realpath(git_exclude.exclude_file(workspace)))
    here = [path for path in shown if os.path.lexists(os.path.join(workspace.root, path))]
    return [f"Git sees these again: {', '.join(here)}."] if here else []


def _seen_by_git(workspace: Workspace, change: SettingsChange) -> list[str]:
    """A file that was there before may be committed, with ours in it."""
    path, kept = change["path"], change["kept"]
    if not workspace.git_dir or change["status"] != "installed" or kept is None or kept["created"]:
        return []
    told = f"{path} now names paths of this machine: do not commit Holdfast's part of it."
    return [] if is_shared(path) else [told]


def parts_of(
    workspace: Workspace, clients: Iterable[str], server: list[str], *, shared: bool = False
) -> dict[str, list[Part]]:
    """The files of each client, with what we want of them."""
    return {
        client: share(
            workspace, client, installer_of(client).parts(workspace, server), is_wanted=shared
        )
        for client in clients
    }


def _change(
    workspace: Workspace,
    parts: dict[str, list[Part]],
    plan: Callable[[Workspace, Part], SettingsChange],
    dry_run: bool,
) -> dict[str, list[SettingsChange]]:
    """Do as planned. A file that cannot be understood is refused before any client's is written."""
    planned = {client: [plan(workspace, one) for one in ours] for client, ours in parts.items()}
    if dry_run:
        return planned
    done: list[str] = []
    for client, changes in planned.items():
        for place, wanted in enumerate(parts[client]):
            try:
                if files.is_outdated(workspace, changes[place]):
                    changes[place] = plan(workspace, wanted)
                files.carry_out(workspace, changes[place])
            except HoldfastError as error:
                if done:
                    error.message += f" Changed before that: {', '.join(done)}."
                raise
            if changes[place]["status"] in ("installed", "removed", "restored"):
                done.append(changes[place]["path"])
    return planned


def _shown(changes: list[SettingsChange]) -> list[FileDone]:
    return [
        {
            "path": change["path"],
            "status": change["status"],
            "deleted": change["status"] == "restored" and change["after"] is None,
        }
        for change in changes
    ]
