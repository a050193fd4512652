"""One record: what it changed; for a checkpoint, also what changed in the work tree since the last
one.
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from holdfast.journal.interface import find_record
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace, worktrees
from holdfast.maintenance.history import change_of
from holdfast.maintenance.record_text import LONGEST_WAY, describe_all, hide_packed
from holdfast.web.record_text import read_last, show_record
from holdfast.web.table import PageContext
from holdfast.web.work_tree import compare_checkpoints

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record


MOST_LINES, LONGEST_LINE, MOST_BODY = 500, 300, 30_000
LONGEST_ID = 64
LOOKED_BACK = 200


def gather(page: PageContext) -> dict[str, Any]:
    place = page.place
    workspace, id = place.workspace, page.words["id"]
    if len(id) > LONGEST_ID or not id.isascii() or not id.isalnum():
        raise Usage(f"{id!r:.80} cannot be a record's id.", hint="Letters and digits.")
    if not workspace.exists():
        raise NotFound(f"There is no record {id}.", hint="Nothing was written here yet.")
    journal = workspace.journal
    record = hide_packed(find_record(journal, id))
    diff, problem = _diff(journal, record)
    body = json.dumps(record["body"], ensure_ascii=False, indent=2)
    return {
        "workspace": place.key,
        "record": record if len(body) <= MOST_BODY else {**record, "body": None, "cut": True},
        "told": show_record(place.key, record, describe_all(journal, [record])[record["id"]]),
        "diff": diff[:MOST_LINES],
        "more": max(0, len(diff) - MOST_LINES),
        "problem": problem,
        "body": body[:MOST_BODY],
        "cut": len(body) > MOST_BODY,
        "before": _beside(journal, record, record["version"] - 1),
        "after": _beside(journal, record, record["version"] + 1),
        "work_tree": _work_tree(workspace, record),
        "next": f"holdfast show {quote(record['id'][:12])}",
    }


def _diff(journal: Journal, record: Record) -> tuple[list[str], str]:
    """The state before and after the record as text, or why it cannot be shown."""
    if record["erased"]:
        return [], "The body was erased."
    if record["version"] > LONGEST_WAY:
        return [], "What led up to it is long: the terminal shows the difference."
    try:
        before, after = change_of(journal, record)
    except HoldfastError as error:
        return [], error.message
    if before == after:
        return [], "It changed nothing that is shown."
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    return [line[:LONGEST_LINE] for line in list(lines)[2:]], ""


def _beside(journal: Journal, record: Record, version: int) -> str:
    found = journal.read(record["stream"], after=version - 1, limit=1) if version > 0 else []
    return found[0]["id"] if found else ""


def _work_tree(workspace: Workspace, record: Record) -> dict[str, Any] | None:
    """The change of the work tree; only a session's checkpoint has one."""
    body = record["body"]
    if record["kind"] != "captured" or not isinstance(body, dict):
        return None
    world = body.get("world") or {}
    if not isinstance(world.get("worktree"), str):
        return None
    earlier = [
        one["at"]
        for one in read_last(workspace, record["stream"], LOOKED_BACK)
        if one["kind"] == "captured" and one["version"] < record["version"]
    ]
    return {
        "worktree": world["worktree"],
        "branch": world.get("branch") or "",
        "commit": world.get("commit") or "",
        "dirty_files": (world.get("dirty_files") or [])[:40],
        "claims": body.get("claims") or [],
        **compare_checkpoints(
            world["worktree"], record["at"], earlier[-1] if earlier else "", worktrees(workspace)
        ),
    }
