"""The inbox: how a process that cannot write the journal still gets its word in.

Codex's sandbox makes the git dir read-only. A command that meets such a journal leaves one synced
file in its worktree's `.holdfast/inbox/`; the next process that can write executes it under the
same id, so that taking it in twice changes nothing.

What stands there is an agent's data: any process that can write the worktree can put a file there.
So it is bounded, it counts only in its own worktree, and it is no act of a person. Files that came
with the repository do not count at all; `holdfast doctor` names them.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json, clock
from holdfast.kernel.errors import from_os_error
from holdfast.kernel.workspace import TOOL_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.workspace import Workspace

    class Queued(TypedDict):
        """A command as it waits: already redacted, with the id its records will have."""

        id: str
        stream: str
        command: Any
        actor: str
        fence: int | None
        at: str


# What a face says of a command that waits here.
QUEUED = "Queued in .holdfast/inbox: the journal cannot be written from here."
UNTIL_THEN = "The next command that can write takes it in; keep .holdfast until then."
FOLDER = f"{TOOL_FOLDER}/inbox"
REFUSED = ".refused"
LARGEST = 1 << 20
MOST = 1_000
FIELDS = ("id", "stream", "command", "actor", "fence", "at")


def put(workspace: Workspace, queued: Queued) -> str:
    """Leave a command for the next process that can write; the path of its file."""
    from holdfast.kernel.tree_file import OpenFolder

    try:
        workspace.prepare_tool_folder("inbox")
        name = f"{queued['at'].replace(':', '')}-{queued['id']}.json"
        file = _file(name, workspace.root)
        file.write(canonical_json.dumps(queued).encode(), 0o600)
        # Nothing else repairs this file's name after a power cut, so the folder is synced too.
        with OpenFolder(file) as folder:
            opened = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
        return str(file)
    except OSError as error:
        # The journal could not be written either: a command is left here only then.
        place = os.path.join(workspace.tool_folder, "inbox")
        doing = f"writing {workspace.journal_path}, and instead of it a file in {place},"
        raise from_os_error(error, doing) from error


def list_waiting(root: str) -> list[str]:
    """The files that wait in one worktree, oldest first, without those that came with it."""
    found = _files(root, ".json")
    if not found:
        return []
    foreign = set(committed(root))
    return [path for path in found if path not in foreign][:MOST]


def committed(root: str) -> list[str]:
    """The files in the inbox that git tracks: they came with the repository."""
    from holdfast.kernel.git_index import tracked_below

    return sorted(os.path.join(root, path) for path in tracked_below(root, FOLDER))


def refused(root: str) -> list[str]:
    """The files that were refused."""
    return _files(root, REFUSED)


def _files(root: str, ending: str) -> list[str]:
    folder = f"{root}/{FOLDER}"
    if not os.path.isdir(folder):  # the usual case
        return []
    from holdfast.kernel.tree_file import TreeFile

    names = sorted(TreeFile(root, FOLDER, is_strict=True).names_if_any())
    return [os.path.join(folder, name) for name in names if name.endswith(ending)]


def _file(path: str, root: str) -> TreeFile:
    """Return a waiting file, to be reached from the root: its folder may be swapped for a link meanwhile."""
    from holdfast.kernel.tree_file import TreeFile

    return TreeFile(root, f"{FOLDER}/{os.path.basename(path)}", is_strict=True)


def read(path: str, root: str) -> Queued | None:
    """The command in a file of this worktree; None when it is not one (its file is then set aside)."""
    try:
        content = _file(path, root).read(LARGEST)
    except OSError:
        return None
    try:
        value = canonical_json.loads(content.decode())
        queued: Queued = {name: value[name] for name in FIELDS}  # type: ignore[assignment]
        clock.parse(queued["at"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    texts = (queued["id"], queued["stream"], queued["actor"])
    is_sound = all(isinstance(text, str) and text for text in texts)
    fence = queued["fence"]
    if not is_sound or not (fence is None or isinstance(fence, int)):
        return None
    return _as_of_an_agent(queued, root, clock.now())


def _as_of_an_agent(queued: Queued, root: str, now: int) -> Queued:
    """A command as an agent of this worktree can mean it: about this worktree, and not from the
    future."""
    at = queued["at"] if clock.parse(queued["at"]) <= now else clock.precise(now)
    return {**queued, "command": _confined(queued["command"], root), "at": at}


def _confined(value: Any, root: str) -> Any:
    if isinstance(value, list):
        return [_confined(item, root) for item in value]
    if isinstance(value, dict):
        return {
            name: root if name == "worktree" and item else _confined(item, root)
            for name, item in value.items()
        }
    return value


def set_aside(path: str, root: str) -> None:
    """Keep a file that cannot be committed, under a name that is not tried again."""
    file = _file(path, root)
    file.rename(file.beside(file.name + REFUSED))


def remove(path: str, root: str) -> None:
    """Remove the file of a command that was committed."""
    _file(path, root).remove()
