"""The lanes of the board, its cards, and the cards of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.git.repository import read_head
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import quote
from holdfast.session import sessions
from holdfast.session.client_process import AT_WORK, standing
from holdfast.session.rules.handover import title_of
from holdfast.web.background import SpendingMeter
from holdfast.web.table import Card, cards, link_to
from holdfast.web.workspaces import ServedWorkspace

if TYPE_CHECKING:
    pass


NEEDS, RUNNING, QUIET, DONE = "needs", "running", "quiet", "done"
# What gave no sign of life for this long is called quiet.
QUIET_AFTER = 30 * clock.MINUTE


def list_cards(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    """Return all cards of a workspace, one kind after the other."""
    branches = Branches()
    for source in cards():
        for card in source(place, now, meter):
            card.branch = branches.of(card.worktree) or card.branch
            yield card


def list_sessions(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    workspace = place.workspace
    for state in sessions.latest(workspace):
        last, progress = state["last"], state["progress"]
        if last is None or state["adopted_by"]:
            continue
        done, left = len(progress["completed"]), len(progress["remaining"])
        stands = standing(workspace, state, now)
        over = stands == "ended"
        seen_at = state["ended_at"] or last["at"]
        yield Card(
            key=f"{place.key}/session/{state['session']}/{state['session'][:8]}",
            workspace=place.key,
            kind="session",
            name=state["session"][:8],
            href=link_to(place.key, f"session:{state['session']}"),
            lane=DONE if over else find_lane(seen_at, now) if stands == AT_WORK else QUIET,
            word=stands,
            about=title_of(state),
            doing=progress["current"] or progress["status"],
            why=[blocker["blocker"] for blocker in progress["blockers"]],
            done=done,
            steps=done + left + bool(progress["current"]),
            seen_at=seen_at,
            worktree=last["world"]["worktree"],
            branch=last["world"]["branch"] or "",
            figures=meter.figures(place.root, session=state["session"])._asdict(),
            next=f"holdfast resume --session {quote(state['session'][:8])}",
        )


def find_lane(seen_at: str, now: int) -> str:
    """Return the lane of work whose last sign of life was at a time."""
    moment = clock.instant_of(seen_at)
    return RUNNING if moment is not None and now - moment <= QUIET_AFTER else QUIET


class Branches:
    """The branch of each worktree, read once for a page."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, worktree: str) -> str:
        if worktree not in self._known:
            try:
                self._known[worktree] = (worktree and read_head(worktree)["branch"]) or ""
            except (HoldfastError, OSError):
                self._known[worktree] = ""
        return self._known[worktree]
