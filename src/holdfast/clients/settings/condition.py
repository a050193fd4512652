"""Whether what clients' settings start is still there, and is this holdfast."""

from __future__ import annotations

import os

from holdfast.clients.installation import CLIENTS, parts_of
from holdfast.clients.settings import files
from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.clients.settings.files import Part
    from holdfast.kernel.workspace import Workspace

    class Condition(TypedDict):
        """A client with something of ours in its settings. `problem` is empty when all is as `init`
        would write it now; `broken`: its hooks cannot even be started."""

        client: str
        problem: str
        broken: bool


def conditions(workspace: Workspace, server: list[str]) -> list[Condition]:
    """Each client that has ours, by the worst of its files."""
    found: list[Condition] = []
    for client in CLIENTS:
        parts = parts_of(workspace, [client], server)[client]
        problems = [one for part in parts if (one := _condition(client, part)) is not None]
        if problems:
            found.append(max(problems, key=lambda one: (one["broken"], bool(one["problem"]))))
    return found


def clients_with_ours(workspace: Workspace, server: list[str]) -> list[str]:
    """The clients that `conditions` names, in its order, without a judgment of their files."""
    parts = parts_of(workspace, list(CLIENTS), server)
    return [client for client in CLIENTS if any(map(_has_ours, parts[client]))]


def _has_ours(part: Part) -> bool:
    try:
        text = files.read(os.path.realpath(part.path))
        return text is not None and part.has_ours(text)
    except HoldfastError:
        return True  # what cannot be read is a problem to be told


def _condition(client: str, part: Part) -> Condition | None:
    """None: nothing of ours is in the file."""
    path = os.path.realpath(part.path)
    try:
        text = files.read(path)
        if text is None or not part.has_ours(text):
            return None
        gone = [program for program in part.programs(text) if not os.path.exists(program)]
        is_current = part.put(text)["text"] == text
    except HoldfastError as error:
        return {"client": client, "problem": error.message, "broken": True}
    if gone:
        problem = f"{path} starts {gone[0]}, which is not there."
        return {"client": client, "problem": problem, "broken": True}
    problem = (
        "" if is_current else f"{path} starts another holdfast than this, or an older one's hooks."
    )
    return {"client": client, "problem": problem, "broken": False}
