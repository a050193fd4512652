"""What pages show of sessions beside the journal: read from the clients' files, not while a page waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.clients.discovery import sessions_in
from holdfast.kernel.errors import HoldfastError
from holdfast.session import observation, resume, sessions, spending
from holdfast.session.course import Moment, SessionCourse
from holdfast.web.workspaces import opened_to_read

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.usage.model import Source
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.spending import SessionCosts

# So many sessions of a workspace are counted on the page of its budget.
MOST_COSTED = 40
_NO_COSTS: list[tuple[str, float | None]] = []


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
    """Reads the transcript of one session. Two readers of the same session are equal."""

    def __init__(self, root: str, session: str, recorded: bool) -> None:
        self.view: SessionView | None = None
        self._key = (root, session, recorded)
        self._root, self._session, self._is_recorded = root, session, recorded
        self._course: SessionCourse | None = None
        self._seen = -1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionReader) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def refresh(self, now: int) -> bool:
        """Read what is new; whether the view changed."""
        before = self.view
        try:
            with opened_to_read(self._root) as workspace:
                self.view = self._read(workspace, now)
        except (HoldfastError, OSError, ValueError) as error:
            message = getattr(error, "message", str(error))
            self.view = SessionView(before.moments if before else [], problem=message)
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
    """Reads what the newest sessions of a workspace spent. Two readers of the same folder are equal."""

    def __init__(self, root: str) -> None:
        self.view: list[SessionCosts] | None = None
        self._root = root
        self._seen: list[tuple[str, int]] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CostReader) and other._root == self._root

    def __hash__(self) -> int:
        return hash(self._root)

    def refresh(self, now: int) -> bool:
        """Read what is new; whether the view changed."""
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
