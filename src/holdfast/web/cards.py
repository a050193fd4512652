"""The lanes of the board, its cards, and the cards of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.clients.table import title_of
from holdfast.git.repository import read_head
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import quote
from holdfast.session import sessions
from holdfast.session.client_process import AT_WORK, standing
from holdfast.session.rules.handover import title_of as describe
from holdfast.web.background import SpendingMeter
from holdfast.web.table import Card, cards, link_to
from holdfast.web.workspaces import ServedWorkspace

NEEDS, RUNNING, QUIET, DONE = "needs", "running", "quiet", "done"
# What gave no sign of life for this long is called quiet.
QUIET_AFTER = 30 * clock.MINUTE


def list_cards(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    """Return all cards of a workspace, one kind after the other."""
    branches = Branches()
    for kind in cards():
        for card in kind.find(place, now, meter):
            card.branch = branches.of(card.worktree) or card.branch
            yield card


def list_sessions(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    """Return the newest sessions. One that another took over, or that only its client's transcript tells of, is on
    the page of all work alone."""
    for one in meter.found(place.root) or []:
        if not one["is_recorded"]:
            client = title_of(one["client"])
            about = f"known from {client}'s transcript · {one['session'][:8]}"
            yield _make_card(
                place, one["session"], one["request"], about=about, seen_at=one["seen_at"]
            )
    for state in sessions.latest(place.workspace):
        last, progress, seen = state["last"], state["progress"], state.get("observed")
        if last is None:
            continue
        session = state["session"]
        client = title_of(seen["client"]) if seen else ""
        name = describe(state)
        doing = progress["current"] or progress["status"]
        done, left = len(progress["completed"]), len(progress["remaining"])
        stands = standing(place.workspace, state, now)
        seen_at = state["ended_at"] or last["at"]
        lanes = {AT_WORK: find_lane(seen_at, now), "saved": QUIET, "ended": DONE}
        yield _make_card(
            place,
            session,
            name,
            lane=lanes.get(stands, ""),
            word=stands,
            about=" · ".join(filter(None, (client, session[:8]))),
            doing="" if doing in name else doing,
            why=[blocker["blocker"] for blocker in progress["blockers"]],
            done=done,
            steps=done + left + bool(progress["current"]),
            seen_at=seen_at,
            worktree=last["world"]["worktree"],
            branch=last["world"]["branch"] or "",
            figures=meter.figures(place.root, session=session)._asdict(),
        )


def _make_card(place: ServedWorkspace, session: str, name: str, **facts: Any) -> Card:
    given = {"lane": "", "word": "", "doing": "", "why": [], "worktree": ""}
    return Card(
        key=f"{place.key}/session/{session}/{session[:8]}",
        workspace=place.key,
        kind="session",
        name=name or session[:8],
        href=link_to(place.key, f"session:{session}"),
        next=f"holdfast resume --session {quote(session[:8])}",
        **{**given, **facts},
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
