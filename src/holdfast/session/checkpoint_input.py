"""What a checkpoint knows before its first step, loaded once: the settings, the session and the one that it
takes over, the state of the loop, and from these the issue, the files in scope and the place in the plan."""

from __future__ import annotations

import os

from holdfast.clients.table import own_id
from holdfast.kernel import canonical_json, config
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.streams import open_writer
from holdfast.session import ccc_files, client_process, session_files, sessions
from holdfast.session.rules import session as rules
from holdfast.session.rules.fields import UNKNOWN_ISSUE
from holdfast.session.rules.model import (
    PROGRESS_FILE,
    STATE_FILE,
    empty_progress,
    is_issue,
    issue_in,
)
from holdfast.session.world import CONTROL_FILES, head_now, look_at_work_tree, world_now
from holdfast.trackers import is_set_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.session.checkpoint import Ask, Request
    from holdfast.session.rules.model import Profile, SessionState, World


class CheckpointInput:
    """What was asked for, and what is known. `known` is the session as it was loaded, `adopted` the one that
    it takes over, `head` is git's HEAD now."""

    def __init__(
        self, workspace: Workspace, request: Request, actor: str, now: int, ask: Ask | None
    ) -> None:
        self.workspace, self.request, self.actor, self.now = workspace, request, actor, now
        self.id = new_id()
        self.profile: Profile = request.get("profile", "manual")
        # The automated profile never asks anybody anything; CCC-10.
        self.ask = ask if self.profile == "manual" else None
        # What a person said when asked for the issue: a person is asked once.
        self.answer: str | None = None
        self.warnings: list[str] = []
        self.folder = ccc_files.folder_of(workspace)
        self.settings = _load_settings(workspace)
        self.has_tracker = is_set_up(self.settings)
        self.control_files = [os.path.join(self.folder, name) for name in CONTROL_FILES]
        self._writer: Writer | None = None
        self.state_file: dict[str, Any] = {}
        self.state_problem = ""
        self._read_state_file()
        self.head: Any = head_now(workspace)
        self.adopted: SessionState | None = None
        # The sessions of this worktree, newest first, for the first checkpoint of a new one.
        self.here: list[SessionState] = []
        self.session = request.get("session") or own_id() or self._find_clients_session()
        self._load_session()

    @property
    def writer(self) -> Writer:
        """Opened when it is needed: a damaged journal fails step 1 alone."""
        if self._writer is None:
            self._writer = open_writer(self.workspace)
        return self._writer

    def _read_state_file(self) -> None:
        try:
            self.state_file = ccc_files.read_state(self.workspace)
            for name in ccc_files.list_unfollowed(self.workspace):
                self.warnings.append(ccc_files.UNFOLLOWED.format(name=name))
        except HoldfastError as error:
            self.state_problem = error.message
            self.warnings.append(error.message)

    def _find_clients_session(self) -> str:
        try:
            return client_process.at_work(self.workspace)
        except HoldfastError:
            return ""

    def _load_session(self) -> None:
        """Load the session, and for a new one the session that it takes over."""
        try:
            if not self.session:
                own = sessions.at_work(self.workspace)
                self.session = own["session"] if own else new_id()
            self.known = self._load()
            if not self.known["captures"]:
                self.here = sessions.here(self.workspace)
                began = client_process.began_at(self.workspace, self.session)
                self.adopted = sessions.predecessor(self.here, self.session, began)
        except HoldfastError:
            self.session = self.session or new_id()
            self.known = rules.initial(self.stream)

    def _load(self) -> SessionState:
        """Return the state of the session. The writer keeps it for the commit of step 1."""
        if not self.workspace.exists():
            return rules.initial(self.stream)
        state: SessionState = self.writer.load(self.stream)
        return state

    @property
    def stream(self) -> str:
        return rules.stream_of(self.session)

    def find_state(self) -> SessionState:
        """Return the session as the writer left it; it is read again only where the writer does not know, and
        is empty where the journal cannot say."""
        try:
            remembered = self.writer.remembered.get(self.stream)
            state: SessionState = remembered.state if remembered is not None else self._load()
            return state
        except HoldfastError:
            return rules.initial(self.stream)

    # The issue

    def _find_issue(self, kept: str, *, is_first: bool) -> str:
        """AMB-CCC-14: what is given, the state file, what the progress says, the branch, a person.
        A person is asked at the first checkpoint of some work and then no more; without a tracker, never."""
        found = self._find_named_issue()
        if not found and kept != UNKNOWN_ISSUE:
            found = kept
        found = found or issue_in(self.head["branch"] or "")
        if found:
            return found
        if self.ask is not None and self.answer is None and is_first and self.has_tracker:
            question = "Which issue should this checkpoint be associated with?"
            self.answer = self.ask(question).strip()
        if self.answer and self._is_issue(self.answer, "The answer"):
            return self.answer
        return UNKNOWN_ISSUE

    def _find_named_issue(self) -> str:
        """Return the issue that is given, or that the state file names."""
        given = self.request.get("given", {}).get("issue")
        if given:
            return str(given)
        for key in ccc_files.ISSUE_KEYS:
            named = self.state_file.get(key)
            if isinstance(named, str) and named and self._is_issue(named, f"{STATE_FILE}, {key}"):
                return named
        return ""

    def _is_issue(self, named: str, source: str) -> bool:
        """Warn where another tool's file names what is no issue: the work is captured without one."""
        try:
            ccc_files.refuse_bad_issue(named)
        except HoldfastError as error:
            warning = f"{source}: {error.message}"
            if warning not in self.warnings:
                self.warnings.append(warning)
            return False
        return True

    def is_strangers_issue(self, issue: str) -> bool:
        """Whether an issue comes from a journal that was made elsewhere, or from a file that came with the
        repository, and this user never named it here: no comment is written there with this user's key."""
        from holdfast.kernel.trust import ISSUE, is_known_here, made_elsewhere_until

        if issue in (self._find_named_issue(), issue_in(self.head["branch"] or ""), self.answer):
            return False
        came = made_elsewhere_until(self.workspace) > 0 or ccc_files.list_unfollowed(self.workspace)
        return bool(came) and not is_known_here(self.workspace, ISSUE + issue)

    # The work

    def look_at_world(self) -> World:
        world = world_now(self.workspace, self.head, self.state_file)
        if self.profile == "manual":
            look_at_work_tree(self.workspace, world, self.control_files)
        return world

    @property
    def progress_path(self) -> str:
        return os.path.join(self.folder, PROGRESS_FILE)

    def has_file(self) -> bool:
        return os.path.exists(os.path.join(self.workspace.root, self.progress_path))

    def list_files(self) -> list[str]:
        """Return the files in scope."""
        if self.request.get("files"):
            return self.request["files"]
        active = self.state_file.get("activeTaskFiles")
        names = [str(name) for name in active] if isinstance(active, list) else []
        # Seen from the engine's own root. An empty one would be the whole tree, never the scope.
        return [os.path.join(self.folder, name) for name in names if names_files(name)]

    @property
    def position(self) -> tuple[int, int] | None:
        """AMB-CCC-15: the engine counts from 0, people from 1."""
        index, total = self.state_file.get("taskIndex"), self.state_file.get("totalTasks")
        if isinstance(index, int) and isinstance(total, int) and total > 0:
            return min(index + 1, total), total
        return None

    # The record

    def make_command(self, claims: list[Any]) -> dict[str, Any]:
        """Return the command that captures the session."""
        given, text = canonical_json.storable(dict(self.request.get("given", {})))
        # Before it is taken apart: in `password: hunter2`, neither half alone is a secret.
        given = dict(self.writer.redactor.value(given, text))
        is_new, source = not self.known["captures"], self.adopted
        if source is None and is_new:
            # The session before was killed, so no session adopts it; its work is carried over all the same, unless
            # a person removed its file.
            killed = client_process.killed(self.workspace, self.here, self.now)
            source = killed if killed and (self.has_file() or not rules.render(killed)) else None
        kept = (source or self.known)["progress"]["issue"]
        if kept == UNKNOWN_ISSUE:
            kept = ccc_files.issue_of_file(self.workspace)
        given["issue"] = self._find_issue(kept, is_first=source is None and is_new)
        mode = self.state_file.get("executionMode")
        if "mode" not in given and isinstance(mode, str):
            given["mode"] = mode
        elif "mode" not in given and is_new:
            given["mode"] = ccc_files.read_preferences(self.workspace)["default_mode"] or None
        world, kept_mark = self.look_at_world(), session_files.RESUMED
        return {
            "do": "capture",
            "given": given,
            "begins": {**empty_progress(), **source["progress"]} if source else None,
            "files": self.list_files(),
            "position": self.position,
            "folder": self.folder,
            "shown": self._is_shown(source),
            "profile": self.profile,
            "reason": self.request.get("reason", ""),
            "adopts": self.adopted["session"] if self.adopted else "",
            "resumed": bool(session_files.read(self.workspace, self.session, kept_mark)),
            "world": world,
            "claims": [{**claim, "dirty": bool(world["dirty_files"])} for claim in claims],
            "inherits": _list_inherited(source),
            "tracker": self._wish_for_tracker(given["issue"]),
        }

    def _is_shown(self, source: SessionState | None) -> bool:
        """Return whether the checkpoint belongs into the file: anybody but a hook asked for one, or the protocol is
        in use."""
        states = [self.known, *([source] if source else [])]
        is_kept = any(state.get("shown") or state.get("stated") for state in states)
        if is_kept or not self.request.get("by_hook"):
            return True
        from holdfast.session.progress_file import is_wanted

        return is_wanted(self.workspace, self.settings, self.state_file)

    def _wish_for_tracker(self, issue: str) -> str:
        """Return `always`, `changed` (a plain stop says only what is new) or nothing."""
        if self.request.get("skip_tracker") or not is_issue(issue):
            return ""  # no tracker knows such a name
        if not self.has_tracker or self.is_strangers_issue(issue):
            return ""
        is_plain_stop = self.profile == "automated" and not self.request.get("at_gate")
        return "changed" if is_plain_stop else "always"


def _load_settings(workspace: Workspace) -> dict[str, Any]:
    """Return the settings, from the journal's copy of the file where there is one; a damaged journal fails
    step 1 alone."""
    try:
        return config.load(workspace, workspace.journal if workspace.exists() else None)
    except HoldfastError as error:
        if error.kind == "bad_config":
            raise
        return config.load(workspace)


def _list_inherited(source: SessionState | None) -> dict[str, Any] | None:
    """Return the statement and the claims of the session that is taken over, with their own time."""
    if source is None or not source.get("stated"):
        return None
    last = source["last"]
    return {"stated": source["stated"], "claims": last["claims"] if last else []}


def names_files(name: str) -> bool:
    """Whether a path is less than the whole work tree."""
    return os.path.normpath(name.strip() or ".") != "."
