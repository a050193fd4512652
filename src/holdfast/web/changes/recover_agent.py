"""A person decides about an agent that went silent.

Only what begins no life is done from here: the life of whoever goes on has to begin where that agent
runs, so the page shows those commands to copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.emergency import refuse_stopped
from holdfast.fleet import recovery
from holdfast.fleet.epic import Epic
from holdfast.fleet.post import Post
from holdfast.fleet.reports import report
from holdfast.kernel import clock
from holdfast.kernel.errors import NotFound, Usage

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.people import Person

ACTS = {"defer": recovery.defer, "absorb": recovery.absorb}


def apply(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    act = ACTS.get(words.get("decision", ""))
    if act is None:
        raise Usage(f"The decision is one of {', '.join(ACTS)}.")
    folder = words.get("epic", "")
    if os.path.isabs(folder) or ".." in folder.split("/"):
        raise NotFound("There is no such epic.")
    refuse_stopped(workspace)
    post = Post(
        Epic(workspace, folder), workspace, actor=person["name"], now=clock.parse(person["at"])
    )
    # A person's word: `yes` is what --yes says on a command line.
    report(act(post, words["agent"], yes=True))
    return "/board"
