"""What a snapshot knows of itself, as trailers of its commit: the refs alone are enough."""

from __future__ import annotations

import json
import os
from typing import TypedDict

from holdfast.git.path_filter import Skipped
from holdfast.kernel import clock

AUTHOR = "holdfast <snapshot@holdfast.invalid>"
PREFIX = "Holdfast-"
# For `git for-each-ref`: what `parse` takes apart.
FIELDS = "%(refname)%00%(objectname)%00%(tree)%00%(parent)%00%(contents)%00"
COUNT = 5


class Snapshot(TypedDict):
    """One snapshot. Paths are seen from the top of the work tree."""

    id: str
    commit: str
    tree: str
    at: str
    branch: str | None
    parent: str | None
    worktree: str
    session: str
    number: int
    """Its place in the row of its worktree: clocks step back."""
    changed: int
    """How many paths were brought up to date since the snapshot before it."""
    skipped: list[Skipped]
    submodules: list[str]
    """Submodules with changes of their own, of which only the commit is held."""
    duplicate: bool
    """Nothing had changed: this is the snapshot that was there already."""


def compose(snapshot: Snapshot) -> bytes:
    """The commit of a snapshot, as git stores it."""
    second = clock.parse(snapshot["at"]) // 1000
    lines = [f"tree {snapshot['tree']}"]
    if snapshot["parent"]:
        lines.append(f"parent {snapshot['parent']}")
    lines += [f"author {AUTHOR} {second} +0000", f"committer {AUTHOR} {second} +0000"]
    lines += ["", "Snapshot of the work tree", ""]
    known = {
        "Snapshot": snapshot["id"],
        "Worktree": snapshot["worktree"],
        "At": snapshot["at"],
        "Number": snapshot["number"],
        "Changed": snapshot["changed"],
        "Session": " ".join(snapshot["session"].split()),
        "Branch": snapshot["branch"] or "",
    }
    lines += [f"{PREFIX}{name}: {value}" for name, value in known.items() if value != ""]
    # As JSON, since a name may hold a newline.
    lines += [f"{PREFIX}Skipped: {json.dumps(skipped)}" for skipped in snapshot["skipped"]]
    lines += [f"{PREFIX}Submodule: {json.dumps(path)}" for path in snapshot["submodules"]]
    return os.fsencode("\n".join(lines) + "\n").replace(b"\0", b"")


def parse(output: bytes, refs: str) -> list[Snapshot]:
    """The snapshots in the answer of `git for-each-ref`; what is not one is passed over."""
    fields = os.fsdecode(output).split("\0")
    found = []
    for start in range(0, len(fields) - COUNT, COUNT):
        name, commit, tree, parents, text = fields[start : start + COUNT]
        worktree, _, id = name.strip().removeprefix(f"{refs}/").rpartition("/")
        trailers: dict[str, list[str]] = {}
        for line in text.split("\n"):
            key, separator, value = line.partition(": ")
            if separator and key.startswith(PREFIX):
                trailers.setdefault(key.removeprefix(PREFIX), []).append(value)
        if "Snapshot" not in trailers:
            continue
        try:
            found.append(_snapshot(id, worktree, commit, tree, parents, trailers))
        except (ValueError, RecursionError):
            continue  # somebody else's, from a remote
    return found


def _snapshot(
    id: str, worktree: str, commit: str, tree: str, parents: str, trailers: dict[str, list[str]]
) -> Snapshot:
    def one(name: str, otherwise: str = "") -> str:
        return trailers.get(name, [otherwise])[0]

    return {
        "id": id,
        "commit": commit,
        "tree": tree,
        "at": clock.precise(clock.parse(one("At"))),
        "branch": one("Branch") or None,
        "parent": parents or None,
        "worktree": worktree,
        "session": one("Session"),
        "number": int(one("Number", "0")),
        "changed": int(one("Changed", "0")),
        "skipped": [_skipped(value) for value in trailers.get("Skipped", [])],
        "submodules": [str(json.loads(value)) for value in trailers.get("Submodule", [])],
        "duplicate": False,
    }


def _skipped(text: str) -> Skipped:
    value = json.loads(text)
    if not isinstance(value, dict) or not isinstance(value.get("path"), str):
        raise ValueError(text)
    return {"path": value["path"], "reason": str(value.get("reason", ""))}
