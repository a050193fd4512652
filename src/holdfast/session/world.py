"""What is true around a session: HEAD, branch and work tree, as far as it is looked at."""

from __future__ import annotations

import os

from holdfast.clients.table import CLIENTS
from holdfast.git.repository import GitError, read_head
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import split_words
from holdfast.kernel.tree_file import UNFINISHED
from holdfast.kernel.views.asides import MARK
from holdfast.kernel.views.files import Unreadable, content_digest, read_file
from holdfast.session.ccc_files import folder_of, read_state
from holdfast.session.rules.model import PROGRESS_FILE, STATE_FILE, same_machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from holdfast.git.run import Running
    from holdfast.git.status import StatusChange
    from holdfast.kernel.workspace import Workspace
    from holdfast.observe.model import Observation
    from holdfast.session.rules.model import World

    class WorkTree(TypedDict):
        """Where a session works now: its branch, and what is not committed, with what became of a file in
        brackets. `is_known` says whether git was asked for the files. `no_longer` are files that were
        uncommitted at the last checkpoint and are not now. `counts` are those of the lists, which are
        bounded."""

        branch: str | None
        commit: str | None
        is_known: bool
        conflicted: list[str]
        staged: list[str]
        modified: list[str]
        untracked: list[str]
        no_longer: list[str]
        counts: dict[str, int]


MOST_FILES = 200
CONTROL_FILES = (PROGRESS_FILE, STATE_FILE, ".holdfast")
# What Holdfast itself writes into a work tree: a change there is no change of the work. The journal has it.
OWN_FILES = [
    *split_words(
        ".ccc-preferences.yaml .notes holdfast.toml .autopilot/state .autopilot/waypoints "
        ".autopilot/TRANSPONDER.md .autopilot/holding-pattern.md"
    ),
    *[file for facts in CLIENTS.values() for file in facts.files],
]
# What git's two letters say of a file.
UNTRACKED, UNCHANGED = "?", " "
UNMERGED = ("DD", "AU", "UD", "UA", "DU", "AA", "UU")
TREE_LISTS = ("conflicted", "staged", "modified", "untracked", "no_longer")
# So many names of a kind are handed on; the counts are of all.
MOST_NAMES = 40
# A fleet's folders stand in the folder of its epic, and a track's files beside its plan, which is work.
FLEET_FOLDERS = ("agent_checkpoints", "agent_comms")
TRACK_FILES = ("metadata.json", "checkpoint-history.jsonl")


def head_now(workspace: Workspace) -> Any:
    """HEAD and branch, from the files alone; unknown where there is no git."""
    try:
        return read_head(workspace.root)
    except HoldfastError:
        return {"commit": None, "branch": None, "detached": False, "known": False}


def world_now(workspace: Workspace, head: Any, state: dict[str, Any] | None = None) -> World:
    """Return what is true around a session, as far as files say; the work tree is not looked at. `state` is
    what `.ccc-state.json` says, where the caller has read it."""
    world: World = {
        "worktree": workspace.root,
        "repository": workspace.home,
        "commit": head["commit"],
        "branch": head["branch"],
        "dirty": None,
        "dirty_files": [],
        "plan": _plan(workspace, state),
    }
    machine = workspace.machine
    return {**world, "machine": machine} if machine else world


def _plan(workspace: Workspace, state: dict[str, Any] | None) -> str | None:
    """What the engine is to carry out: the number of tasks and the specification it follows.

    None where `.ccc-state.json` names no plan, or cannot be read.
    """
    try:
        state = read_state(workspace) if state is None else state
    except HoldfastError:
        return None
    named, total = state.get("specPath"), state.get("totalTasks")
    if not isinstance(named, str) and not isinstance(total, int):
        return None
    content = b""
    if isinstance(named, str):
        try:
            path = os.path.join(workspace.root, folder_of(workspace), named)
            _, content = read_file(path)
        except (OSError, Unreadable):
            content = b"cannot be read"
    return content_digest(f"{named}\0{total}\0".encode() + content)


def look_at_work_tree(
    workspace: Workspace, world: World, exclude: list[str], started: Running | None = None
) -> list[StatusChange]:
    """Ask git which files differ from HEAD, and remember the content of each. `started` is the git that
    a caller has asked already. The answer is what git said, without Holdfast's own files."""
    from holdfast.git.status import content_of, digest_of, read_status

    try:
        changes = read_status(workspace.root, exclude=exclude, started=started)
        changes = [change for change in changes if not is_own(change["path"])]
        world["dirty"] = digest_of(workspace.root, changes)
    except GitError:
        return []
    names = [change["path"] for change in changes]
    names += [change["origin"] for change in changes if change["origin"]]
    world["dirty_files"] = names[:MOST_FILES]
    world["files"] = {name: content_of(workspace.root, name) for name in names[:MOST_FILES]}
    return changes


def work_tree_of(
    now: World, changes: Sequence[StatusChange], then: World | None, edited: set[str]
) -> WorkTree | None:
    """What git says of the work tree, files that the session edited first; None without git. `then` is what
    the last checkpoint saw."""
    if now["branch"] is None and now["commit"] is None and now["dirty"] is None:
        return None
    lists: dict[str, list[str]] = {name: [] for name in TREE_LISTS}
    present: set[str] = set()
    for change in sorted(changes, key=lambda change: change["path"] not in edited):
        path, index, worktree = change["path"], change["index"], change["worktree"]
        present |= {path, change["origin"]}
        if index == UNTRACKED:
            lists["untracked"].append(path)
        elif index + worktree in UNMERGED:
            lists["conflicted"].append(path)
        else:
            if index != UNCHANGED:
                lists["staged"].append(path + _became(index, change["origin"]))
            if worktree != UNCHANGED:
                lists["modified"].append(path + _became(worktree, ""))
    is_known = now["dirty"] is not None
    is_same = then is not None and then["worktree"] == now["worktree"]
    if then is not None and is_known and is_same and same_machine(then, now.get("machine", "")):
        before = (name for name in then["dirty_files"] if not is_own(name))
        lists["no_longer"] = [name for name in before if name not in present]
    return {
        "branch": now["branch"],
        "commit": now["commit"],
        "is_known": is_known,
        "conflicted": lists["conflicted"][:MOST_NAMES],
        "staged": lists["staged"][:MOST_NAMES],
        "modified": lists["modified"][:MOST_NAMES],
        "untracked": lists["untracked"][:MOST_NAMES],
        "no_longer": lists["no_longer"][:MOST_NAMES],
        "counts": {name: len(found) for name, found in lists.items()},
    }


def _became(letter: str, origin: str) -> str:
    if letter == "D":
        return " (deleted)"
    return f" (was {origin})" if origin else ""


def changed_files(workspace: Workspace, then: World, now: World) -> list[str] | None:
    """The files whose content is not what it was; None where that was not looked at."""
    before, present = then.get("files"), now.get("files")
    if before is None or present is None or then["dirty"] is None or now["dirty"] is None:
        return None
    if then["dirty"] == now["dirty"] and then["commit"] == now["commit"]:
        return []
    from holdfast.git.status import content_of, files_between

    committed: list[str] = []
    if then["commit"] and now["commit"] and then["commit"] != now["commit"]:
        try:
            committed = files_between(workspace.root, then["commit"], now["commit"])
        except GitError:
            return None
    changed = []
    for name in sorted({*before, *present, *committed}):
        was = before.get(name)
        if was is None:
            # It was as committed then: it changed if it is not so now, or the commit changed it.
            changed.append(name)
        elif was != (present.get(name) or content_of(workspace.root, name)):
            changed.append(name)
    changed = [name for name in changed if not is_own(name)]
    # Of very many changed files only the first are known by name: the change may be in another one.
    is_cut = max(len(before), len(present)) >= MOST_FILES
    return None if is_cut and not changed else changed


def is_clone_of(workspace: Workspace, then: World) -> bool:
    """Whether work of another repository was done in a clone of this one: its commit is known here."""
    if not then["commit"] or then["repository"] == workspace.home:
        return False
    from holdfast.git.run import run

    try:
        name = f"{then['commit']}^{{commit}}"
        return run(workspace.root, "cat-file", "-e", name).code == 0
    except GitError:
        return False


def edited_files(workspace: Workspace, seen: Observation) -> list[str]:
    """The files of this work tree that a session edited and did not remove, seen from its root."""
    found = []
    for name, file in seen["files"].items():
        if file["edits"] and file["state"] != "deleted":
            path = os.path.normpath(os.path.join(seen["cwd"] or workspace.root, name))
            if path.startswith(f"{workspace.root}/"):
                found.append(path[len(workspace.root) + 1 :])
    return [name for name in found if not is_own(name)]


def lost_files(workspace: Workspace, seen: Observation, now: World) -> list[str]:
    """The files whose edits are lost as far as git alone can tell: they are gone or as in HEAD, and no
    commit changed them since the session began. `edits.compare_edits` compares the texts as well."""
    edited = edited_files(workspace, seen)
    if not edited or now["dirty"] is None or not seen["started_at"]:
        return []
    from holdfast.git.status import committed_since, list_tracked

    dirty = set(now["dirty_files"])
    gone = {name for name in edited if not os.path.lexists(os.path.join(workspace.root, name))}
    clean = [name for name in edited if name not in dirty and name not in gone]
    if len(dirty) >= MOST_FILES:
        clean = []  # the list of changed files is cut
    try:
        as_in_head = list_tracked(workspace.root, clean) if clean else set()
        lost = [name for name in edited if name in gone or name in as_in_head]
        if lost and now["commit"]:
            since = clock.parse(seen["started_at"])
            committed = committed_since(workspace.root, lost, since)
            return [name for name in lost if name not in committed]
    except (GitError, ValueError):
        return []
    return lost


def is_own(name: str) -> bool:
    """Whether a path of the work tree is one that Holdfast itself writes."""
    own = (*CONTROL_FILES, *OWN_FILES)
    if name.startswith(".ccc-") or any(name == each or name.startswith(f"{each}/") for each in own):
        return True
    *folders, file = name.split("/")
    if file.startswith(UNFINISHED) or (file.startswith(".") and MARK in file):
        return True
    if not set(FLEET_FOLDERS).isdisjoint(folders):
        return True
    return folders[:2] == ["conductor", "tracks"] and file in TRACK_FILES
