"""Look back over the sessions of all projects of this machine: what each was asked, did, and left.

Nothing is computed here that others do: the transcripts are read through the tally of each workspace, which knows how far
it has read them, and the questions, limits and states of sessions are asked where `status` asks.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import apsw

from holdfast import registry
from holdfast.away.digest import STATES, URGENT, AwaySession, Known, digest
from holdfast.away.looked import read_looked
from holdfast.away.tree import read_tree, start_git
from holdfast.clients.discovery import (
    Everywhere,
    SessionPlace,
    list_since,
    session_at,
    work_tree_of,
)
from holdfast.clients.liveness import liveness, running_clients
from holdfast.clients.table import NAMES
from holdfast.kernel import clock, config
from holdfast.kernel.door import Door
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.text import command, one_line, quote
from holdfast.kernel.workspace import Workspace, discover
from holdfast.maintenance import known_roots
from holdfast.maintenance.status import list_stop
from holdfast.registry import STOPPED, WAITS, Attention
from holdfast.session import client_process, client_questions, observation, session_files, sessions
from holdfast.usage import usage_limits

if TYPE_CHECKING:
    from holdfast.away.tree import TreeState
    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.usage.amounts import Cost
    from holdfast.session.observation import Seen
    from holdfast.session.rules.model import SessionState

# Before the first look, and where the clock was set back.
USUAL = clock.DAY
# So many sessions in folders without a journal are read: nothing remembers how far.
MOST_UNKEPT = 30
LONGEST_REASON = 200
# So many letters of a session's id tell it from others: Codex's begin with the time.
SHOWN_ID = 13
UNKNOWN: Cost = {"cost": None, "cost_at_least": 0.0, "sure": "unknown", "why": ""}


@dataclass(frozen=True)
class AwayRequest:
    """`since` 0: since the person last looked. `is_here`: the workspace of `folder` alone. `most` bounds the sessions
    that are told; 0: all."""

    folder: str
    since: int = 0
    is_here: bool = False
    most: int = 0


class WaitingElsewhere(TypedDict):
    """What waits for a person in a project, and is no session."""

    project: str
    root: str
    what: str
    next: str


class Away(TypedDict):
    """`since` and `until` are the times that were looked at. `is_first`: the person never looked before.
    `is_whole`: it has everything since the last look. `seen_since` is where what they saw then began.
    `count` is of all sessions, `needing` of those that need a person; `cost` is what is known of what they cost together,
    `unknown_costs` counts those of which it is not all. `left_out` are folders that cannot be read, and why."""

    since: str
    until: str
    is_first: bool
    is_whole: bool
    seen_since: str
    clock_was_set_back: bool
    count: int
    needing: int
    cost: float
    unknown_costs: int
    sessions: list[AwaySession]
    waits: list[WaitingElsewhere]
    left_out: list[str]


def look_back(request: AwayRequest, *, now: int) -> Away:
    """Return what happened since the person last looked, what needs them first. Nothing is written but the tally of
    each workspace."""
    looked = read_looked()
    last = clock.parse(looked["at"]) if looked else now - USUAL
    is_ahead = last > now
    last = now - USUAL if is_ahead else last
    since = request.since or last
    survey = Survey(request, since, now)
    survey.look()
    told = survey.tell()
    all_told = [draft.told for draft in survey.drafts]
    return {
        "since": clock.stamp(since),
        "until": clock.precise(now),
        "is_first": looked is None,
        "is_whole": not request.is_here and since <= last,
        "seen_since": looked["since"] if looked else "",
        "clock_was_set_back": is_ahead,
        "count": len(all_told),
        "needing": sum(one["state"] in URGENT for one in all_told),
        "cost": sum(one["cost"] or one["cost_at_least"] for one in all_told),
        "unknown_costs": sum(one["cost"] is None for one in all_told),
        "sessions": told,
        "waits": survey.waits,
        "left_out": survey.left_out,
    }


class Draft(NamedTuple):
    """A session, what is known of it, and the repository and the door of its folder."""

    known: Known
    told: AwaySession
    project: Project | None
    door: Door


def _rank(draft: Draft) -> tuple[int, str, int]:
    """What needs a person comes first: of what waits the oldest, of everything else the newest."""
    told = draft.told
    return STATES.index(told["state"]), told["waits_since"], -draft.known.modified


def _attention(workspace: Workspace, kinds: set[str], now: int) -> Iterator[Attention]:
    """Return what waits for a person in a repository and is of no session: the stop that holds, and what those features
    tell that have streams of these kinds there."""
    yield from list_stop(workspace)
    for feature in registry.features():
        if feature.attention and not kinds.isdisjoint(kind.name for kind in feature.streams):
            for one in registry.load(feature.attention)(workspace, now):
                if one.urgency in (STOPPED, WAITS):
                    yield one


class Project:
    """What the journal and the hooks of one repository know of its sessions, in all its work trees."""

    def __init__(self, workspace: Workspace, since: int, now: int) -> None:
        self.workspace = workspace
        self.waiting = {
            one["session"]: one for one in client_questions.list_waiting(workspace, now)
        }
        self.limited = {
            one["session"]: one
            for one in usage_limits.list_limited(workspace, now)
            if not one.get("is_measured")
        }
        heads = workspace.journal.heads() if workspace.exists() else []
        named = [(*head["stream"].split(":", 1), head["seen_at"]) for head in heads]
        self.kinds = {kind for kind, _, _ in named}
        self.recorded = {session: at for kind, session, at in named if kind == "session"}
        self.since = clock.precise(since)
        # Questions that can be answered in any terminal.
        self.answerable: dict[str, str] = {}
        for find in registry.offers("answerable") if self.waiting else ():
            self.answerable |= find(workspace, now)

    def state(self, session: str) -> SessionState | None:
        """Return what the journal knows of a session."""
        return sessions.read(self.workspace, session) if session in self.recorded else None

    def list_unfound(self, told: Container[str]) -> Iterator[tuple[str, str]]:
        """Return the sessions that no transcript of the time tells of, each with its work tree."""
        for one in (*self.waiting.values(), *self.limited.values()):
            if one["session"] not in told:
                yield one["session"], one["root"]
        for session, seen_at in self.recorded.items():
            if seen_at >= self.since and session not in told:
                state = sessions.read(self.workspace, session)
                if state["last"] is not None:
                    yield session, state["last"]["world"]["worktree"]


class Survey:
    """One look at all work trees. What cannot be read is left out by name, and stops nothing else."""

    def __init__(self, request: AwayRequest, since: int, now: int) -> None:
        self.waits: list[WaitingElsewhere] = []
        self.left_out: list[str] = []
        self._request, self._since, self._now = request, since, now
        # By the folder that is asked for; None for one that is in no workspace. No server is asked.
        self._workspaces: dict[str, Workspace | None] = {}
        self._projects: dict[str, Project] = {}
        self._running = running_clients()
        self._unkept = 0
        self.drafts: list[Draft] = []

    def look(self) -> None:
        """Look at the workspace of the request's folder, or at all that are known and all that clients worked in."""
        folder, is_here = self._request.folder, self._request.is_here
        found: dict[str, dict[str, FoundSession | None]] = {}
        for one in list_since(SessionPlace(folder) if is_here else Everywhere(folder), self._since):
            found.setdefault(self._root_of(one["cwd"]), {})[one["session"]] = one
        git = {root: start_git(root) for root in found if self._workspaces.get(root)}
        for root in [folder] if is_here else known_roots.list_roots():
            found.setdefault(self._root_of(root), {})
        told = {session for each in found.values() for session in each}
        for root in list(found):
            with self._leave_out(root):
                for session, tree in self._open_project(root, told):
                    found.setdefault(self._root_of(tree), {})[session] = None
        for root, each in found.items():
            with self._leave_out(root):
                started = git[root] if root in git else start_git(root) if each else None
                self._tell(root, each, read_tree(root, started))

    def tell(self) -> list[AwaySession]:
        """Return the sessions, what needs a person first, as each workspace's rules let them be shown."""
        self.drafts.sort(key=_rank)
        most = self._request.most or len(self.drafts)
        for number, draft in enumerate(self.drafts[:most]):
            with self._leave_out(draft.known.root):
                self.drafts[number] = self._with_records(draft)
        self.drafts.sort(key=_rank)
        for workspace in {id(one): one for one in self._workspaces.values() if one}.values():
            workspace.close()
        return [draft.door.value(draft.told) for draft in self.drafts[:most]]

    def _with_records(self, draft: Draft) -> Draft:
        """Return the session with what its records tell beside the transcript: its title, and who took it over."""
        state = draft.project.state(draft.known.session) if draft.project else None
        if state is None:
            return draft
        known = draft.known._replace(state=state)
        return draft._replace(known=known, told=digest(known, self._now))

    @contextmanager
    def _leave_out(self, root: str) -> Iterator[None]:
        try:
            yield
        except (HoldfastError, OSError, ValueError, apsw.Error) as error:
            why = getattr(error, "message", "") or str(error)
            self.left_out.append(f"{root} is left out: {one_line(why, LONGEST_REASON)}")

    def _root_of(self, folder: str) -> str:
        """Return the work tree of a folder; the folder itself where it is gone or in no workspace."""
        root = (work_tree_of(folder) if os.path.isdir(folder) else "") or folder
        if root not in self._workspaces:
            self._workspaces[root] = None
            with self._leave_out(root), suppress(NotFound):
                found = discover(root, local=True)
                if found.root != root and found.root in self._workspaces:
                    return found.root
                self._workspaces[root] = self._workspaces[found.root] = found
        found_there = self._workspaces[root]
        return found_there.root if found_there is not None else root

    def _open_project(self, root: str, told: set[str]) -> Iterator[tuple[str, str]]:
        """Open the repository of a work tree once. Return the sessions that it knows beside those that are told."""
        workspace = self._workspaces.get(root)
        if workspace is None or workspace.home in self._projects:
            return
        project = self._projects[workspace.home] = Project(workspace, self._since, self._now)
        name = os.path.basename(workspace.root)
        for one in _attention(workspace, project.kinds, self._now):
            self.waits.append(
                {"project": name, "root": workspace.root, "what": one.what, "next": one.next}
            )
        for session, tree in project.list_unfound(told):
            told.add(session)
            yield session, tree

    def _tell(
        self, root: str, found: dict[str, FoundSession | None], tree: TreeState | None
    ) -> None:
        workspace = self._workspaces.get(root)
        project = self._projects.get(workspace.home) if workspace is not None else None
        if workspace is None or project is None:
            self._tell_unkept(root, workspace, [one for one in found.values() if one])
            return
        if not found:
            return
        reads = sessions.reads_transcripts(workspace)
        sources = {
            session: one or (self._find_source(workspace, project, session) if reads else None)
            for session, one in found.items()
            if reads or one is None or session in project.recorded
        }
        listed = [one for one in sources.values() if one is not None and reads]
        looks = observation.look_at_each(workspace, listed, now=self._now)
        seen = {one["session"]: look for one, look in zip(listed, looks, strict=True)}
        slots = {one.get("session") for one in session_files.every(workspace, client_process.NAME)}
        door = Door(workspace, opens=True)
        for session, source in sources.items():
            known = self._known(workspace, project, session, source, seen.get(session), tree, slots)
            self._add(known, project, door)

    def _tell_unkept(
        self, root: str, workspace: Workspace | None, found: list[FoundSession]
    ) -> None:
        """Tell of sessions in a folder without a workspace, or whose journal cannot be read."""
        settings = config.load(workspace) if workspace is not None else config.without_file()
        if settings["session.observe"]:
            door, rules = Door(workspace), settings["redact.rules"]
            for one in found[: max(0, MOST_UNKEPT - self._unkept)]:
                self._unkept += 1
                self._add(self._known_of_transcript(root, one, rules), None, door)

    def _add(self, known: Known, project: Project | None, door: Door) -> None:
        self.drafts.append(Draft(known, digest(known, self._now), project, door))

    def _find_source(
        self, workspace: Workspace, project: Project, session: str
    ) -> FoundSession | None:
        """Return the transcript of a session that wrote nothing of late, as far as its hooks or its records name it."""
        state = project.state(session)
        observed = state.get("observed") if state else None
        kept = session_files.read(workspace, session, session_files.TRANSCRIPT).get("path")
        for path in (kept, observed["path"] if observed else ""):
            if isinstance(path, str) and os.path.isfile(path) and not path.endswith(".db"):
                found = session_at(path)
                if found is not None and found["session"] == session:
                    return found
        return None

    def _known(
        self,
        workspace: Workspace,
        project: Project,
        session: str,
        found: FoundSession | None,
        look: Seen | None,
        tree: TreeState | None,
        slots: set[Any],
    ) -> Known:
        # Beside a transcript, the records are read once it is known that the session is shown.
        state = None if look else project.state(session)
        waiting = project.waiting.get(session)
        limit = project.limited.get(session)
        observed: Any = state.get("observed") if state else None
        seen = look["seen"] if look else None
        client = found["client"] if found else observed["client"] if observed else ""
        client = client or (waiting or limit or {"client": ""})["client"]
        modified = found["modified"] if found else 0
        if not modified and state is not None and state["last"] is not None:
            modified = clock.parse(state["last"]["at"])
        is_alive = (
            session in slots
            and client_process.liveness_of(workspace, session, self._now) == "alive"
        )
        if found is not None and not is_alive:
            is_alive = liveness(found, self._running, now=self._now) == "alive"
        return Known(
            client=client,
            session=session,
            root=workspace.root,
            cwd=found["cwd"] if found else workspace.root,
            modified=modified or (clock.parse(waiting["at"]) if waiting else self._now),
            state=state,
            seen=seen or (observed["seen"] if observed else None),
            cost=look["cost"] if look else UNKNOWN,
            waiting=waiting,
            says_limit=usage_limits.describe(limit, self._now) if limit else "",
            is_alive=is_alive,
            tree=tree,
            next=self._command(project, workspace.root, client, session, is_alive=is_alive),
        )

    def _command(
        self, project: Project, root: str, client: str, session: str, *, is_alive: bool
    ) -> str:
        """Return what a person types to go on with a session: where its client runs, they answer it or go there."""
        there = [] if root == self._request.folder else ["-C", root]
        if session in project.answerable:
            return command("gate", "show", project.answerable[session], *there)
        if is_alive:
            return f"cd {quote(root)}"
        if session in project.limited:
            limit = project.limited[session]
            return usage_limits.command_for(limit, self._request.folder, self._now)
        words = ["--in", client] if client in NAMES else []
        return command("resume", *words, "--session", session[:SHOWN_ID], *there)

    def _known_of_transcript(
        self, root: str, found: FoundSession, rules: Mapping[str, str]
    ) -> Known:
        """Return what a transcript says of a session. It is read once, and nothing kept."""
        is_alive = liveness(found, self._running, now=self._now) == "alive"
        is_there = os.path.isdir(root)
        # A database holds more sessions than this one.
        of_file = command("resume", "--transcript", found["path"])
        go = f"cd {quote(root)}" if is_alive and is_there else of_file
        return Known(
            client=found["client"],
            session=found["session"],
            root=root,
            cwd=found["cwd"],
            modified=found["modified"],
            state=None,
            seen=observation.read_once(found, rules),
            cost=UNKNOWN,
            waiting=None,
            says_limit="",
            is_alive=is_alive,
            tree=None,
            next=go if found["client"] != "opencode" else "",
        )
