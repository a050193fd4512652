"""The inbox: how a process that cannot write the journal still gets its word in.

Codex's sandbox makes the git dir read-only. A command that meets such a journal leaves one synced
file in its worktree's `.holdfast/inbox/`; the next process that can write executes it under the
same id, so that taking it in twice changes nothing.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json, clock
from holdfast.kernel.atomic import write_synced
from holdfast.kernel.errors import from_os_error
from holdfast.kernel.workspace import TOOL_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.kernel.workspace import Workspace

    class Queued(TypedDict):
        """A command as it waits: already redacted, with the id its records will have."""

        id: str
        stream: str
        command: Any
        actor: str
        fence: int | None
        at: str


REFUSED = ".refused"
FIELDS = ("id", "stream", "command", "actor", "fence", "at")


def put(workspace: Workspace, queued: Queued) -> str:
    """Leave a command for the next process that can write; the path of its file."""
    try:
        folder = workspace.prepare_tool_folder("inbox")
        path = os.path.join(folder, f"{queued['at'].replace(':', '')}-{queued['id']}.json")
        write_synced(path, canonical_json.dumps(queued).encode())
        # Nothing else repairs this file's name after a power cut, so the folder is synced too.
        opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
        return path
    except OSError as error:
        raise from_os_error(error, "leaving the command in the inbox") from error


def waiting(root: str) -> list[str]:
    """The files that wait in one worktree, oldest first."""
    return _files(root, ".json")


def refused(root: str) -> list[str]:
    """The files that were refused."""
    return _files(root, REFUSED)


def _files(root: str, ending: str) -> list[str]:
    folder = os.path.join(root, TOOL_FOLDER, "inbox")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(ending)]


def read(path: str) -> Queued | None:
    """The command in a file; None when it is not one (its file is then set aside)."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        value = canonical_json.loads(content.decode())
        queued: Queued = {name: value[name] for name in FIELDS}  # type: ignore[assignment]
        clock.parse(queued["at"])
    except (ValueError, KeyError, TypeError):
        return None
    texts = (queued["id"], queued["stream"], queued["actor"])
    is_sound = all(isinstance(text, str) and text for text in texts)
    fence = queued["fence"]
    return queued if is_sound and (fence is None or isinstance(fence, int)) else None


def set_aside(path: str) -> None:
    """Keep a file that cannot be committed, under a name that is not tried again."""
    os.rename(path, path + REFUSED)
