"""One gate: the question in the format of its protocol, and the buttons to answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.gates import lookup
from holdfast.gates.answer import facts, refused_attempts
from holdfast.gates.pictures import path_of
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import render
from holdfast.kernel import clock
from holdfast.kernel.workspace import worktrees
from holdfast.web.pages import board
from holdfast.web.work_tree import compare_with_commit

if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState
    from holdfast.web.pages import PageContext


def gather(page: PageContext) -> dict[str, Any]:
    place = page.place
    workspace = place.workspace
    state = lookup.read(workspace, lookup.find_gate(workspace, page.words["id"]))
    over = rules.decide(state, {"do": "expire"}, lookup.agreed_time(workspace, page.now))
    state = lookup.after(state, over.records, clock.stamp(page.now), "holdfast")
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
        "facts": facts(state, page.now),
        "refused": refused_attempts(workspace, state["id"]),
        "changed": compare_with_commit(asked["worktree"], worktrees(workspace)),
        "place": place.name,
        "following": _next(page, state) if rules.is_over(state) else None,
    }


def _next(page: PageContext, state: GateState) -> dict[str, Any] | None:
    """The gate that waits longest after this one, and how many wait."""
    waiting: list[dict[str, Any]] = []
    page.read_all(lambda place: waiting.extend(board.list_gates(place, page.now)[0]))
    found = sorted((one for one in waiting if one["id"] != state["id"]), key=lambda one: one["at"])
    return {"count": len(found), "gate": found[0]} if found else None
