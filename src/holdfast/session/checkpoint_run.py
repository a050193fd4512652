"""One checkpoint under way: what was asked for, and what is known before its first step: the settings, the
session and the one that it takes over, the issue, the files in scope."""

from __future__ import annotations

import os

from holdfast.clients.table import own_id
from holdfast.kernel import config
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.session import ccc_files, sessions
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import (
    PROGRESS_FILE,
    STATE_FILE,
    UNKNOWN_ISSUE,
    empty_progress,
    issue_in,
)
from holdfast.session.world import CONTROL_FILES, head_now, look_at_work_tree, world_now
from holdfast.streams import open_writer
from holdfast.trackers import is_set_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.session.checkpoint import Ask, Request
    from holdfast.session.rules.model import Profile, Progress, SessionState, World
    from holdfast.session.rules.report import Step


class CheckpointRun:
    """One checkpoint under way: what was asked for, what is known, and what was done so far."""

    def __init__(
        self, workspace: Workspace, request: Request, actor: str, now: int, ask: Ask | None
    ) -> None:
        self.workspace = workspace
        self.request = request
        self.actor = actor
        self.now = now
        self.id = new_id()
        self.profile: Profile = request.get("profile", "manual")
        # The automated profile never asks anybody anything; CCC-10.
        self.ask = ask if self.profile == "manual" else None
        self.folder = ccc_files.folder_of(workspace)
        self.queued = False
        # The journal has the progress, whether or not its file could be written.
        self.recorded = False
        self.created: list[str] = []
        self.steps: list[Step] = []
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.snapshot = ""
        self.prompt = ""
        # What a person said when asked for the issue: a person is asked once.
        self.answer: str | None = None
        self.settings = _settings(self)
        self._writer: Writer | None = None
        self.state_file, self.state_problem = _state_file(self)
        self.head: Any = head_now(workspace)
        # `known` is the session as it was loaded, once.
        self.session, self.known, self.adopted = _session(self)

    @property
    def writer(self) -> Writer:
        """Opened when it is needed: a damaged journal fails step 1 alone."""
        if self._writer is None:
            self._writer = open_writer(self.workspace)
        return self._writer


def _settings(run: CheckpointRun) -> dict[str, Any]:
    """From the journal's copy of the file where there is one; a damaged journal fails step 1
    alone."""
    try:
        journal = run.workspace.journal if run.workspace.exists() else None
        return config.load(run.workspace, journal)
    except HoldfastError as error:
        if error.kind == "bad_config":
            raise
        return config.load(run.workspace)


def _state_file(run: CheckpointRun) -> tuple[dict[str, Any], str]:
    try:
        found = ccc_files.read_state(run.workspace), ""
        for name in ccc_files.list_unfollowed(run.workspace):
            run.warnings.append(ccc_files.UNFOLLOWED.format(name=name))
        return found
    except HoldfastError as error:
        run.warnings.append(error.message)
        return {}, error.message


def _session(run: CheckpointRun) -> tuple[str, SessionState, SessionState | None]:
    """The session's id, its state, and for a new one the session that it takes over."""
    wanted = run.request.get("session") or own_id() or _clients_session(run)
    try:
        if not wanted:
            own = sessions.at_work(run.workspace)
            wanted = own["session"] if own else new_id()
        known = load_session(run, wanted)
        if known["captures"]:
            return wanted, known, None
        return wanted, known, sessions.predecessor(sessions.here(run.workspace), wanted)
    except HoldfastError:
        wanted = wanted or new_id()
        return wanted, rules.initial(rules.stream_of(wanted)), None


def load_session(run: CheckpointRun, session: str) -> SessionState:
    """The state of a session. The writer keeps it for the commit of step 1."""
    stream = rules.stream_of(session)
    if not run.workspace.exists():
        return rules.initial(stream)
    state: SessionState = run.writer.load(stream)
    return state


def _clients_session(run: CheckpointRun) -> str:
    from holdfast.session import client_process

    try:
        return client_process.at_work(run.workspace)
    except HoldfastError:
        return ""


def find_issue(run: CheckpointRun, kept: str, *, is_first: bool) -> str:
    """AMB-CCC-14: what is given, the state file, what the progress says, the branch, a person.
    A person is asked at the first checkpoint of some work and then no more; without a tracker, never."""
    named = _named_issue(run)
    if named:
        return named
    if kept != UNKNOWN_ISSUE:
        return kept
    found = issue_in(run.head["branch"] or "")
    if found:
        return found
    if run.ask is not None and run.answer is None and is_first and is_set_up(run.settings):
        question = "Which issue should this checkpoint be associated with?"
        run.answer = run.ask(question).strip()
    if run.answer and _is_issue(run, run.answer, "The answer"):
        return run.answer
    return UNKNOWN_ISSUE


def _named_issue(run: CheckpointRun) -> str:
    """The issue that is given, or that the state file names."""
    given = run.request.get("given", {}).get("issue")
    if given:
        return str(given)
    for key in ccc_files.ISSUE_KEYS:
        named = run.state_file.get(key)
        if isinstance(named, str) and named and _is_issue(run, named, f"{STATE_FILE}, {key}"):
            return named
    return ""


def is_strangers_issue(run: CheckpointRun, issue: str) -> bool:
    """Whether an issue comes from a journal that was made elsewhere, or from a file that came with the
    repository, and this user never named it here: no comment is written there with this user's key."""
    from holdfast.kernel.trust import ISSUE, is_known_here, made_elsewhere_until

    if issue in (_named_issue(run), issue_in(run.head["branch"] or ""), run.answer):
        return False
    came = made_elsewhere_until(run.workspace) > 0 or ccc_files.list_unfollowed(run.workspace)
    return bool(came) and not is_known_here(run.workspace, ISSUE + issue)


def _is_issue(run: CheckpointRun, named: str, source: str) -> bool:
    """The work is captured all the same when another tool's file names what is no issue."""
    try:
        ccc_files.refuse_bad_issue(named)
    except HoldfastError as error:
        warning = f"{source}: {error.message}"
        if warning not in run.warnings:
            run.warnings.append(warning)
        return False
    return True


def look_at_world(run: CheckpointRun) -> World:
    world = world_now(run.workspace, run.head)
    if run.profile == "manual":
        look_at_work_tree(run.workspace, world, control_files(run))
    return world


def control_files(run: CheckpointRun) -> list[str]:
    return [os.path.join(run.folder, name) for name in CONTROL_FILES]


def has_file(run: CheckpointRun) -> bool:
    return os.path.exists(os.path.join(run.workspace.root, run.folder, PROGRESS_FILE))


def files_in_scope(run: CheckpointRun) -> list[str]:
    if run.request.get("files"):
        return run.request["files"]
    active = run.state_file.get("activeTaskFiles")
    names = [str(name) for name in active] if isinstance(active, list) else []
    # Seen from the engine's own root. An empty one would be the whole tree, never the scope.
    return [os.path.join(run.folder, name) for name in names if names_files(name)]


def position_of(run: CheckpointRun) -> tuple[int, int] | None:
    """AMB-CCC-15: the engine counts from 0, people from 1."""
    index, total = run.state_file.get("taskIndex"), run.state_file.get("totalTasks")
    if isinstance(index, int) and isinstance(total, int) and total > 0:
        return min(index + 1, total), total
    return None


def known_progress(run: CheckpointRun) -> Progress:
    """What the session knows by now; nothing where the journal cannot say."""
    try:
        return known_session(run)["progress"]
    except HoldfastError:
        return empty_progress()


def known_session(run: CheckpointRun) -> SessionState:
    """The session as the writer left it; read again only where the writer does not know."""
    stream = rules.stream_of(run.session)
    remembered = run.writer.remembered.get(stream)
    if remembered is not None:
        state: SessionState = remembered.state
        return state
    return load_session(run, run.session)


def names_files(name: str) -> bool:
    return os.path.normpath(name.strip() or ".") != "."
