"""A person decides about an agent that went silent.

Only decisions that begin no life are made from here. The life of the agent that goes on has to begin where
that agent runs, so the page shows those commands to copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import Epic
from holdfast.fleet.recovery import absorb, defer
from holdfast.kernel.errors import NotFound, Usage
from holdfast.remote import server_time

if TYPE_CHECKING:
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace

OPERATIONS = {"defer": defer, "absorb": absorb}


def apply(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    operation = OPERATIONS.get(words.get("decision", ""))
    if operation is None:
        raise Usage(f"The decision is one of {', '.join(OPERATIONS)}.")
    folder = words.get("epic", "")
    if os.path.isabs(folder) or ".." in folder.split("/"):
        raise NotFound("There is no such epic.")
    context = FleetContext(
        *(Epic(workspace, folder), workspace), actor=person["name"], now=server_time.now(workspace)
    )
    # A person's word counts as --yes does. What the person saw may be old: so only if still silent.
    operation(context, {"agent": words["agent"], "yes": True, "only_silent": True})
    return "/board"
