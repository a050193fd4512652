"""A person decides about an agent that went silent.

Only what begins no life is done from here: the life of whoever goes on has to begin where that agent
runs, so the page shows those commands to copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.estop.stop import refuse_stopped
from holdfast.fleet import recovery, roster
from holdfast.fleet.context import Post
from holdfast.fleet.epic import Epic
from holdfast.fleet.reports import report
from holdfast.kernel import config
from holdfast.kernel.errors import Conflict, NotFound, Usage
from holdfast.remote import server_time
from holdfast.web.cards import NEEDS, lane_of

if TYPE_CHECKING:
    from holdfast.gates.person import Person
    from holdfast.kernel.workspace import Workspace

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
        *(Epic(workspace, folder), workspace), actor=person["name"], now=server_time.now(workspace)
    )
    _refuse_alive(post, words["agent"])
    # A person's word: `yes` is what --yes says on a command line.
    report(act(post, words["agent"], yes=True))
    return "/board"


def _refuse_alive(post: Post, agent: str) -> None:
    """What the person saw may be old: the agent is judged once more, as the board judges it."""
    journal = post.worktree.journal if post.worktree.exists() else None
    inclusive = bool(config.load(post.worktree, journal)["fleet.inclusive"])
    for entry in roster.listing(post.epic, post.now, inclusive=inclusive):
        if entry["agent_id"] == agent and lane_of(entry) != NEEDS:
            why = ", ".join(entry["because"]) or entry["verdict"]
            raise Conflict(
                f"{agent} is not silent: {why}. Nothing was done.",
                hint="The board shows how it stands now. In a terminal: holdfast agent check "
                f"{agent}",
                kind="agent_alive",
            )
