"""What pages show of sessions beside the journal: read from the clients' files, not while a page waits.

A reader has a `view`, which a page takes as it is, and `refresh`, which reads what is new and says whether
the view changed.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from holdfast.clients.discovery import sessions_in
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import Workspace
from holdfast.observe.course import Moment, SessionCourse
from holdfast.session import observation, resume, sessions
from holdfast.session.session_list import list_sessions
from holdfast.usage import spending
from holdfast.web.workspaces import opened_to_read

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.usage.model import Source
    from holdfast.usage.spending import SessionCosts


# How often the clients' folders are searched, and how many sessions of a workspace are shown.
SEARCH_EVERY, MOST_FOUND = 20.0, 5
# So many sessions of a workspace are counted on the page of its budget.
MOST_COSTED = 40
_NO_COSTS: list[tuple[str, float | None]] = []


class Figures(NamedTuple):
    """What one session spent; None is unknown, never 0."""

    cost: float | None = None
    at_least: float = 0.0
    sure: str = "unknown"
    context: float | None = None


class FiguresReader:
    """Measures a session by its transcript or by its id."""

    def __init__(self, root: str, transcript: str, session: str) -> None:
        self.view = Figures()
        self._root, self._transcript, self._session = root, transcript, session
        self._seen: tuple[int, int] | None = None

    def refresh(self, now: int) -> bool:
        seen = _change_of(self._transcript)
        if seen is not None and seen == self._seen:
            return False
        before, self._seen = self.view, seen
        self.view = self._measure(now)
        return self.view != before

    def _measure(self, now: int) -> Figures:
        try:
            with opened_to_read(self._root) as workspace:
                spent = spending.account(
                    workspace, session=self._session, transcript=self._transcript, now=now
                )["spent"]
        except (HoldfastError, OSError, ValueError):
            return Figures()
        context = spent["context_percent"]
        return Figures(spent["cost"], spent["cost_at_least"], spent["sure"], context)


def _change_of(path: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(path) if path else None
    except (OSError, ValueError):
        return None
    return (seen.st_mtime_ns, seen.st_size) if seen else None


class BoardSession(TypedDict):
    """A session that a client left in a folder. `is_recorded`: the journal knows it."""

    session: str
    client: str
    is_recorded: bool
    seen_at: str
    request: str
    edits: int
    open_tasks: int


class FolderReader:
    """Finds the newest sessions of all clients in a folder."""

    def __init__(self, root: str) -> None:
        self.view: list[BoardSession] | None = None
        self._root = root
        self._searched = float("-inf")

    def refresh(self, now: int) -> bool:
        if time.monotonic() - self._searched <= SEARCH_EVERY:
            return False
        before, self.view = self.view, self._search(now)
        self._searched = time.monotonic()
        return self.view != before

    def _search(self, now: int) -> list[BoardSession]:
        try:
            with opened_to_read(self._root) as workspace:
                listed = list_sessions(self._root, workspace, most=MOST_FOUND, now=now)
        except (HoldfastError, OSError, ValueError):
            return []  # the board itself says what is wrong with this workspace
        return [
            {
                "session": one["session"],
                "client": one["client"],
                "is_recorded": one["state"] is not None,
                "seen_at": clock.stamp(now - one["age"]),
                "request": one["request"],
                "edits": one["edits"],
                "open_tasks": len(one["open_tasks"]),
            }
            for one in listed
        ]


class SessionView(NamedTuple):
    """`observed` and `handoff` are None for a session that the journal knows: its state has them."""

    moments: list[Moment]
    messages: list[tuple[str, float | None]] = _NO_COSTS
    observed: dict[str, Any] | None = None
    handoff: dict[str, str] | None = None
    problem: str = ""


def find_unrecorded(workspace: Workspace, id: str) -> FoundSession | None:
    """A session of this folder that only a transcript tells of, by its id or a beginning of it."""
    if not sessions.reads_transcripts(workspace):
        return None
    found = [one for one in sessions_in(workspace.root) if one["session"].startswith(id)]
    return next((one for one in found if one["session"] == id), found[0] if found else None)


class SessionReader:
    """Reads the transcript of one session. The journal knows a recorded one."""

    def __init__(self, root: str, session: str, recorded: bool) -> None:
        self.view: SessionView | None = None
        self._root, self._session, self._is_recorded = root, session, recorded
        self._course: SessionCourse | None = None
        self._seen = -1

    def refresh(self, now: int) -> bool:
        before = self.view
        try:
            with opened_to_read(self._root) as workspace:
                self.view = self._read(workspace, now)
        except (HoldfastError, OSError, ValueError) as error:
            self.view = SessionView(before.moments if before else [], problem=str(error))
        return self.view != before

    def _read(self, workspace: Workspace, now: int) -> SessionView:
        sources = spending.sources_of(workspace, self._session)
        if not sources:
            return SessionView([], problem="Its client's transcript is not on this machine.")
        seen = spending.changed(sources[0])
        if self.view is not None and not self.view.problem and seen == self._seen:
            return self.view
        self._seen = seen
        (costs,) = spending.costs_over_time(workspace, [sources], now=now)
        view = SessionView(self._moments(workspace, sources[0]), costs["messages"])
        return view if self._is_recorded else self._with_story(workspace, sources, view, now)

    def _moments(self, workspace: Workspace, source: Source) -> list[Moment]:
        if not sessions.reads_transcripts(workspace):
            return []
        if self._course is None:
            found: Any = {**source, "modified": 0, "cwd": ""}
            self._course = SessionCourse(found, spending.redaction_of(workspace))
        self._course.read()
        return list(self._course.moments)

    def _with_story(
        self, workspace: Workspace, sources: list[Source], view: SessionView, now: int
    ) -> SessionView:
        looked = observation.look_at(workspace, sources, now=now)
        if looked is None:
            return view._replace(problem="It holds no request and no work yet.")
        found = resume.resume(workspace, {"session": self._session, "look": False}, now=now)
        return view._replace(
            observed={
                "client": looked["client"],
                "path": looked["path"],
                "at": looked["seen"]["at"],
                "seen": looked["seen"],
            },
            handoff={"prompt": found["prompt"], "pack": found["pack"], "problem": ""},
        )


class CostReader:
    """Reads what the newest sessions of a workspace spent."""

    def __init__(self, root: str) -> None:
        self.view: list[SessionCosts] | None = None
        self._root = root
        self._seen: list[tuple[str, int]] = []

    def refresh(self, now: int) -> bool:
        before = self.view
        try:
            with opened_to_read(self._root) as workspace:
                each = [spending.sources_of(workspace, id) for id in _newest(workspace)]
                seen = [(one[0]["path"], spending.changed(one[0])) for one in each if one]
                if before is None or seen != self._seen:
                    self.view = spending.costs_over_time(workspace, each, now=now)
                    self._seen = seen
        except (HoldfastError, OSError, ValueError):
            self.view = before or []  # the page itself says what is wrong with this workspace
        return self.view != before


def _newest(workspace: Workspace) -> list[str]:
    """The sessions in this folder, and those of the journal, which may have been in other worktrees."""
    here = sessions_in(workspace.root, enough=MOST_COSTED)
    ids = [one["session"] for one in here]
    if workspace.exists():
        ids += [state["session"] for state in sessions.latest(workspace)]
    return list(dict.fromkeys(ids))[:MOST_COSTED]
