"""Whether what clients' settings start is still there, and is this holdfast."""

from __future__ import annotations

import os

from holdfast.clients.installation import CLIENTS, parts_of
from holdfast.clients.settings import files
from holdfast.clients.settings.json_part import JsonPart
from holdfast.clients.table import title_of
from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.clients.settings.files import Part
    from holdfast.kernel.workspace import Workspace

    class Condition(TypedDict):
        """A client with something of ours in its settings. `problem` is empty when all is as `init`
        would write it now, and `why` says what follows from it; `broken`: its hooks cannot even be
        started."""

        client: str
        problem: str
        why: str
        broken: bool


NOT_STARTED = "Hooks that cannot start do nothing, and report nothing."


def conditions(workspace: Workspace, server: list[str]) -> list[Condition]:
    """Each client that has ours, by the worst of its files."""
    found: list[Condition] = []
    for client in CLIENTS:
        worst = _worst(workspace, client, server)
        if worst is None:
            continue
        if worst["problem"] and not worst["broken"] and server:
            hooks = _worst(workspace, client, [])
            if hooks is not None and not hooks["problem"]:
                worst["problem"] = (
                    f"{title_of(client)} has Holdfast's hooks, but not its MCP server."
                )
                worst["why"] = "Without it, the agent has no tools of Holdfast's; the hooks work."
        found.append(worst)
    return found


def _worst(workspace: Workspace, client: str, server: list[str]) -> Condition | None:
    parts = parts_of(workspace, [client], server)[client]
    found = [one for part in parts if (one := _condition(client, part)) is not None]
    return max(found, key=lambda one: (one["broken"], bool(one["problem"])), default=None)


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
        return {"client": client, "problem": error.message, "why": NOT_STARTED, "broken": True}
    if gone:
        problem = f"{path} starts {gone[0]}, which is not there."
        return {"client": client, "problem": problem, "why": NOT_STARTED, "broken": True}
    problem, why = "", ""
    if not is_current:
        problem = f"{path} starts another holdfast than this, or an older one's hooks."
        why = "The hooks may lack what this version does."
        overridden = part.overrides(text) if isinstance(part, JsonPart) else ""
        if overridden:
            problem = f"Holdfast's status line in {path} overrides yours in {overridden}."
            why = "`init` takes Holdfast's out."
    return {"client": client, "problem": problem, "why": why, "broken": False}
