"""Agents that are stalled because their process is gone, or that wait for a decision."""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.fleet.rules.model import CHECKPOINTS
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import Workspace
from holdfast.registry import STALLED, Attention

GONE = "process gone"
# How many folders are looked into, how many levels below the top, and which are not.
MOST_FOLDERS, DEEPEST = 200, 1
PASSED_OVER = ("node_modules", CHECKPOINTS)


def find(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the agents of all epics that no process runs."""
    heads = workspace.journal.heads("agent:") if workspace.exists() else []
    folders = {head["stream"].partition(":")[2].rpartition("/")[0] for head in heads}
    folders |= set(_find_unknown(workspace.root))
    if not folders:
        return
    from holdfast.fleet import roster
    from holdfast.fleet.epic import Epic
    from holdfast.remote import server_time

    agreed = server_time.now(workspace) if workspace.url else now
    for folder in sorted(folders):
        try:
            entries = roster.listing(Epic(workspace, folder), agreed)
        except (HoldfastError, OSError):
            continue  # `doctor` tells why
        for entry in entries:
            is_gone = GONE in entry["because"] and entry["verdict"] != "done"
            if not entry["next"] or not (is_gone or roster.needs_decision(entry)):
                continue
            last = entry["last_checkpoint"]
            since = f", last checkpoint {last}" if last else ""
            because = "; ".join(entry["because"]) or entry["problem"]
            what = f"{entry['agent_id']} is {entry['verdict']} ({because}{since})"
            yield Attention(what, entry["next"], STALLED, has_card=True)


def _find_unknown(root: str) -> Iterator[str]:
    """Return the folders with checkpoints of agents, at the top and two levels below: an agent that writes its
    own file is in no journal."""
    folders = [""]
    for folder in folders:
        try:
            with os.scandir(os.path.join(root, folder)) as found:
                names = [
                    one.name
                    for one in found
                    if one.name[0] != "." and one.is_dir(follow_symlinks=False)
                ]
        except OSError:
            continue
        if CHECKPOINTS in names:
            yield folder
        if folder.count("/") < DEEPEST and len(folders) < MOST_FOLDERS:
            folders += [os.path.join(folder, name) for name in names if name not in PASSED_OVER]
