"""Which life this is: what `start` and `resume` leave in the worktree for the commands after them.

A process is known by the id that its client gives it, when there is one; otherwise everything that
runs in the worktree is taken for the life that began there.
"""

from __future__ import annotations

import os

from holdfast.clients.current_session import own_id
from holdfast.kernel import canonical_json
from holdfast.kernel.atomic import write_synced
from holdfast.kernel.digest import id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace

    class Own(TypedDict):
        session: str
        fence: int

    class Kept(TypedDict):
        """One agent's lives in this worktree, by the client's session that began them."""

        stream: str
        lives: dict[str, Own]


FOLDER = "lives"
_ANYBODY = ""


def remember(worktree: Workspace, stream: str, own: Own) -> None:
    """This process, and whoever else works here, is this life from now on."""
    folder = worktree.prepare_tool_folder(FOLDER)
    path = os.path.join(folder, f"{id_of(stream)}.json")
    lives = {**_read(path)["lives"], own_id(): own, _ANYBODY: own}
    write_synced(path, canonical_json.dumps({"stream": stream, "lives": lives}).encode())


def recall(worktree: Workspace, stream: str) -> Own | None:
    """The life that this process is, if it began here."""
    path = os.path.join(worktree.tool_folder, FOLDER, f"{id_of(stream)}.json")
    return _of(_read(path), own_id())


def of_session(worktree: Workspace, session: str) -> list[tuple[str, Own]]:
    """The agents that a client's session is, by what began here: their streams, and their lives."""
    folder = os.path.join(worktree.tool_folder, FOLDER)
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    kept = [_read(os.path.join(folder, name)) for name in names if name.endswith(".json")]
    found = [(each["stream"], _of(each, session)) for each in kept]
    return [(stream, own) for stream, own in found if own is not None]


def began_by(worktree: Workspace, stream: str, session: str) -> bool:
    """Whether a life of this agent began in just this session of a client."""
    path = os.path.join(worktree.tool_folder, FOLDER, f"{id_of(stream)}.json")
    return bool(session) and session in _read(path)["lives"]


def _of(kept: Kept, session: str) -> Own | None:
    return kept["lives"].get(session) or kept["lives"].get(_ANYBODY)


def _read(path: str) -> Kept:
    try:
        with open(path, encoding="utf-8") as file:
            kept = canonical_json.loads(file.read())
        return {"stream": str(kept["stream"]), "lives": dict(kept["lives"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"stream": "", "lives": {}}
