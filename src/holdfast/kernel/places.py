"""Every file that Holdfast writes: its name, its format, who wrote it, and who may remove it.

The rows here are the core's; a feature adds its own by `places` of its `feature.py`. `docs/files.md` is made from this
table, and purge reads from it what becomes of a file that holds the erased text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from holdfast import registry
from holdfast.kernel.workspace import TOOL_FOLDER, Workspace, user_folder, worktrees

Area = Literal["home", "private", "tool", "tree", "user", "data", "client"]
# What a purge does with a file that holds the text: replaces the text in it, removes the file, or changes it through
# the journal alone.
Erasure = Literal["text", "file", "journal"]

# Each area's title, and where it is.
AREAS: dict[Area, tuple[str, str]] = {
    "home": (
        "The journal's home",
        "`.git/holdfast/`, which all worktrees share; without git `~/.local/state/holdfast/projects/ID/`.",
    ),
    "private": (
        "What hooks keep for a worktree",
        "`worktree/` in the `holdfast/` of its own git dir; without git `~/.local/state/holdfast/worktrees/ID/`.",
    ),
    "tool": ("Where agents leave commands", "`.holdfast/` in each worktree; git ignores it."),
    "tree": ("The work tree", "For people and for the protocols; git sees these files."),
    "user": (
        "What a user has for all projects",
        "`$XDG_STATE_HOME/holdfast/`, by default `~/.local/state/holdfast/`.",
    ),
    "data": (
        "The launcher of the hooks",
        "`$XDG_DATA_HOME/holdfast/`, by default `~/.local/share/holdfast/`.",
    ),
    "client": ("The clients' settings", "`holdfast init` says which files these are."),
}
GC, ITSELF, UNINSTALL = "`holdfast gc`", "Holdfast itself", "`holdfast uninstall --everything`"
YOU = "you, at any time"


@dataclass(frozen=True)
class Place:
    """Files of one kind. `name` is a pattern in the area's folder; `*` matches slashes, too. `is_read` says that what
    stands there decides something, so `doctor` looks whether it can be read."""

    area: Area
    name: str
    what: str
    format: str
    removed_by: str
    erasure: Erasure = "text"
    is_read: bool = False


PLACES = [
    Place("home", "journal.db-mark.lost-*", "Records that were acknowledged and that the journal lost", "binary lines", "you, after `holdfast doctor`"),
    Place("home", "journal.db-mark", "The newest acknowledged records; it reveals a lost `-wal` file", "64 slots of 512 bytes", UNINSTALL, "journal"),
    Place("home", "journal.db*", "The journal, with SQLite's own `-wal` and `-shm`: never copy or remove one of them alone", "SQLite", UNINSTALL, "journal"),
    Place("home", "usage.db*", "The tally of the clients' transcripts: tokens, cost, and what a session did", "SQLite", "you: the next look counts again", "journal"),
    Place("home", "before-restore-*", "The journal as it was before `holdfast backup --restore`", "SQLite", YOU, "file"),
    Place("home", "damaged-*", "The damaged journal that a salvage replaced", "SQLite", YOU, "file"),
    Place("home", "salvage.*", "A new journal, while a salvage makes it", "SQLite", ITSELF, "file"),
    Place("home", "moving.db*", "A copy of a server's journal, while it is moved to a file", "SQLite", ITSELF, "file"),
    Place("home", "backup-*.db*", "A backup, before it is copied to where it was asked for", "SQLite", ITSELF, "file"),
    Place("home", "lock", "The lock of writers; the kernel's lock on it counts, not the file", "empty, or a process", UNINSTALL),
    Place("home", "latch", "A stop that holds: who set it, when and why", "JSON", "a person: `holdfast release`, `holdfast guard reset`"),
    Place("home", "last-turn*", "Until when sessions may checkpoint after a budget's stop", "JSON", ITSELF),
    Place("home", "page-open", "A page shows this workspace now: hooks look at its time", "empty", ITSELF),
    Place("home", "quiet", "Nothing waits: the launcher of the hooks need not start Python", "text", ITSELF),
    Place("home", "conflicts", "The streams whose edits by hand met a newer change", "lines", "`holdfast conflicts`"),
    Place("home", "purge.json", "What a purge is about to erase", "JSON", "`holdfast doctor --fix`", "journal"),
    Place("home", "pushed.json", "The snapshots that this clone pushed, by remote", "JSON", UNINSTALL),
    Place("home", "moved.json", "Where the journal was moved", "JSON", "`holdfast journal move`"),
    Place("home", "machine", "This machine's name on a server", "text", UNINSTALL),
    Place("home", "workspace", "What this workspace is called on a server", "text", UNINSTALL),
    Place("home", "server-time", "How far the server's clock is ahead", "text", ITSELF),
    Place("home", "forward*", "When the forwarder began, and what it found", "text", ITSELF),
    Place("home", "delivery.lock", "The lock of the program that delivers effects", "empty", UNINSTALL),
    Place("home", "hook-failures.jsonl*", "Why hooks failed; a hook never fails its client", "JSON lines", "`holdfast doctor --fix`"),
    Place("home", "quarantine/*", "Files that could not be read, as they were", "as found", GC + ", after `quarantine.days`", "file"),
    Place("home", "displaced/*", "What the last write of a view displaced, for an editor that has it open", "as found", ITSELF, "file"),
    Place("home", "aside/*", "A broken file that a person had replaced", "as found", YOU, "file"),
    Place("home", "index-*", "Git's index for snapshots of a worktree", "git's index", "you: the next snapshot makes it again", "file"),
    Place("private", "made", "The number of the folder itself; a copy of it is not trusted", "text", UNINSTALL),
    Place("private", "asks/*", "A copy of a session, while `holdfast resume --ask` asks it", "the client's", ITSELF, "file"),
    Place("private", "slots/*", "The sessions of this worktree, each with a folder: its process, its transcript, its last event", "text", ITSELF),
    Place("private", "pending/*", "Events of hooks that wait for the journal", "JSON", ITSELF),
    Place("private", "limits/*", "Sessions whose client is at a usage limit", "JSON", ITSELF),
    Place("private", "waiting/*", "Sessions whose client asks its person", "JSON", ITSELF),
    Place("private", "told/*", "Questions of clients that people were told of", "empty", ITSELF),
    Place("private", "shared/*", "Files that two sessions edit at once", "JSON", ITSELF),
    Place("private", "last-turn*", "The same as in the journal's home, for this worktree", "JSON", ITSELF),
    Place("private", "*.lock", "Locks of hooks", "empty", UNINSTALL),
    Place("private", "hook-failures.jsonl*", "Why hooks failed, where the journal's home cannot be written", "JSON lines", "`holdfast doctor --fix`"),
    Place("tool", "inbox/*", "Commands of agents that may not write the journal; the next command takes them in, and keeps refused ones as `.refused`", "JSON", ITSELF, "file", is_read=True),
    Place("tool", "latch", "The same as in the journal's home, for agents that see only the worktree", "JSON", "a person: `holdfast release`, `holdfast guard reset`"),
    Place("tool", "views/*", "Versions up to 0.2: files set aside", "as found", ITSELF, "file"),
    Place("tool", ".gitignore", "Keeps this folder out of git", "text", UNINSTALL),
    Place("tree", "*.holdfast.*", "A file set aside beside a view, while it is written or because it was edited meanwhile", "as found", GC, "file"),
    Place("tree", ".ccc-progress.md", "What the session works on: a view of its stream", "Markdown", YOU, is_read=True),
    Place("tree", ".ccc-state.json", "The issue of the session, for other tools of the protocol", "JSON", YOU, is_read=True),
    Place("tree", ".ccc-preferences.yaml", "Answers that are not asked for twice", "YAML", YOU),
    Place("tree", "holdfast.toml", "The project's settings; Holdfast only reads them", "TOML", YOU, is_read=True),
    Place("user", "trusted.json", "Which settings, journals and servers you trust, by workspace", "JSON", "`holdfast trust --forget`"),
    Place("user", "probes/*", "Marks of what you asked for in a clone", "empty", "you: you are asked again"),
    Place("user", "workspaces.json", "Where you ran `holdfast init`", "JSON", "`holdfast uninstall`"),
    Place("user", "page/*", "The page's process, its address and its log", "JSON, text", "you, while it does not run"),
    Place("user", "lock", "The lock of this folder", "empty", YOU),
    Place("data", "*", "The launcher of the hooks, and what it keeps of sessions", "sh, text", "`holdfast uninstall`"),
    Place("client", "settings", "The hooks and the MCP server in each client's own settings; the rest of such a file is yours", "the client's", "`holdfast uninstall`"),
]  # fmt: skip


def list_places() -> Iterator[tuple[str, Place]]:
    """Return every place with its owner: a feature's name, or `core`."""
    for feature in registry.all_features():
        if feature.places:
            for place in registry.load(feature.places):
                yield feature.name, place
    for place in PLACES:
        yield "core", place


class PlaceFinder:
    """The places of the files of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        folders: list[tuple[Area, str]] = [("home", workspace.home), ("user", user_folder())]
        for root in worktrees(workspace):
            private = workspace.at(root).private if os.path.isdir(root) else ""
            folders += [("private", private)] if private else []
            folders += [("tool", os.path.join(root, TOOL_FOLDER)), ("tree", root)]
        # The inner folders first.
        self._folders = sorted(dict.fromkeys(folders), key=lambda one: len(one[1]), reverse=True)
        self._places = [place for _, place in list_places()]

    def find(self, path: str) -> Place | None:
        """Return the place that a file belongs to; None for a file that Holdfast does not know."""
        for area, folder in self._folders:
            if path.startswith(f"{folder}{os.sep}"):
                name = path[len(folder) + 1 :]
                for place in self._places:
                    if place.area == area and fnmatchcase(name, place.name):
                        return place
        return None
