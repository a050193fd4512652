"""One gate: what is asked, exactly as the protocol shows it, and what to answer it with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.adapters.git.run import git
from holdfast.gates import reading
from holdfast.gates.answering import facts, refused_attempts
from holdfast.gates.pictures import path_of
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.protocols.pilot import gate as rules
from holdfast.protocols.pilot.gate_text import render

if TYPE_CHECKING:
    from holdfast.web.meter import Meter
    from holdfast.web.site import Site

MOST_FILES = 40
GIT_SECONDS = 5.0


def gather(site: Site, words: Mapping[str, str], now: int, meter: Meter) -> dict[str, Any]:
    place = site.place(words["workspace"])
    workspace = place.workspace
    state = reading.read(workspace, reading.named(workspace, words["id"]))
    over = rules.decide(state, {"do": "expire"}, now)
    state = reading.after(state, over.records, clock.stamp(now), "holdfast")
    content, asked = state["content"], state["asked"]
    assert content is not None
    assert asked is not None
    return {
        "workspace": place.key,
        **state,
        "pictures": [
            {**one, "is_here": bool(path_of(workspace, state, one))}
            for one in rules.pictures_of(state)
        ],
        "rendered": render(content),
        "facts": facts(state, now),
        "refused": refused_attempts(workspace, state["id"]),
        "changed": changed(asked["worktree"]),
    }


def changed(worktree: str) -> dict[str, Any]:
    """What differs from the last commit where the gate was asked, by file."""
    options = ("--numstat", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "HEAD")
    try:
        output = git(worktree, "diff", *options, seconds=GIT_SECONDS)
    except (HoldfastError, OSError):
        return {"files": [], "more": 0, "added": 0, "removed": 0}
    rows = [row.split("\t", 2) for row in output.decode("utf-8", "replace").split("\0") if row]
    files = [
        {"path": path, "added": _count(added), "removed": _count(removed)}
        for added, removed, path in (row for row in rows if len(row) == 3)
    ]
    return {
        "files": files[:MOST_FILES],
        "more": max(0, len(files) - MOST_FILES),
        "added": sum(file["added"] or 0 for file in files),
        "removed": sum(file["removed"] or 0 for file in files),
    }


def _count(text: str) -> int | None:
    """Lines; None for a file that has none."""
    return int(text) if text.isascii() and text.isdigit() else None
